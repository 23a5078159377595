import { stringify } from 'yaml'
import { type JobDetail, label } from '../../api/queries.ts'
import { saveText } from '../../save.ts'
import { Button } from '../../ui/Button.tsx'
import { CodeBlock } from '../../ui/CodeBlock.tsx'
import { Copy } from '../../ui/Copy.tsx'
import { Views } from '../../ui/Views.tsx'
import { useSearchParams } from '../../useSearchParams.ts'
import { useWords } from '../../words/index.tsx'
import { Environment } from './Environment.tsx'
import { JobPlan } from './JobPlan.tsx'
import { Original } from './Original.tsx'

const VIEWS = ['file', 'original', 'plan', 'environment'] as const

/** What the job is made of: as we write it, as somebody wrote it, as it runs, as each task finds it. */
export default function SpecTab({ job }: { job: JobDetail }) {
  const words = useWords()
  const [search, setSearch] = useSearchParams()
  const here = VIEWS.find(it => it === search.get('view')) ?? 'file'
  return (
    <div className="stack">
      <div>
        <Views
          label={words.made.which}
          all={VIEWS.map(it => [it, words.made.views[it]])}
          here={here}
          choose={it => setSearch(new URLSearchParams(it === 'file' ? {} : { view: it }))}
        />
      </div>
      <View here={here} job={job} />
    </div>
  )
}

function View({ here, job }: { here: (typeof VIEWS)[number]; job: JobDetail }) {
  switch (here) {
    case 'file':
      return <JobFile job={job} />
    case 'original':
      return <Original job={job} />
    case 'plan':
      return <JobPlan job={job} />
    case 'environment':
      return <Environment job={job} />
  }
}

function JobFile({ job }: { job: JobDetail }) {
  const words = useWords()
  const text = stringify(job.spec, { lineWidth: 0 })
  return (
    <section className="panel" aria-label={words.spec.file}>
      <header>
        <h2>{words.spec.file}</h2>
        <span className="soft small">{words.spec.fileHelp}</span>
        <SaveText name={`${label(job)}.yaml`} text={text} />
      </header>
      <div className="body">
        <CodeBlock label={words.spec.file} text={text} />
      </div>
    </section>
  )
}

export function SaveText({ name, text }: { name: string; text: string }) {
  const words = useWords()
  return (
    <div className="row">
      <Copy text={text} />
      <Button tight onClick={() => saveText(name, text)}>
        {words.spec.download}
      </Button>
    </div>
  )
}
