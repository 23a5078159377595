import { Button } from '../../ui/Button.tsx'
import { useWords } from '../../words/index.tsx'

/** Whoever comes back finds what was begun, and the way to begin anew. */
export function Continued({ startOver }: { startOver: () => void }) {
  const { create: w } = useWords()
  return (
    <div className="note row">
      <span>{w.continued}</span>
      <Button tight onClick={startOver}>
        {w.startOver}
      </Button>
    </div>
  )
}
