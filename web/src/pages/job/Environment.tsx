import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { JobDetail } from '../../api/queries.ts'
import * as queries from '../../api/queries.ts'
import { CodeBlock } from '../../ui/CodeBlock.tsx'
import { SelectField, TextField } from '../../ui/Field.tsx'
import { Trouble } from '../../ui/Say.tsx'
import { Scrolls } from '../../ui/Scrolls.tsx'
import { useWords } from '../../words/index.tsx'
import { tasksOf } from './tasks.ts'

/** The variables that a task finds, or will find. */
export function Environment({ job }: { job: JobDetail }) {
  const words = useWords()
  const tasks = tasksOf(job)
  const [task, setTask] = useState(tasks[0] ?? '')
  const [filter, setFilter] = useState('')
  const { data, error } = useQuery(queries.environment(job.id, task))
  const shown = Object.entries(data?.env ?? {}).filter(([name]) => name.toLowerCase().includes(filter.toLowerCase()))
  return (
    <section className="panel" aria-label={words.spec.environment}>
      <header>
        <h2>{words.spec.environment}</h2>
        <span className="soft small">{words.spec.environmentHelp}</span>
      </header>
      <div className="body stack">
        <div className="form-grid">
          <SelectField label={words.spec.task} value={task} onChange={event => setTask(event.target.value)}>
            {tasks.map(it => (
              <option key={it}>{it}</option>
            ))}
          </SelectField>
          <TextField label={words.spec.filter} value={filter} onChange={event => setFilter(event.target.value)} />
        </div>
        {error && <Trouble error={error} />}
        {data && !data.placed && <p className="note small">{words.spec.notPlaced}</p>}
        {data?.arguments && data.arguments.length > 0 && (
          <p>
            {words.spec.arguments}: <code className="inline">{data.arguments.join(' ')}</code>
          </p>
        )}
        <Scrolls label={words.spec.variable}>
          <table className="environment">
            <thead>
              <tr>
                <th>{words.spec.variable}</th>
                <th>{words.spec.value}</th>
              </tr>
            </thead>
            <tbody>
              {shown.map(([name, value]) => (
                <tr key={name}>
                  <th scope="row" className="mono">
                    {name}
                  </th>
                  <td className="mono">{value}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scrolls>
        {Object.entries(data?.files ?? {}).map(([path, text]) => (
          <figure key={path}>
            <figcaption className="mono">{path}</figcaption>
            <CodeBlock label={path} text={text} />
          </figure>
        ))}
      </div>
    </section>
  )
}
