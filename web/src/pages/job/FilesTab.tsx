import { download } from '../../api/client.ts'
import type { JobDetail } from '../../api/queries.ts'
import { Button } from '../../ui/Button.tsx'
import { Icon } from '../../ui/Icon.tsx'
import { useToasts } from '../../ui/Toasts.tsx'
import { Views } from '../../ui/Views.tsx'
import { useSearchParams } from '../../useSearchParams.ts'
import { useWords } from '../../words/index.tsx'
import { FileBrowser } from '../FileBrowser.tsx'

const ROOTS = ['output', 'input', 'code'] as const
type Root = (typeof ROOTS)[number]

/** The output's archive keeps who may execute what; of the others everything below the place comes. */
const archiveOf = (job: string, root: Root) =>
  root === 'output'
    ? `/api/v1/jobs/${encodeURIComponent(job)}/output/archive`
    : `/api/v1/files/archive?at=${encodeURIComponent(`${job}:/${root}`)}`

/** What the job's tasks have put out, and what they were given. */
export default function FilesTab({ job }: { job: JobDetail }) {
  const words = useWords()
  const { tellError } = useToasts()
  const [search, setSearch] = useSearchParams()
  const root = ROOTS.find(it => it === search.get('root')) ?? 'output'
  const beside: Record<string, string> = root === 'output' ? {} : { root }
  return (
    <section className="panel" aria-label={words.job.tabs.files}>
      <header>
        <Views
          label={words.places.which}
          all={ROOTS.map(it => [it, words.places.roots[it]])}
          here={root}
          choose={it => setSearch(new URLSearchParams(it === 'output' ? {} : { root: it }))}
        />
        <span className="soft small">{words.places.helps[root]}</span>
        <Button tight onClick={() => download(archiveOf(job.id, root)).catch(tellError)}>
          <Icon name="down" />
          {words.files.downloadAll}
        </Button>
      </header>
      <FileBrowser
        key={root}
        root={`${job.id}:/${root}/`}
        title={`/${root}`}
        beside={beside}
        {...(root === 'output' ? { emptyHint: words.files.emptyHint } : {})}
      />
    </section>
  )
}
