// What has to hold on every page for everyone who uses it.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { after, before, test } from 'node:test'
import { House, settled } from './house.mjs'
import { PLACES, settle } from './town.mjs'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

let house
let jobs
before(async () => {
  house = await House.open()
  jobs = await settle(house)
})
after(() => house.close())

const pages = () => [
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
  ...PLACES,
  '/datasets/mnist',
  '/algorithms/mlp?write=1',
  '/create?door=pro&algorithm=mlp@latest',
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
  { language: 'zh', theme: 'light' },
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

/** Each window that opens over a page, by the page and the buttons that lead to it. */
const dialogs = () => [
  ['/volumes', ['Add a volume']],
  ['/volumes', ['Remove']],
  ['/datasets', ['Add a dataset']],
  ['/datasets/mnist', ['New version']],
  ['/datasets/mnist', ['Forget dataset']],
  ['/algorithms/mlp', ['Forget mlp@1']],
  ['/create', ['Choose an algorithm']],
  ['/create?input=mnist@1', ['Input: Choose a dataset']],
  ['/create?algorithm=mlp@1', ['train: Choose a place']],
  ['/secrets', ['Add a secret']],
  ['/secrets', ['Remove']],
  ['/jobs', ['Stop gpt-small@1']],
  [`/jobs/${jobs.running}`, ['Stop']],
  [`/jobs/${jobs.running}`, ['Time limit…']],
  [`/jobs/${jobs.first}`, ['Delete']],
  [`/create?from=${jobs.first}`, ['Review and submit']],
]

for (const theme of ['light', 'dark']) {
  test(`everyone can use every window over a page: ${theme}`, async () => {
    const page = await house.inside({ theme })
    const wrong = []
    for (const [path, buttons] of dialogs()) {
      await page.goto(house.url + path)
      for (const name of buttons) {
        await page
          .getByRole('main')
          .getByRole('button', { name, exact: true })
          .and(page.locator(':not([aria-disabled])'))
          .first()
          .click()
      }
      const dialog = page.getByRole('dialog')
      await dialog.waitFor()
      wrong.push(...(await findings(page)).map(it => `${path} ${buttons} ${it}`))
      const isInside = await dialog.evaluate(it => it.contains(document.activeElement))
      if (!isInside) wrong.push(`${path} ${buttons}: the keyboard is not in the window`)
      await page.keyboard.press('Escape')
      await dialog.waitFor({ state: 'hidden' })
    }
    assert.deepEqual(wrong, [])
  })
}

/** Controls that can be seen and used, each with a number; a group of radio buttons is one. */
const numbered = page =>
  page.evaluate(() => {
    const all =
      'a[href], button:not([disabled]), input:not([type=hidden], [disabled]), select, textarea, summary, [tabindex="0"]'
    const shown = [...document.querySelectorAll(all)].filter(
      it => it.checkVisibility({ visibilityProperty: true }) && !it.closest('.cm-editor') && it.tabIndex >= 0,
    )
    shown.forEach((it, index) => {
      it.dataset.number = String(index)
    })
    return shown.map(it => it.outerHTML.slice(0, 90))
  })

/** Which control has the keyboard, and whether one can see it. */
const held = page =>
  page.evaluate(() => {
    const it = document.activeElement
    const style = getComputedStyle(it)
    return {
      number: it?.dataset.number,
      isInEditor: it?.closest('.cm-editor') !== null,
      isSeen: style.outlineStyle !== 'none' || style.boxShadow !== 'none',
    }
  })

test('every page can be used with the keyboard alone', async () => {
  const page = await house.inside()
  const wrong = []
  for (const path of pages()) {
    await page.goto(house.url + path)
    await page.getByRole('heading', { level: 1 }).waitFor()
    await settled(page)
    const controls = await numbered(page)
    const reached = new Set()
    // A date has several places for the keyboard.
    for (let press = 0; reached.size < controls.length && press < 3 * controls.length + 20; press += 1) {
      await page.keyboard.press('Tab')
      const { number, isInEditor, isSeen } = await held(page)
      // In an editor Tab is a letter; after Escape it is a way out.
      if (isInEditor) await page.keyboard.press('Escape')
      if (number === undefined) continue
      reached.add(number)
      if (!isSeen) wrong.push(`${path}: nothing shows that the keyboard is at ${controls[number]}`)
    }
    for (const [number, html] of controls.entries()) {
      if (!reached.has(String(number))) wrong.push(`${path}: the keyboard does not come to ${html}`)
    }
  }
  assert.deepEqual(wrong, [])
})
