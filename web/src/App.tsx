import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { Component, lazy, type ReactNode, Suspense, useEffect } from 'react'
import { Link, Redirect, Route, Switch, useLocation } from 'wouter'
import { whenAway } from './api/again.ts'
import { session } from './api/session.ts'
import { HomePage } from './pages/HomePage.tsx'
import { JobsPage } from './pages/jobs/JobsPage.tsx'
import { LoginPage } from './pages/LoginPage.tsx'
import { paths } from './paths.ts'
import { Page, Shell } from './Shell.tsx'
import { Button } from './ui/Button.tsx'
import { Empty } from './ui/Say.tsx'
import { ToastProvider } from './ui/Toasts.tsx'
import { useWords, WordsProvider } from './words/index.tsx'

const CreatePage = lazy(() => import('./pages/create/CreatePage.tsx'))
const JobPage = lazy(() => import('./pages/job/JobPage.tsx'))
const NodesPage = lazy(() => import('./pages/NodesPage.tsx'))
const VolumesPage = lazy(() => import('./pages/VolumesPage.tsx'))
const VolumePage = lazy(() => import('./pages/VolumePage.tsx'))
const DatasetsPage = lazy(() => import('./pages/datasets/DatasetsPage.tsx'))
const DatasetPage = lazy(() => import('./pages/datasets/DatasetPage.tsx'))
const AlgorithmsPage = lazy(() => import('./pages/algorithms/AlgorithmsPage.tsx'))
const AlgorithmPage = lazy(() => import('./pages/algorithms/AlgorithmPage.tsx'))
const SecretsPage = lazy(() => import('./pages/SecretsPage.tsx'))
const ComparePage = lazy(() => import('./pages/compare/ComparePage.tsx'))
const HelpPage = lazy(() => import('./pages/help/HelpPage.tsx'))
const SettingsPage = lazy(() => import('./pages/SettingsPage.tsx'))

/** What the server has refused is not asked again by itself; what did not arrive is, until it does. */
const client = new QueryClient({
  defaultOptions: {
    queries: {
      retry: false,
      refetchInterval: whenAway,
      staleTime: 500,
    },
  },
})

export function App() {
  return (
    <WordsProvider>
      <Fence>
        <QueryClientProvider client={client}>
          <ToastProvider>
            <Switch>
              <Route path={paths.login} component={LoginPage} />
              <Route component={Inside} />
            </Switch>
          </ToastProvider>
        </QueryClientProvider>
      </Fence>
    </WordsProvider>
  )
}

/** Everything behind the log-in. */
function Inside() {
  const [, go] = useLocation()
  useEffect(() => {
    session.whenItEnds(() => {
      client.clear()
      go(toLogin(), { replace: true })
    })
  }, [go])
  if (session.key() === null) return <Redirect to={toLogin()} replace />
  return (
    <Shell>
      <Suspense fallback={null}>
        <Switch>
          <Route path={paths.home} component={HomePage} />
          <Route path={paths.jobs} component={JobsPage} />
          <Route path="/jobs/:job/:tab?">{params => <JobPage job={params.job} tab={params.tab} />}</Route>
          <Route path={paths.create} component={CreatePage} />
          <Route path={paths.nodes} component={NodesPage} />
          <Route path={paths.volumes} component={VolumesPage} />
          <Route path="/volumes/:volume">{params => <VolumePage volume={params.volume} />}</Route>
          <Route path={paths.datasets} component={DatasetsPage} />
          <Route path="/datasets/:dataset">{params => <DatasetPage name={params.dataset} />}</Route>
          <Route path={paths.algorithms} component={AlgorithmsPage} />
          <Route path="/algorithms/:algorithm">{params => <AlgorithmPage name={params.algorithm} />}</Route>
          <Route path={paths.compareAll} component={ComparePage} />
          <Route path="/help/:page?">{params => <HelpPage page={params.page} />}</Route>
          <Route path={paths.secrets} component={SecretsPage} />
          <Route path={paths.settings} component={SettingsPage} />
          <Route component={NotFound} />
        </Switch>
      </Suspense>
    </Shell>
  )
}

function toLogin() {
  const here = location.pathname + location.search
  return here === paths.home ? paths.login : `${paths.login}?next=${encodeURIComponent(here)}`
}

export function NotFound() {
  const { app } = useWords()
  return (
    <Page title={app.notFound}>
      <Empty icon="warn" title={location.pathname} hint={app.notFoundHint}>
        <Link className="button" href={paths.home}>
          {app.toHome}
        </Link>
      </Empty>
    </Page>
  )
}

/** A bug in a page leaves words and a way on, and not a white screen. */
class Fence extends Component<{ children: ReactNode }, { broken: boolean }> {
  override state = { broken: false }

  static getDerivedStateFromError() {
    return { broken: true }
  }

  override render() {
    return this.state.broken ? <Broken /> : this.props.children
  }
}

function Broken() {
  const { app } = useWords()
  return (
    <main className="content">
      <Empty icon="warn" title={app.broken} hint={app.brokenHint}>
        <Button onClick={() => location.reload()}>{app.reload}</Button>
      </Empty>
    </main>
  )
}
