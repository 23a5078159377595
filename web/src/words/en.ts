// Every word of the console in English, by page. `zh.ts` has the same keys; the compiler sees to that.
import { chartsEn } from './charts.ts'
import { algorithms } from './en/algorithms.ts'
import { app, login, nav, states } from './en/app.ts'
import { compare, lineage, versions } from './en/compare.ts'
import { create } from './en/create.ts'
import { datasets } from './en/datasets.ts'
import { files } from './en/files.ts'
import { help } from './en/help.ts'
import { home } from './en/home.ts'
import { ending, made, places, services } from './en/job.ts'
import { jobs } from './en/jobs.ts'
import { logs } from './en/logs.ts'
import { nodes } from './en/nodes.ts'
import { job } from './en/overview.ts'
import { pick } from './en/pick.ts'
import { secrets } from './en/secrets.ts'
import { settings } from './en/settings.ts'
import { spec } from './en/spec.ts'
import { volumes } from './en/volumes.ts'
import { why } from './en/why.ts'

export const en = {
  language: 'English',
  locale: 'en',
  ...chartsEn,
  units: { day: 'd', second: 's' },
  app,
  nav,
  login,
  states,
  home,
  jobs,
  job,
  logs,
  files,
  spec,
  compare,
  versions,
  lineage,
  ending,
  services,
  places,
  made,
  help,
  why,
  create,
  nodes,
  volumes,
  datasets,
  algorithms,
  pick,
  secrets,
  settings,
}

export type Words = typeof en
