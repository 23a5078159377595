// What others wrote, and what is long, and who has no mouse.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { House, settled } from './house.mjs'
import { PAYLOADS } from './payloads.mjs'
import { settle } from './town.mjs'

let house
let jobs
before(async () => {
  house = await House.open()
  jobs = await settle(house)
})
after(() => house.close())

/** Names of files: a slash would be a directory, and a system has its longest. */
const fileName = payload => payload.replaceAll('/', '_').slice(0, 100)

/** So many a job may have. */
const TAGS_MAX = 32
const TAG_LENGTH_MAX = 64

const SPEC_VIEWS = ['/spec', '/spec?view=original', '/spec?view=plan', '/spec?view=environment']

/** A job with every one of them wherever a text of somebody's ends up in a page. */
async function hostileJob() {
  const quoted = PAYLOADS.map(it => `'${it.replaceAll("'", "'\\''")}'`).join(' ')
  const names = PAYLOADS.map(it => `'${fileName(it).replaceAll("'", "'\\''")}'`).join(' ')
  const numbers = PAYLOADS.map(it => JSON.stringify({ step: 1, [it]: 0.5 })).join('\n')
  const command = [
    `for it in ${quoted}; do printf '%s\n' "$it"; printf '%s\n' "$it" >&2; done`,
    `cd /output; for it in ${names}; do printf '%s' "$it" > "./$it"; done`,
    `cat > metrics.jsonl <<'END_OF_NUMBERS'\n${numbers}\nEND_OF_NUMBERS`,
    `echo '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>' > x.svg; echo '<script>alert(1)</script>' > x.html`,
    `echo '{"x": "<img src=x onerror=alert(1)>"}' > x.json; exit 3`,
  ].join('\n')
  const tags = PAYLOADS.filter(it => it.length <= TAG_LENGTH_MAX && !/[,\t\u2028]|^ | $/.test(it))
  for (let from = TAGS_MAX; from < tags.length; from += TAGS_MAX) {
    await house.line('tagged', 'true', { tags: tags.slice(from, from + TAGS_MAX) })
  }
  return house.submit({
    name: 'hostile',
    description: PAYLOADS.join(' '),
    tags: tags.slice(0, TAGS_MAX),
    params: Object.fromEntries(PAYLOADS.map((it, index) => [`p${index}`, it])),
    env: Object.fromEntries(PAYLOADS.map((it, index) => [`X${index}`, it])),
    roles: { worker: { command, memory: '64MiB' } },
  })
}

test(`${PAYLOADS.length} payloads from everywhere that others write are shown and never run`, async () => {
  assert.ok(new Set(PAYLOADS).size >= 100)
  const id = await hostileJob()
  await house.state(id, 'failed')
  const page = await house.inside()
  const visit = async path => {
    await page.goto(house.url + path)
    await page.getByRole('heading', { level: 1 }).waitFor()
    await settled(page)
  }
  for (const tab of [
    '',
    '/curves',
    '/resources',
    '/files?path=worker-0',
    '/services',
    '/versions',
    ...SPEC_VIEWS,
    '/why',
    '/logs?wrap=1',
  ]) {
    await visit(`/jobs/${id}${tab}`)
  }
  await page.getByText(PAYLOADS.at(-1), { exact: true }).first().waitFor()
  for (const file of ['x.svg', 'x.html', 'x.json', fileName(PAYLOADS[0])]) {
    await visit(`/jobs/${id}/files?file=${encodeURIComponent(`worker-0/${file}`)}`)
  }
  for (const path of ['/', '/jobs', `/compare?jobs=${id},${jobs.first}`]) await visit(path)
  for (const door of ['file', 'pro', 'simple']) await visit(`/create?from=${id}&door=${door}`)
  assert.deepEqual(page.refused, [], 'nothing was run, and nothing had to be stopped from running')
  assert.ok(page.url().startsWith(house.url), 'nobody was led away')
})

test('payloads in the address, of every page that reads it, are words and no more', async () => {
  const page = await house.inside()
  await page.goto(`${house.url}/jobs`)
  await page.getByRole('heading', { level: 1 }).waitFor()
  // Without loading the page anew for each: what is under test is how it shows them.
  await page.evaluate(async payloads => {
    const drawn = () => new Promise(done => setTimeout(done, 15))
    for (const payload of payloads) {
      const text = encodeURIComponent(payload)
      for (const path of [
        `/jobs?q=${text}&tag=${text}&name=${text}&owner=${text}&node=${text}&since=${text}&sort=${text}`,
        `/jobs/${text}`,
        `/jobs/${text}/logs?task=${text}&find=${text}`,
        `/volumes/${text}?path=${text}`,
        `/compare?jobs=${text},${text}&metric=${text}`,
        `/help/${text}#${text}`,
        `/create?framework=${text}&door=${text}`,
        `/${text}`,
      ]) {
        history.pushState(null, '', path)
        await drawn()
      }
    }
  }, PAYLOADS)
  await page.goto(`${house.url}/jobs/${jobs.first}/logs?find=${encodeURIComponent(PAYLOADS.join(' '))}`)
  await page.getByText('No line matches').waitFor()
  assert.deepEqual(page.refused, [])
  assert.ok(page.url().startsWith(house.url), 'nobody was led away')
})

test('payloads in every text field, and in what the server says of them, are words and no more', async () => {
  const page = await house.inside()
  const all = PAYLOADS.join(' ')
  /** As a hand would, only quicker: the value is set, and the page hears of it. */
  const fillAll = () =>
    page.evaluate(text => {
      const fields = document.querySelectorAll(
        'main input:not([type]), main input[type=search], main input[type=password], main textarea',
      )
      for (const field of fields) {
        const setter = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(field), 'value').set
        setter.call(field, text)
        field.dispatchEvent(new Event('input', { bubbles: true }))
      }
      return fields.length
    }, all)
  let filled = 0
  for (const path of [
    '/create?framework=image',
    '/create?door=pro&framework=image',
    '/jobs',
    `/jobs/${jobs.first}/logs`,
  ]) {
    await page.goto(house.url + path)
    await page.getByRole('heading', { level: 1 }).waitFor()
    await settled(page)
    for (const name of await page.getByRole('button', { name: /: Add$/ }).all()) await name.click()
    for (const label of ['Private repository', 'TensorBoard', 'Distributed training']) {
      const box = page.getByLabel(label, { exact: true })
      if ((await box.count()) > 0) await box.check()
    }
    filled += await fillAll()
    await settled(page)
  }
  assert.ok(filled > 30, `${filled} fields`)
  await page.goto(`${house.url}/create?door=file`)
  const file = PAYLOADS.map((it, index) => `${JSON.stringify(it)}: ${JSON.stringify(it)} # ${index}`).join('\n')
  const buffer = Buffer.from(`${file}\nname: ${JSON.stringify(all)}\nroles: {${JSON.stringify(all)}: {comand: x}}\n`)
  await page
    .getByLabel('Import a file')
    .setInputFiles({ name: '<img src=x onerror=alert(1)>.yaml', mimeType: 'text/yaml', buffer })
  await page.locator('.problems li').nth(50).waitFor()
  assert.deepEqual(page.refused, [], 'nothing was run, and nothing had to be stopped from running')
  assert.ok(page.url().startsWith(house.url), 'nobody was led away')
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
