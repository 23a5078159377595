// How long a browser takes to draw a curve of ten million points, from the moment its data has come.
import { setTimeout as pause } from 'node:timers/promises'
import { House } from './house.mjs'

const POINTS = 10_000_000
const LIMIT_MS = 200
const ROUNDS = 15
/** To write ten million lines and to read them; what is measured comes after. */
const MADE_WITHIN_MS = 15 * 60_000

const WRITE = `awk 'BEGIN { srand(7); print "step,loss"; for (i = 0; i < ${POINTS}; i++) printf "%d,%.6f\\n", i, 2.3 * exp(-i / 3e6) + rand() * 0.4 }' > /output/metrics.csv`

async function allRead(house, id) {
  const end = Date.now() + MADE_WITHIN_MS
  while (Date.now() < end) {
    const { series } = await house.ask('GET', `/api/v1/jobs/${id}/metrics?name=loss`)
    if (series[0]?.points === POINTS) return
    await pause(500)
  }
  throw new Error('ten million points were not read in time')
}

/** Notes when a frame that something was drawn in has been shown. */
function watchDrawing() {
  const stroke = CanvasRenderingContext2D.prototype.stroke
  window.shownAt = []
  let isWaiting = false
  CanvasRenderingContext2D.prototype.stroke = function (...given) {
    if (!isWaiting) {
      isWaiting = true
      requestAnimationFrame(() =>
        requestAnimationFrame(() => {
          isWaiting = false
          window.shownAt.push(performance.now())
        }),
      )
    }
    return stroke.apply(this, given)
  }
}

/** From the end of the answer to the first frame that shows it: parsing, laying out and drawing, and up to two frames of waiting. */
async function once(page, address) {
  await page.goto('about:blank')
  await page.goto(address)
  await page.getByRole('slider', { name: 'loss', exact: true }).waitFor()
  const took = await page.waitForFunction(() => {
    const answers = performance.getEntriesByType('resource').filter(it => it.name.includes('/metrics/points'))
    const arrived = answers[0]?.responseEnd
    const shown = arrived && window.shownAt.find(it => it > arrived)
    return shown ? shown - arrived : null
  })
  return took.jsonValue()
}

export async function benchCurve(house) {
  const id = await house.line('ten-million', WRITE, { max_duration: '1h' })
  await allRead(house, id)
  const page = await house.inside({ width: 1440, height: 900 })
  await page.addInitScript(watchDrawing)
  const values = []
  for (let round = 0; round < ROUNDS; round += 1) {
    values.push(await once(page, `${house.url}/jobs/${id}/curves?metric=loss&smooth=0.6`))
  }
  values.sort((a, b) => a - b)
  return {
    name: 'a curve of 10,000,000 points drawn, from its data on',
    value: values[Math.floor(values.length / 2)],
    unit: 'ms',
    limit: LIMIT_MS,
    values,
  }
}

if (import.meta.filename === process.argv[1]) {
  const house = await House.open()
  try {
    const { name, value, unit, limit, values } = await benchCurve(house)
    const spread = `${values[0].toFixed(0)} to ${values.at(-1).toFixed(0)}`
    console.log(`${name}: ${value.toFixed(0)} ${unit} (${spread}, ${values.length} rounds; at most ${limit})`)
    if (value > limit) process.exitCode = 1
  } finally {
    await house.close()
  }
}
