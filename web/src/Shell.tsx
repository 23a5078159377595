import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useEffect, useRef } from 'react'
import { Link, useLocation } from 'wouter'
import { logOut } from './api/actions.ts'
import { isAway } from './api/error.ts'
import * as queries from './api/queries.ts'
import { forgetDrafts } from './drafts.ts'
import { topicOf } from './pages/help/topics.ts'
import { paths } from './paths.ts'
import { Button } from './ui/Button.tsx'
import { Icon, type IconName, Mark } from './ui/Icon.tsx'
import { LANGUAGES, type Language, useLanguage, useWords } from './words/index.tsx'

const PLACES: [keyof typeof NAMED, IconName][] = [
  ['home', 'home'],
  ['jobs', 'jobs'],
  ['create', 'create'],
  ['datasets', 'datasets'],
  ['algorithms', 'algorithms'],
  ['nodes', 'nodes'],
  ['volumes', 'volumes'],
  ['secrets', 'secrets'],
  ['settings', 'settings'],
  ['help', 'help'],
]
const NAMED = {
  home: paths.home,
  jobs: paths.jobs,
  create: paths.create,
  datasets: paths.datasets,
  algorithms: paths.algorithms,
  nodes: paths.nodes,
  volumes: paths.volumes,
  secrets: paths.secrets,
  settings: paths.settings,
  help: paths.helpAll,
}

export function LanguageSelect() {
  const { language, words, speak } = useLanguage()
  return (
    <select
      className="select"
      aria-label={words.app.languageLabel}
      value={language}
      onChange={event => speak(event.target.value as Language)}
    >
      {Object.entries(LANGUAGES).map(([key, it]) => (
        <option key={key} value={key} lang={it.locale}>
          {it.language}
        </option>
      ))}
    </select>
  )
}

function Navigation() {
  const words = useWords()
  const [here] = useLocation()
  const nav = useRef<HTMLElement>(null)
  // On a telephone the places are a row that is wider than the window.
  // biome-ignore lint/correctness/useExhaustiveDependencies: it is looked at again wherever one goes
  useEffect(() => {
    nav.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' })
  }, [here])
  const isHere = (path: string) => (path === paths.home ? here === path : here === path || here.startsWith(`${path}/`))
  return (
    <nav ref={nav} aria-label={words.nav.main}>
      {PLACES.map(([key, icon]) => (
        <Link key={key} href={NAMED[key]} aria-current={isHere(NAMED[key]) ? 'page' : undefined}>
          <Icon name={icon} />
          {words.nav[key]}
        </Link>
      ))}
    </nav>
  )
}

/** Every page stands in this frame. */
export function Shell({ children }: { children: ReactNode }) {
  const words = useWords()
  const about = useQuery(queries.about())
  const leave = () => {
    forgetDrafts()
    return logOut()
  }
  const pulse = useQuery({ ...queries.nodes(), notifyOnChangeProps: ['error'] })
  return (
    <div className="shell">
      <a className="skip" href="#content">
        {words.app.skip}
      </a>
      <header className="side">
        <Link className="brand" href={paths.home}>
          <Mark />
          {words.app.name}
        </Link>
        <Navigation />
        <div className="foot">
          <LanguageSelect />
          <div className="row who small soft">
            <span className="clip">{about.data?.user}</span>
          </div>
          <Button look="plain" tight onClick={leave}>
            {words.app.logOut}
          </Button>
        </div>
      </header>
      <main className="content" id="content" tabIndex={-1}>
        {isAway(pulse.error) && (
          <div className="away" role="alert">
            {words.app.away}. {words.app.awayHint}
          </div>
        )}
        {children}
      </main>
    </div>
  )
}

/** The way to where the guide speaks of this page. */
function AboutThis({ title }: { title: string }) {
  const { help } = useWords()
  const [here] = useLocation()
  const topic = topicOf(here)
  if (topic === null) return null
  return (
    <Link className="button plain about-this" href={topic} title={help.title} aria-label={help.about(title)}>
      <Icon name="help" />
    </Link>
  )
}

/** A page: its title stands in the tab, in the heading and nowhere else. */
export function Page({
  title,
  heading,
  ends,
  children,
}: {
  title: string
  heading?: ReactNode
  ends?: ReactNode
  children: ReactNode
}) {
  const { app } = useWords()
  useEffect(() => {
    document.title = `${title} · ${app.name}`
  }, [title, app.name])
  return (
    <div className="page">
      <div className="page-head">
        {heading ?? <h1>{title}</h1>}
        <div className="ends">
          {ends}
          <AboutThis title={title} />
        </div>
      </div>
      {children}
    </div>
  )
}
