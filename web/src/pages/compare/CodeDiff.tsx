import { useQuery } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { download } from '../../api/client.ts'
import type { ComparedJob } from '../../api/compare.ts'
import * as compare from '../../api/compare.ts'
import { tellingOf } from '../../api/error.ts'
import { Button } from '../../ui/Button.tsx'
import { Icon } from '../../ui/Icon.tsx'
import { Rich } from '../../ui/Say.tsx'
import { Scrolls } from '../../ui/Scrolls.tsx'
import { useToasts } from '../../ui/Toasts.tsx'
import { useLanguage, useWords } from '../../words/index.tsx'
import { type FilePatch, readPatch } from './patch.ts'

/** More lines than this at once nobody reads, and a browser draws them slowly. */
const LINES_MAX = 3_000
const OPEN_LINES_MAX = 400

/** The code of two of the jobs, line by line. */
export function CodeDiff({ jobs }: { jobs: ComparedJob[] }) {
  const words = useWords()
  const [from, setFrom] = useState(0)
  const [to, setTo] = useState(1)
  const [one, other] = [jobs[from] ?? jobs[0], jobs[to] ?? jobs[1]]
  if (!one || !other) return null
  return (
    <section className="panel" aria-label={words.compare.code}>
      <header>
        <h2>{words.compare.code}</h2>
        {jobs.length > 2 && (
          <div className="row">
            <Which label={words.compare.from} jobs={jobs} at={from} set={setFrom} />
            <Which label={words.compare.to} jobs={jobs} at={to} set={setTo} />
          </div>
        )}
      </header>
      <Patch key={`${one.id} ${other.id}`} from={one} to={other} />
    </section>
  )
}

function Which({
  label,
  jobs,
  at,
  set,
}: {
  label: string
  jobs: ComparedJob[]
  at: number
  set: (at: number) => void
}) {
  return (
    <label className="row small">
      {label}
      <select className="select tight" value={at} onChange={event => set(Number(event.target.value))}>
        {jobs.map((job, index) => (
          <option key={job.id} value={index}>
            {job.label}
          </option>
        ))}
      </select>
    </label>
  )
}

function Patch({ from, to }: { from: ComparedJob; to: ComparedJob }) {
  const { words, language } = useLanguage()
  const { tellError } = useToasts()
  const { data, error } = useQuery(compare.patch(from.id, to.id))
  const files = useMemo(() => readPatch(data ?? ''), [data])
  if (error) {
    return (
      <p className="body soft">
        {words.compare.noCode} <Rich text={tellingOf(error, language).message} />
      </p>
    )
  }
  if (data === undefined) return null
  if (files.length === 0) return <p className="body soft">{words.compare.sameCode}</p>
  const shown = atMost(files, LINES_MAX)
  return (
    <div className="body stack">
      <div className="row">
        <span className="soft">{words.compare.files(files.length)}</span>
        <Button tight onClick={() => download(compare.patchPath(from.id, to.id)).catch(tellError)}>
          <Icon name="down" />
          {words.compare.download}
        </Button>
      </div>
      {shown.map(file => (
        <ChangedFile key={file.name || file.note} file={file} />
      ))}
      {shown.length < files.length && <p className="note">{words.compare.tooLong(LINES_MAX)}</p>}
    </div>
  )
}

const linesOf = (file: FilePatch) => file.hunks.reduce((sum, hunk) => sum + hunk.lines.length, 1)

/** The files from the first on until there are too many lines; at least one. */
function atMost(files: FilePatch[], most: number): FilePatch[] {
  let lines = 0
  return files.filter((file, at) => {
    lines += linesOf(file)
    return at === 0 || lines <= most
  })
}

function ChangedFile({ file }: { file: FilePatch }) {
  const words = useWords()
  if (file.note) return <p className="mono soft">{file.note}</p>
  return (
    <details className="diff" open={linesOf(file) <= OPEN_LINES_MAX}>
      <summary>
        <span className="mono">{file.name}</span>
        <span className="unseen">{words.compare.fileLines(file.added, file.removed)}</span>
        <span aria-hidden="true" className="better">
          +{file.added}
        </span>
        <span aria-hidden="true" className="worse">
          −{file.removed}
        </span>
      </summary>
      <Scrolls label={file.name} className="diff-box">
        <table className="diff-lines">
          <tbody>
            {file.hunks.flatMap((hunk, at) => [
              at > 0 && (
                <tr key={hunk.head} className="gap">
                  <td colSpan={4}>⋯</td>
                </tr>
              ),
              ...hunk.lines.map(line => (
                <tr key={`${line.before} ${line.after}`} className={line.kind}>
                  <td className="at">{line.before}</td>
                  <td className="at">{line.after}</td>
                  <td className="mark">{MARKS[line.kind]}</td>
                  <td className="text">{line.text}</td>
                </tr>
              )),
            ])}
          </tbody>
        </table>
      </Scrolls>
    </details>
  )
}

const MARKS = { same: ' ', added: '+', removed: '−' }
