import { Icon } from '../../ui/Icon.tsx'
import { useWords } from '../../words/index.tsx'

/** Marks the best of several, for eyes with and without colours. */
export function Best() {
  const words = useWords()
  return (
    <span className="best">
      <Icon name="star" size={12} />
      {words.compare.best}
    </span>
  )
}
