// What is typed: into every field of every page and window, and what the server says of it. And who has no mouse.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { House, settled } from './house.mjs'
import { ADDRESSES, PAYLOADS } from './payloads.mjs'
import { settle } from './town.mjs'

let house
let jobs
before(async () => {
  house = await House.open()
  jobs = await settle(house)
})
after(() => house.close())

const ALL = PAYLOADS.join(' ')

/** Each place with fields: where it is, what opens it, and how many there are at least. */
const press = name => page => page.getByRole('button', { name, exact: true }).first().click()
const addVolume = kind => async page => {
  await press('Add a volume')(page)
  await page.getByRole('dialog').getByRole('combobox').selectOption(kind)
}
const PLACES = [
  { path: () => '/create?framework=image', open: openSimple, least: 9 },
  { path: () => '/create?door=pro&framework=image', open: openPro, least: 30 },
  { path: () => '/jobs', least: 1 },
  { path: () => `/jobs/${jobs.first}/logs`, least: 1 },
  { path: () => `/jobs/${jobs.first}/curves`, open: page => page.locator('.curve-card').first().waitFor(), least: 1 },
  { path: () => `/jobs/${jobs.first}/versions`, least: 1 },
  { path: () => `/jobs/${jobs.first}/spec?view=environment`, least: 1 },
  { path: () => `/compare?jobs=${jobs.first},${jobs.second}`, least: 1, yes: 'Add' },
  { path: () => `/jobs/${jobs.running}`, open: press('Time limit…'), least: 1, yes: 'Set' },
  { path: () => `/jobs/${jobs.stopped}`, open: press('Edit the description of resnet-50@1'), least: 1, yes: 'Save' },
  { path: () => '/datasets', open: press('Add a dataset'), least: 4, yes: 'Add' },
  { path: () => '/datasets', least: 1 },
  { path: () => '/datasets/mnist', open: press('New version'), least: 3, yes: 'Make version' },
  { path: () => '/algorithms', least: 1 },
  { path: () => '/create?algorithm=mlp@1', open: press('Your own parameters: Add'), least: 8 },
  { path: () => '/create', open: press('Choose an algorithm'), least: 1 },
  { path: () => '/secrets', open: press('Add a secret'), least: 2, yes: 'Save' },
  { path: () => '/volumes', open: addVolume('local'), least: 2, yes: 'Add' },
  { path: () => '/volumes', open: addVolume('http'), least: 2, yes: 'Add' },
  { path: () => '/volumes', open: addVolume('s3'), least: 6, yes: 'Add' },
]

/** Every switch that has fields behind it. */
async function openSimple(page) {
  for (const label of ['Private repository', 'TensorBoard', 'Distributed training'])
    await page.getByLabel(label, { exact: true }).check()
  await page.getByLabel('Data volume', { exact: true }).selectOption('/')
}

async function openPro(page) {
  for (const button of await page.getByRole('button', { name: /: Add$/ }).all()) await button.click()
}

/** As a hand would, only quicker: each value is set, and the page hears of it. Answers how many there were. */
const fillAll = (page, text) =>
  page.evaluate(async text => {
    const isText = it => !it.readOnly && (it.matches('textarea') || ['text', 'search', 'password'].includes(it.type))
    const fields = [...document.querySelectorAll('input, textarea')].filter(
      it => isText(it) && it.offsetParent !== null,
    )
    for (const field of fields) {
      const setter = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(field), 'value').set
      // What must begin so is not taken otherwise.
      setter.call(field, field.value.startsWith('/') ? `/${text}` : text)
      field.dispatchEvent(new Event('input', { bubbles: true }))
      field.dispatchEvent(new FocusEvent('focusout', { bubbles: true }))
    }
    await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))
    return fields.length
  }, text)

function harmless(page) {
  assert.deepEqual(page.refused, [], 'nothing was run, and nothing had to be stopped from running')
  assert.ok(page.url().startsWith(house.url), 'nobody was led away')
}

/** Comes to a place, and waits until its fields are there. */
async function come(page, { path, open, least }) {
  await page.goto(house.url + path())
  await page.getByRole('heading', { level: 1 }).waitFor()
  await settled(page)
  await open?.(page)
  await page.waitForFunction(
    least => document.querySelectorAll('input:not([type=checkbox]), textarea').length >= least,
    least,
  )
}

test('payloads in every text field and window, and in what the server says of them, are words and no more', async () => {
  const page = await house.inside()
  for (const place of PLACES) {
    const { path, least, yes } = place
    await come(page, place)
    // What is an address alone would be one in a link too.
    for (const text of [...ADDRESSES, ALL]) {
      // Some are gone with what was looked for by them.
      if ((await fillAll(page, text)) >= least) continue
      await come(page, place)
      const count = await fillAll(page, text)
      assert.ok(count >= least, `${count} fields at ${path()}`)
    }
    if (yes) {
      const dialog = page.getByRole('dialog')
      const here = (await dialog.count()) > 0 ? dialog : page.getByRole('main')
      await here.getByRole('button', { name: yes, exact: true }).click()
    }
    await settled(page)
    harmless(page)
  }
})

test('payloads instead of a token let nobody in and run nothing', async () => {
  const page = await house.page()
  await page.goto(`${house.url}/login`)
  await page.getByRole('heading', { level: 1 }).waitFor()
  for (const text of [...ADDRESSES, ALL]) assert.equal(await fillAll(page, text), 1)
  await page.getByRole('button', { name: 'Log in', exact: true }).click()
  await page.getByRole('alert').waitFor()
  harmless(page)
})

test('payloads in a file that is imported, in its name and in the problems it has, are words and no more', async () => {
  const page = await house.inside()
  await page.goto(`${house.url}/create?door=file`)
  const file = PAYLOADS.map((it, index) => `${JSON.stringify(it)}: ${JSON.stringify(it)} # ${index}`).join('\n')
  const buffer = Buffer.from(`${file}\nname: ${JSON.stringify(ALL)}\nroles: {${JSON.stringify(ALL)}: {comand: x}}\n`)
  await page
    .getByLabel('Import a file')
    .setInputFiles({ name: '<img src=x onerror=alert(1)>.yaml', mimeType: 'text/yaml', buffer })
  await page.locator('.problems li').nth(50).waitFor()
  harmless(page)
})

test('every page can be used with the keyboard alone', async () => {
  const page = await house.inside()
  await page.goto(`${house.url}/jobs`)
  await page.getByRole('link', { name: 'gpt-small@1' }).waitFor()
  await page.keyboard.press('Tab')
  assert.equal(await page.evaluate(() => document.activeElement?.textContent), 'Skip to content')
  await page.keyboard.press('Enter')
  const names = []
  for (let count = 0; count < 12; count += 1) {
    await page.keyboard.press('Tab')
    names.push(
      await page.evaluate(
        () => document.activeElement?.getAttribute('aria-label') ?? document.activeElement?.textContent,
      ),
    )
  }
  assert.ok(names.includes('Search name or description') && names.includes('New job'), names.join(', '))
  await page.getByLabel('Select gpt-small@1').focus()
  await page.keyboard.press('Space')
  await page.getByRole('button', { name: 'Stop', exact: true }).focus()
  await page.keyboard.press('Enter')
  await page.getByRole('dialog').waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'hidden' })
  assert.equal((await house.job(jobs.running)).state, 'running')
})
