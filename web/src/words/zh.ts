import { chartsZh } from './charts.ts'
import type { Words } from './en.ts'
import { algorithms } from './zh/algorithms.ts'
import { app, login, nav, states } from './zh/app.ts'
import { compare, lineage, versions } from './zh/compare.ts'
import { create } from './zh/create.ts'
import { datasets } from './zh/datasets.ts'
import { files } from './zh/files.ts'
import { help } from './zh/help.ts'
import { home } from './zh/home.ts'
import { ending, made, places, services } from './zh/job.ts'
import { jobs } from './zh/jobs.ts'
import { logs } from './zh/logs.ts'
import { nodes } from './zh/nodes.ts'
import { job } from './zh/overview.ts'
import { pick } from './zh/pick.ts'
import { secrets } from './zh/secrets.ts'
import { settings } from './zh/settings.ts'
import { spec } from './zh/spec.ts'
import { volumes } from './zh/volumes.ts'
import { why } from './zh/why.ts'

// 中文界面的全部用词，按页面分开。键与 en.ts 一一对应，缺一个都编译不过。

export const zh: Words = {
  language: '中文',
  locale: 'zh-CN',
  ...chartsZh,
  units: { day: '天', second: '秒' },
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
