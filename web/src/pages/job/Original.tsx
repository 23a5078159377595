import { useQuery } from '@tanstack/react-query'
import * as originals from '../../api/original.ts'
import { type JobDetail, label } from '../../api/queries.ts'
import { CodeBlock } from '../../ui/CodeBlock.tsx'
import { Empty, Rich, Trouble } from '../../ui/Say.tsx'
import { Scrolls } from '../../ui/Scrolls.tsx'
import { useLanguage, useReason, useWords } from '../../words/index.tsx'
import { SaveText } from './SpecTab.tsx'

type Note = originals.OriginalFile['report'][number]

/** The file as it was handed over, and what became of it where it was another system's. */
export function Original({ job }: { job: JobDetail }) {
  const { words, language } = useLanguage()
  const { data, error } = useQuery(originals.original(job.id))
  if (error) return <Trouble error={error} />
  if (!data) return null
  const why = (language === 'zh' && data.missing?.zh) || data.missing?.en
  return (
    <>
      <section className="panel" aria-label={words.made.views.original}>
        <header>
          <h2>{data.file ?? words.made.views.original}</h2>
          <span className="soft small">
            {words.made.originalHelp} {data.title && words.made.readAs(data.title)}
          </span>
          {data.text != null && (
            <SaveText name={data.file?.split('/').at(-1) ?? `${label(job)}.txt`} text={data.text} />
          )}
        </header>
        {data.text != null ? (
          <div className="body">
            <CodeBlock label={words.made.views.original} text={data.text} />
          </div>
        ) : (
          <Empty icon="file" title={words.made.missing} hint={why ?? ''} />
        )}
      </section>
      {data.report.length > 0 && <Report report={data.report} />}
    </>
  )
}

function Report({ report }: { report: Note[] }) {
  const words = useWords()
  return (
    <section className="panel">
      <header>
        <h2>{words.made.report}</h2>
      </header>
      <Scrolls label={words.made.report}>
        <table>
          <thead>
            <tr>
              <th>{words.made.fate}</th>
              <th className="number">{words.made.place}</th>
              <th>{words.made.field}</th>
              <th>{words.made.becomes}</th>
            </tr>
          </thead>
          <tbody>
            {report.map(note => (
              <NoteRow key={`${note.path} ${note.line} ${note.column} ${note.reason}`} note={note} />
            ))}
          </tbody>
        </table>
      </Scrolls>
    </section>
  )
}

function NoteRow({ note }: { note: Note }) {
  const words = useWords()
  const reason = useReason(note)
  return (
    <tr>
      <td className="nowrap">
        <span className={`tag fate-${note.fate}`}>{words.create.fates[note.fate]}</span>
      </td>
      <td className="number">{note.line}</td>
      <th scope="row" className="mono">
        {note.path}
      </th>
      <td>
        <Rich text={reason} />
      </td>
    </tr>
  )
}
