// What others wrote, in every place where it is shown.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { House, settled } from './house.mjs'
import { PAYLOADS } from './payloads.mjs'
import { settle } from './town.mjs'

let house
let jobs
let hostile
before(async () => {
  house = await House.open()
  jobs = await settle(house)
  hostile = await hostileJob()
  await house.state(hostile, 'failed')
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

/** A dataset and an algorithm with every one of them wherever somebody may say something. */
async function hostileData() {
  const ALL = PAYLOADS.join(' ')
  const spoken = PAYLOADS.slice(0, 8)
  const dataset = { name: 'hostile', at: 'mnist:', description: ALL.slice(0, 200), note: ALL.slice(0, 200) }
  await house.ask('POST', '/api/v1/datasets', JSON.stringify(dataset))
  const params = spoken.map((it, index) => [`p${index}`, { type: 'text', default: it, description: it, choices: [it] }])
  const algorithm = {
    name: 'hostile',
    description: ALL.slice(0, 200),
    image: 'python',
    command: ['python3', ALL],
    inputs: { data: { description: spoken.join(' ') } },
    outputs: { train: { description: spoken.join(' ') } },
    params: Object.fromEntries(params),
  }
  await house.ask('POST', '/api/v1/algorithms', JSON.stringify(algorithm))
}

async function visit(page, path) {
  await page.goto(house.url + path)
  await page.getByRole('heading', { level: 1 }).waitFor()
  await settled(page)
}

function harmless(page) {
  assert.deepEqual(page.refused, [], 'nothing was run, and nothing had to be stopped from running')
  assert.ok(page.url().startsWith(house.url), 'nobody was led away')
}

/** Those that were nowhere to be seen. */
const missing = (seen, shown = it => it) => PAYLOADS.filter(it => !seen.has(shown(it)))

test(`${PAYLOADS.length} payloads from everywhere that others write are shown and never run`, async () => {
  assert.ok(new Set(PAYLOADS).size >= 100)
  const page = await house.inside()
  for (const tab of ['', '/resources', '/services', '/versions', ...SPEC_VIEWS, '/why'])
    await visit(page, `/jobs/${hostile}${tab}`)
  for (const path of ['/', '/jobs', `/compare?jobs=${hostile},${jobs.first}`]) await visit(page, path)
  for (const door of ['file', 'pro', 'simple']) await visit(page, `/create?from=${hostile}&door=${door}`)
  harmless(page)
})

test('payloads in what people say of datasets and algorithms are words and no more', async () => {
  await hostileData()
  const page = await house.inside()
  for (const kind of ['datasets', 'algorithms'])
    for (const name of ['', '/hostile']) await visit(page, `/${kind}${name}`)
  for (const door of ['simple', 'pro', 'file']) await visit(page, `/create?algorithm=hostile@1&door=${door}`)
  await visit(page, '/algorithms/hostile?write=1')
  harmless(page)
})

test('every payload in a log is drawn, in one row and wrapped, and none is run', async () => {
  const page = await house.inside()
  for (const look of ['', '&wrap=1', '&lanes=1', '&find=alert']) {
    await visit(page, `/jobs/${hostile}/logs?lines=all${look}`)
    const seen = await scrolledThrough(page)
    if (look === '') assert.deepEqual(missing(seen), [])
    assert.ok(seen.size >= PAYLOADS.length / 2, `${seen.size} rows with ${look}`)
  }
  harmless(page)
})

/** Every row of the log: only what can be seen is in the page. */
async function scrolledThrough(page) {
  const lines = page.getByRole('region', { name: 'Log lines' }).first()
  await lines.locator('.log-row .text').first().waitFor()
  const all = await lines.evaluate(async box => {
    const drawn = () => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))
    const seen = new Set()
    for (let top = 0; top <= box.scrollHeight; top += box.clientHeight / 2) {
      box.scrollTop = top
      await drawn()
      for (const row of box.querySelectorAll('.log-row .text')) seen.add(row.textContent)
    }
    return [...seen]
  })
  return new Set(all)
}

test('every payload in the name of a file, and in the file, is drawn and never run', async () => {
  const page = await house.inside()
  await visit(page, `/jobs/${hostile}/files?path=worker-0`)
  await page.getByRole('button', { name: 'metrics.jsonl', exact: true }).waitFor()
  const names = await page.locator('.file-name').evaluateAll(all => all.map(it => it.textContent))
  assert.deepEqual(missing(new Set(names), fileName), [])
  for (const name of ['x.svg', 'x.html', 'x.json']) await visit(page, opened(name))
  for (const name of new Set(PAYLOADS.map(fileName))) {
    await page.evaluate(path => history.pushState(null, '', path), opened(name))
    const shows = text => document.querySelector('main .code-block pre')?.textContent === text
    await page.waitForFunction(shows, name).catch(() => assert.fail(`the file ${name} is not shown`))
  }
  harmless(page)
})

const opened = name => `/jobs/${hostile}/files?file=${encodeURIComponent(`worker-0/${name}`)}`

test('every payload in the name of a metric has its chart drawn, and none is run', async () => {
  const page = await house.inside()
  await visit(page, `/jobs/${hostile}/curves`)
  await page.locator('.curve-card').first().waitFor()
  const more = page.getByRole('button', { name: /more charts?$/ })
  while ((await more.count()) > 0) await more.click()
  const cards = page.locator('.curve-card')
  const names = new Set(await cards.locator('h3').evaluateAll(all => all.map(it => it.textContent)))
  assert.deepEqual(missing(names), [])
  // A chart is drawn when it is looked at.
  for (const card of await cards.all()) {
    await card.scrollIntoViewIfNeeded()
    await card.locator('canvas').first().waitFor()
  }
  const first = PAYLOADS[0]
  await visit(page, `/jobs/${hostile}/curves?metric=${encodeURIComponent(first)}`)
  await page.getByRole('region', { name: first, exact: true }).waitFor()
  await visit(page, `/jobs/${hostile}/versions?metric=${encodeURIComponent(first)}`)
  harmless(page)
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
        `/datasets/${text}`,
        `/datasets?q=${text}&sort=${text}`,
        `/algorithms/${text}?version=${text}`,
        `/create?algorithm=${text}&input=${text}`,
        `/create?input=${text}`,
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
  harmless(page)
})
