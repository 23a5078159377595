// What has to hold on every page for everyone who uses it.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { after, before, test } from 'node:test'
import { House, settled } from './house.mjs'
import { settle } from './town.mjs'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

let house
let jobs
before(async () => {
  house = await House.open()
  jobs = await settle(house)
})
after(() => house.close())

const pages = () => [
  '/',
  '/jobs',
  `/jobs/${jobs.first}`,
  `/jobs/${jobs.failed}`,
  `/jobs/${jobs.first}/logs?times=1`,
  `/jobs/${jobs.second}/curves?with=1&smooth=0.6`,
  `/jobs/${jobs.first}/curves?metric=loss&log=1&x=span`,
  `/jobs/${jobs.failed}/curves`,
  `/jobs/${jobs.running}/resources?by=task`,
  `/jobs/${jobs.queued}/resources`,
  `/jobs/${jobs.first}/files?path=worker-0`,
  `/jobs/${jobs.first}/files?file=worker-0/metrics.json`,
  `/jobs/${jobs.first}/files?root=input`,
  `/jobs/${jobs.first}/services`,
  `/jobs/${jobs.second}/versions`,
  `/jobs/${jobs.first}/spec`,
  `/jobs/${jobs.first}/spec?view=original`,
  `/jobs/${jobs.first}/spec?view=plan`,
  `/jobs/${jobs.first}/spec?view=environment`,
  `/jobs/${jobs.failed}/why`,
  `/jobs/${jobs.queued}/why`,
  '/jobs/nobody',
  '/create?framework=image',
  `/create?door=pro&from=${jobs.first}`,
  `/create?door=file&from=${jobs.first}`,
  `/compare?jobs=${jobs.first},${jobs.second}&same=1`,
  '/compare',
  '/help',
  '/help/job-file',
  '/nodes',
  '/volumes',
  '/volumes/mnist',
  '/secrets',
  '/settings',
  '/nowhere',
]

async function findings(page) {
  // Through the debugger's own world, for the page's policy lets no such script in.
  const found = await page.evaluate(
    `${axe}; axe.run(document, { resultTypes: ['violations'] }).then(it => it.violations)`,
  )
  const serious = found.filter(it => ['serious', 'critical'].includes(it.impact))
  return serious.map(
    it => `${it.id}: ${it.nodes.map(node => `${node.html} ${node.any.map(why => why.message)}`).join(' | ')}`,
  )
}

for (const look of [
  { language: 'en', theme: 'light' },
  { language: 'zh', theme: 'dark' },
  { language: 'en', theme: 'dark', width: 360, height: 740 },
]) {
  test(`everyone can use every page: ${Object.values(look).join(' ')}`, async () => {
    const stranger = await house.page(look)
    await stranger.goto(`${house.url}/login`)
    await stranger.getByRole('heading', { level: 1 }).waitFor()
    const wrong = (await findings(stranger)).map(it => `/login ${it}`)
    const page = await house.inside(look)
    for (const path of pages()) {
      await page.goto(house.url + path)
      await page.getByRole('heading', { level: 1 }).waitFor()
      if (path.startsWith('/help/')) await page.getByRole('article').waitFor()
      await settled(page)
      wrong.push(...(await findings(page)).map(it => `${path} ${it}`))
      const isWide = await page.evaluate(
        () => document.documentElement.scrollWidth > document.documentElement.clientWidth,
      )
      if (isWide) wrong.push(`${path} is wider than the window`)
    }
    assert.deepEqual(wrong, [])
    assert.deepEqual(page.refused, [])
  })
}
