import { useQuery } from '@tanstack/react-query'
import { lazy, Suspense, useEffect, useState } from 'react'
import { Link } from 'wouter'
import { paths } from '../../paths.ts'
import { Page } from '../../Shell.tsx'
import { Empty, Trouble } from '../../ui/Say.tsx'
import { useLanguage, useWords } from '../../words/index.tsx'
import { PAGES, pageOf, README } from './guide.ts'
import './help.css'

const Markdown = lazy(async () => ({ default: (await import('./Markdown.tsx')).Markdown }))

const GROUPS = {
  begin: [README, 'console', 'cli'],
  write: [
    'job-file',
    'dialects',
    'frameworks',
    'code',
    'inputs',
    'outputs',
    'datasets',
    'algorithms',
    'volumes',
    'secrets',
    'rendezvous',
  ],
  watch: ['logs', 'metrics', 'compare', 'usage'],
}

export default function HelpPage({ page }: { page: string | undefined }) {
  const { language, words } = useLanguage()
  if (page === undefined) return <Index />
  const load = pageOf(page, language)
  if (load) return <Guide key={`${page} ${language}`} name={page} load={load} />
  return (
    <Page title={words.help.title}>
      <Empty icon="help" title={words.help.notThere} hint={words.help.notThereHint}>
        <Link className="button" href={paths.helpAll}>
          {words.help.toIndex}
        </Link>
      </Empty>
    </Page>
  )
}

/** What a page is called: in words of ours, or by its file's name until there are any. */
function useTitle() {
  const { help } = useWords()
  return (name: string) => help.pages[name]?.title ?? name
}

function Index() {
  const words = useWords()
  const title = useTitle()
  const grouped = Object.values(GROUPS).flat()
  // A page that nobody has put into a group is there to be looked up.
  const groups = { ...GROUPS, look: PAGES.filter(name => !grouped.includes(name)) }
  return (
    <Page title={words.help.title}>
      <p className="soft">{words.help.intro}</p>
      {Object.entries(groups).map(([group, names]) => (
        <section key={group} className="stack">
          <h2>{words.help.groups[group as keyof typeof groups]}</h2>
          <ul className="help-index">
            {names.map(name => (
              <li key={name} className="panel">
                <Link href={paths.help(name)}>{title(name)}</Link>
                <span className="soft small">{words.help.pages[name]?.about}</span>
              </li>
            ))}
          </ul>
        </section>
      ))}
    </Page>
  )
}

function Guide({ name, load }: { name: string; load: () => Promise<string> }) {
  const { language, words } = useLanguage()
  const title = useTitle()
  const { data: text, error } = useQuery({
    queryKey: ['help', name, language],
    queryFn: load,
    staleTime: Number.POSITIVE_INFINITY,
  })
  return (
    <Page
      title={title(name)}
      ends={
        <Link className="button plain" href={paths.helpAll}>
          {words.help.toIndex}
        </Link>
      }
    >
      {error && <Trouble error={error} />}
      {text !== undefined && (
        <Suspense fallback={null}>
          <Opened text={text} />
        </Suspense>
      )}
    </Page>
  )
}

interface Section {
  id: string
  text: string
}

/** The text with its sections listed beside it; the one that the address names is brought into view. */
function Opened({ text }: { text: string }) {
  const words = useWords()
  const [sections, setSections] = useState<Section[]>([])
  const article = (element: HTMLElement | null) => {
    if (!element || sections.length > 0) return
    const found = [...element.querySelectorAll('h2')].map(it => ({ id: it.id, text: it.textContent ?? '' }))
    if (found.length > 0) setSections(found)
  }
  return (
    <div className="guide">
      {/* The page has its title already. */}
      <article ref={article} className="panel prose">
        <Markdown text={text.replace(/^# .*\n/, '')} />
        <Shown />
      </article>
      {sections.length > 1 && (
        <nav className="contents" aria-label={words.help.contents}>
          <h2>{words.help.contents}</h2>
          <ul>
            {sections.map(it => (
              <li key={it.id}>
                <a href={`#${it.id}`}>{it.text}</a>
              </li>
            ))}
          </ul>
        </nav>
      )}
    </div>
  )
}

/** Stands behind the text, so that it is drawn when this is. */
function Shown() {
  useEffect(() => {
    const show = () => {
      const id = decodeURIComponent(location.hash.slice(1))
      if (id) document.getElementById(id)?.scrollIntoView()
    }
    show()
    addEventListener('hashchange', show)
    return () => removeEventListener('hashchange', show)
  }, [])
  return null
}
