import { Rich } from '../../ui/Say.tsx'
import { useWords } from '../../words/index.tsx'

/** What should be known although nothing is wrong. */
export function GoodToKnow({ notes = [] }: { notes?: string[] | undefined }) {
  const { create: w } = useWords()
  if (notes.length === 0) return null
  return (
    <div className="note small">
      <strong>{w.notes}</strong>
      <ul>
        {notes.map(note => (
          <li key={note}>
            <Rich text={note} />
          </li>
        ))}
      </ul>
    </div>
  )
}
