// What the console costs whoever looks at it, measured in the browser. Ends with promises, kept or broken.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { benchCurve } from './bench-curve.mjs'
import { House, settled } from './house.mjs'

const ROUNDS = Math.max(5, Number(process.env.ROUNDS) || 7)
const JOBS = 100_000
const LINES = 1_000_000
const PATIENCE_MS = 180_000
const SCROLL_MS = 3_000

const bench = join(import.meta.dirname, '../../bench')

/** Rows of the database as the server itself writes them, a hundred thousand times. */
async function manyJobs(house) {
  const id = await house.line('digits-0', 'true', { tags: ['tag-0'], description: 'a job like many' })
  await house.state(id, 'succeeded')
  await house.halt()
  const script = `import big_list, sys; big_list.copy_rows(sys.argv[1], sys.argv[2], ${JOBS})`
  const made = spawnSync('python3', ['-c', script, join(house.data, 'store.db'), id], { cwd: bench, encoding: 'utf8' })
  if (made.status !== 0) throw new Error(made.stderr)
  await house.start()
}

async function longLog(house) {
  const id = await house.line('long', `seq 1 ${LINES} | sed "s/^/epoch 1 step /; s/$/ loss 0.1234 accuracy 0.98/"`)
  const end = Date.now() + PATIENCE_MS
  while ((await house.job(id)).state !== 'succeeded') {
    if (Date.now() > end) throw new Error('the long log was not written in time')
    await new Promise(done => setTimeout(done, 200))
  }
  return id
}

/** Kilobytes that come before the list of jobs shows, as they come: compressed. */
async function firstLoad(house) {
  const page = await house.inside()
  await page.goto(`${house.url}/jobs`)
  await page.getByRole('row').nth(1).waitFor()
  await settled(page)
  const bytes = await page.evaluate(() =>
    [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
      .filter(it => !new URL(it.name).pathname.startsWith('/api/'))
      .reduce((sum, it) => sum + it.encodedBodySize, 0),
  )
  await page.context().close()
  return bytes / 1024
}

/** From the last byte of the list until its rows are drawn and the page hears a click. */
async function listDrawn(house, query) {
  const page = await house.inside()
  await page.addInitScript(() => {
    const look = new MutationObserver(() => {
      if (!document.querySelector('table.jobs tbody tr')) return
      look.disconnect()
      // The frame after the one that draws them: nothing is left to do.
      requestAnimationFrame(() =>
        setTimeout(() => {
          window.drawnAt = performance.now()
        }),
      )
    })
    look.observe(document, { childList: true, subtree: true })
  })
  await page.goto(`${house.url}/jobs${query}`)
  const ms = await page.waitForFunction(() => {
    const answers = performance.getEntriesByType('resource').filter(it => /\/api\/v1\/jobs\?/.test(it.name))
    return window.drawnAt && answers[0] && window.drawnAt - answers[0].responseEnd
  })
  const found = await ms.jsonValue()
  await page.context().close()
  return found
}

/** Frames a second while the log is moved all the way, and by the wheel. */
async function scrolled(page, way) {
  return page.getByRole('region', { name: 'Log lines' }).evaluate(
    (box, [way, ms]) =>
      new Promise(done => {
        const began = performance.now()
        const all = box.scrollHeight - box.clientHeight
        let frames = 0
        const step = () => {
          const part = Math.min(1, (performance.now() - began) / ms)
          frames += 1
          box.scrollTop = way === 'wheel' ? all / 2 + frames * 120 : all * (way === 'up' ? 1 - part : part)
          if (part < 1) requestAnimationFrame(step)
          else done((frames * 1000) / (performance.now() - began))
        }
        requestAnimationFrame(step)
      }),
    [way, SCROLL_MS],
  )
}

async function logFrames(house) {
  const id = await longLog(house)
  const page = await house.inside()
  page.setDefaultTimeout(PATIENCE_MS)
  const began = Date.now()
  await page.goto(`${house.url}/jobs/${id}/logs?lines=all`)
  await page.getByText(`${LINES.toLocaleString('en')} lines`).waitFor()
  const read = (Date.now() - began) / 1000
  const values = { up: [], down: [], wheel: [] }
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const way of Object.keys(values)) values[way].push(await scrolled(page, way))
  }
  const heap = await page.evaluate(() => performance.memory?.usedJSHeapSize ?? 0)
  await page.context().close()
  return { ...values, read, heap }
}

const times = async measure => {
  const values = []
  for (let round = 0; round < ROUNDS; round += 1) values.push(await measure())
  return values
}

function told({ what, unit, values, most, least }) {
  const sorted = [...values].sort((a, b) => a - b)
  const median = sorted[Math.floor(sorted.length / 2)]
  const isKept = most === undefined ? median >= least : median <= most
  const limit = most === undefined ? `at least ${least}` : `at most ${most}`
  const spread = `${sorted[0].toFixed(1)}–${sorted.at(-1).toFixed(1)}, ${values.length} rounds`
  console.log(`${isKept ? 'kept  ' : 'BROKEN'}  ${what}: ${median.toFixed(1)} ${unit} (${spread}; ${limit})`)
  return isKept
}

async function listPromises(house) {
  await manyJobs(house)
  const promises = [
    { what: 'first load of the job list', unit: 'KiB gzipped', values: await times(() => firstLoad(house)), most: 350 },
  ]
  for (const query of ['', '?sort=name', '?q=digits-12', '?state=failed&versions=grouped']) {
    const what = `list of ${JOBS.toLocaleString('en')} jobs${query && ` (${query})`}, from data to interactive`
    promises.push({ what, unit: 'ms', values: await times(() => listDrawn(house, query)), most: 300 })
  }
  return promises
}

async function logPromises(house) {
  const log = await logFrames(house)
  console.log(
    `the whole log was read in ${log.read.toFixed(1)} s; the page then held ${(log.heap / 1e6).toFixed(0)} MB`,
  )
  return ['up', 'down', 'wheel'].map(way => {
    const what = `log of ${LINES.toLocaleString('en')} lines, scrolled ${way}`
    return { what, unit: 'frames/s', values: log[way], least: 50 }
  })
}

async function curvePromises(house) {
  const { name: what, unit, values, limit: most } = await benchCurve(house)
  return [{ what, unit, values, most }]
}

const CASES = { list: listPromises, log: logPromises, curve: curvePromises }
const wanted = process.argv.slice(2)
const house = await House.open()
try {
  const promises = []
  for (const [name, measure] of Object.entries(CASES)) {
    if (wanted.length === 0 || wanted.includes(name)) promises.push(...(await measure(house)))
  }
  process.exitCode = promises.map(told).every(Boolean) ? 0 : 1
} finally {
  await house.close()
}
