import { useQuery } from '@tanstack/react-query'
import { lazy, Suspense } from 'react'
import * as queries from '../../api/queries.ts'
import { TextField } from '../../ui/Field.tsx'
import { useWords } from '../../words/index.tsx'
import type { Problem } from './usePlan.ts'

const Editor = lazy(() => import('./Editor.tsx'))

interface Props {
  text: string
  change: (text: string) => void
  problems: Problem[]
  /** What the job is to be called: only for files of others, some of which have no name inside. */
  name: string | null
  setName: (name: string) => void
}

export function FileDoor({ text, change, problems, name, setName }: Props) {
  const words = useWords()
  const { data: schema } = useQuery(queries.jobFileSchema())
  return (
    <section className="panel" aria-label={words.create.editor}>
      <header>
        <h2>{words.create.editor}</h2>
        <span className="soft small">{words.create.editorHelp}</span>
      </header>
      {name !== null && (
        <div className="body">
          <TextField
            label={words.create.name}
            help={words.create.foreign.nameHelp}
            maxLength={64}
            value={name}
            onChange={event => setName(event.target.value)}
          />
        </div>
      )}
      <Suspense fallback={<div className="editor" />}>
        <Editor text={text} change={change} problems={problems} label={words.create.editor} schema={schema} />
      </Suspense>
    </section>
  )
}
