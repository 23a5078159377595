// Every page in both languages and both themes, and the narrow ones, into web/screenshots.
import { mkdirSync } from 'node:fs'
import { resolve } from 'node:path'
import { House, settled } from './house.mjs'
import { settle } from './town.mjs'

const out = resolve(import.meta.dirname, '../screenshots')
mkdirSync(out, { recursive: true })
const house = await House.open()
const jobs = await settle(house)

const pages = {
  home: '/',
  jobs: '/jobs',
  job: `/jobs/${jobs.first}`,
  'job-running': `/jobs/${jobs.running}`,
  logs: `/jobs/${jobs.first}/logs?times=1`,
  'logs-lanes': `/jobs/${jobs.running}/logs?lanes=1&times=1`,
  'logs-found': `/jobs/${jobs.first}/logs?find=loss:+0.[23]&regex=1`,
  curves: `/jobs/${jobs.second}/curves`,
  'curves-live': `/jobs/${jobs.running}/curves?smooth=0.6`,
  'curves-versions': `/jobs/${jobs.second}/curves?metric=loss&with=1&task=worker-0&smooth=0.8`,
  'curves-none': `/jobs/${jobs.failed}/curves`,
  resources: `/jobs/${jobs.running}/resources`,
  'resources-tasks': `/jobs/${jobs.running}/resources?by=task`,
  files: `/jobs/${jobs.first}/files?path=worker-0`,
  services: `/jobs/${jobs.first}/services`,
  versions: `/jobs/${jobs.second}/versions`,
  spec: `/jobs/${jobs.first}/spec`,
  plan: `/jobs/${jobs.first}/spec?view=plan`,
  'why-failed': `/jobs/${jobs.failed}/why`,
  why: `/jobs/${jobs.queued}/why`,
  create: '/create?framework=tensorflow',
  'create-again': `/create?from=${jobs.first}`,
  'create-pro': `/create?door=pro&from=${jobs.first}`,
  'create-file': `/create?door=file&from=${jobs.first}`,
  compare: `/compare?jobs=${jobs.first},${jobs.second}`,
  help: '/help',
  'help-page': '/help/compare',
  nodes: '/nodes',
  volumes: '/volumes',
  volume: '/volumes/mnist',
  datasets: '/datasets',
  dataset: '/datasets/mnist',
  algorithms: '/algorithms',
  algorithm: '/algorithms/mlp',
  'algorithm-write': '/algorithms?write=1',
  'create-algorithm': '/create?algorithm=mlp@1',
  secrets: '/secrets',
  settings: '/settings',
  nowhere: '/nowhere',
}
const looks = process.env.LOOKS
  ? JSON.parse(process.env.LOOKS)
  : [
      { language: 'en', theme: 'light' },
      { language: 'zh', theme: 'light' },
      { language: 'en', theme: 'dark' },
      { language: 'zh', theme: 'dark' },
      { language: 'zh', theme: 'light', width: 360, height: 740 },
    ]
for (const look of looks) {
  const name = `${look.language}-${look.theme}${look.width ? '-narrow' : ''}`
  const stranger = await house.page(look)
  await stranger.goto(`${house.url}/login`)
  await stranger.getByRole('heading', { level: 1 }).waitFor()
  await stranger.screenshot({ path: `${out}/login-${name}.png` })
  const page = await house.inside(look)
  for (const [key, path] of Object.entries(pages)) {
    await page.goto(house.url + path)
    await page.getByRole('heading', { level: 1 }).waitFor()
    await page.waitForTimeout(500)
    await page.screenshot({ path: `${out}/${key}-${name}.png` })
  }
  if (page.refused.length > 0) console.log(name, page.refused)
}
await drawForReadme()
await house.close()
console.log(`screenshots are in ${out}`)

/** Four that say the most about it, for both front pages; small enough to be looked at over a telephone. */
async function drawForReadme() {
  const images = resolve(import.meta.dirname, '../../docs/images')
  mkdirSync(images, { recursive: true })
  const best = { jobs: 'light', 'curves-versions': 'dark', 'logs-lanes': 'dark', 'create-again': 'light' }
  for (const language of ['en', 'zh']) {
    for (const [key, theme] of Object.entries(best)) {
      const page = await house.inside({ language, theme, width: 1360, height: 740 })
      await page.goto(house.url + pages[key])
      await page.getByRole('heading', { level: 1 }).waitFor()
      await settled(page)
      await page.waitForTimeout(1500)
      await page.screenshot({ path: `${images}/${key}-${language}.png` })
      await page.context().close()
    }
  }
}
