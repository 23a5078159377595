import type { components } from '../../../api/schema.d.ts'
import { Rich } from '../../../ui/Say.tsx'
import { useLanguage } from '../../../words/index.tsx'

type Note = components['schemas']['MetricsNote']

/** What was left out of the curves, in the server's own words. */
export function Notes({ notes }: { notes: Note[] }) {
  const { words, language } = useLanguage()
  if (notes.length === 0) return null
  const say = ({ text, text_zh }: Note) => (language === 'zh' && text_zh) || text
  return (
    <details className="note small">
      <summary>{words.curves.notes}</summary>
      <ul>
        {notes.map(note => (
          <li key={`${note.task} ${note.attempt} ${note.text}`}>
            <Rich text={words.app.about(note.task, say(note))} />
          </li>
        ))}
      </ul>
    </details>
  )
}
