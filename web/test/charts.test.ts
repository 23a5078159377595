import assert from 'node:assert/strict'
import { test } from 'node:test'
import { exactNumber, numbers, sizes, spans, steps } from '../src/charts/axes.ts'
import { zoomed } from '../src/charts/hands.ts'
import { extentX, extentY, indexFrom, nearest, seen } from '../src/charts/line.ts'
import { layOut, pxX, pxY, type Series, type Sheet } from '../src/charts/picture.ts'
import { neighbour, pointsAt, snap } from '../src/charts/point.ts'
import { linear, logarithmic, roomy } from '../src/charts/scale.ts'
import { smooth } from '../src/charts/smooth.ts'
import { byteTicks, logTicks, numberTicks, spanTicks, timeTicks, wholeTicks } from '../src/charts/ticks.ts'
import { en } from '../src/words/en.ts'

const round = (values: number[]) => values.map(it => Number(it.toFixed(4)))

test('smoothing begins where the curve does, and is a mean that forgets', () => {
  assert.deepEqual(
    smooth([5, 5, 5], 0.9).map(it => Number(it.toFixed(9))),
    [5, 5, 5],
  )
  assert.deepEqual(round(smooth([1, 0, 0], 0.5)), [1, 0.3333, 0.1429])
  assert.deepEqual(smooth([1, 2], 0), [1, 2])
})

test('what is no number stays what it is, and nothing after it suffers', () => {
  const [first, odd, infinite, last] = smooth([1, Number.NaN, Number.POSITIVE_INFINITY, 0], 0.5)
  assert.deepEqual([first, infinite], [1, Number.POSITIVE_INFINITY])
  assert.ok(Number.isNaN(odd))
  assert.equal(last?.toFixed(4), '0.3333')
})

test('marks stand at numbers that people count in', () => {
  assert.deepEqual(numberTicks(0, 1, 5), [0, 0.2, 0.4, 0.6, 0.8, 1])
  assert.deepEqual(numberTicks(-0.3, 0.31, 7), [-0.3, -0.2, -0.1, 0, 0.1, 0.2, 0.3])
  assert.deepEqual(numberTicks(2, 2, 5), [2])
  assert.deepEqual(wholeTicks(0, 3, 10), [0, 1, 2, 3])
  assert.deepEqual(
    byteTicks(0, 900 * 1024, 4),
    [0, 256, 512, 768].map(it => it * 1024),
  )
  assert.deepEqual(logTicks(0.5, 2000, 3), [1, 100])
  assert.deepEqual(logTicks(0.9, 110, 8), [1, 2, 5, 10, 20, 50, 100])
  assert.deepEqual(spanTicks(0, 100_000, 4), [0, 30_000, 60_000, 90_000])
})

test('marks of time stand at full hours of the reader', () => {
  const from = new Date(2026, 2, 4, 9, 40).getTime()
  const ticks = timeTicks(from, from + 6 * 3_600_000, 6).map(it => new Date(it))
  assert.deepEqual(
    ticks.map(it => it.getHours()),
    [10, 11, 12, 13, 14, 15],
  )
  assert.ok(ticks.every(it => it.getMinutes() === 0))
})

test('an axis writes as much of a number as tells its marks apart', () => {
  assert.deepEqual(
    [0.25, 0.3].map(it => numbers.mark(it, 0.05)),
    ['0.25', '0.3'],
  )
  assert.equal(numbers.mark(0.00002, 0.00001), '2e-5')
  assert.deepEqual(
    [20_000, 1_500_000].map(it => steps('en').mark(it, 500_000)),
    ['20K', '1.5M'],
  )
  assert.equal(steps('zh-CN').mark(20_000, 10_000), '2万')
  assert.equal(steps('en').mark(1_000_100, 100), '1,000,100')
  assert.equal(sizes('/s').exact(1536), '1.5 KiB/s')
  assert.deepEqual(
    [30_000, 3_600_000].map(it => spans(en.units).mark(it, 30_000)),
    ['30 s', '1:00:00'],
  )
  assert.deepEqual([0.123456789, 12, 3e-7, 0].map(exactNumber), ['0.1234568', '12', '3.00000e-7', '0'])
})

test('a scale and its way back', () => {
  const scale = linear([10, 20])
  assert.deepEqual([scale.at(15), scale.value(0.25)], [0.5, 12.5])
  const log = logarithmic([1, 100])
  assert.equal(log.at(10), 0.5)
  assert.ok(Number.isNaN(log.at(0)))
  assert.deepEqual(roomy([0, 100], false), [0, 106])
  assert.deepEqual(roomy([3, 3], false), [2.7, 3.3])
})

test('places are found in lines, and what is just outside is drawn to', () => {
  const x = [0, 10, 10, 20, 30]
  assert.deepEqual([indexFrom(x, 10), indexFrom(x, 11), indexFrom(x, 99)], [1, 3, 5])
  assert.deepEqual([nearest(x, 14), nearest(x, 16), nearest(x, -5), nearest([], 1)], [2, 3, 0, -1])
  assert.deepEqual(seen({ x, y: x }, [9, 21]), [0, 5])
  assert.deepEqual(seen({ x, y: x }, [30, 40]), [3, 5])
  assert.deepEqual(
    extentX([
      { x: [3, 4], y: [0, 0] },
      { x: [], y: [], odd: [{ x: 9, what: 'NaN' }] },
    ]),
    [3, 9],
  )
  assert.equal(extentX([{ x: [], y: [] }]), null)
})

test('the y axis is as high as what is seen, with the spread of buckets, and knows no zero where it is logarithmic', () => {
  const line = { x: [0, 1, 2], y: [-1, 5, 100], low: [-2, 4, 90], high: [0, 6, 110] }
  assert.deepEqual(extentY([line], [0, 1], false), [-2, 6])
  assert.deepEqual(extentY([line], [0, 1], true), [4, 6])
  assert.equal(extentY([{ x: [0], y: [Number.NaN] }], [0, 1], false), null)
})

const series = (key: string, x: number[], y = x): Series => ({ key, label: key, tone: 0, line: { x, y } })

test('the cross-hair stands on points, and arrow keys go from one to the next', () => {
  const all = [series('a', [0, 10, 20]), series('b', [5, 15])]
  assert.equal(snap(all, 6, [0, 20]), 5)
  assert.equal(snap(all, 2, [5, 20]), 5)
  assert.equal(neighbour(all, 5, 1, [0, 20]), 10)
  assert.equal(neighbour(all, 5, -1, [0, 20]), 0)
  assert.equal(neighbour(all, null, 1, [0, 20]), 0)
  assert.equal(neighbour(all, null, -1, [0, 20]), 20)
  assert.equal(neighbour(all, 20, 1, [0, 20]), null)
  assert.deepEqual(
    pointsAt(all, 10, [0, 20], 3).map(it => [it.series.key, it.index]),
    [['a', 1]],
  )
})

test('zooming out as far as there is anything shows everything', () => {
  assert.deepEqual(zoomed([40, 60], 50, 0.5, null), [45, 55])
  assert.equal(zoomed([40, 60], 50, 9, [0, 100]), null)
})

test('a picture has its corners where the axes have their ends', () => {
  const sheet: Sheet = {
    series: [series('a', [0, 100], [0, 1])],
    x: numbers,
    y: numbers,
    log: false,
    fromZero: true,
    range: [0, 100],
    limits: [{ value: 2, label: 'limit' }],
    labelPx: 0,
  }
  const picture = layOut(sheet, { width: 400, height: 200, density: 2 }, text => text.length * 6)
  assert.equal(pxX(picture, 0), picture.left)
  assert.equal(pxX(picture, 100), picture.right)
  assert.equal(pxY(picture, 0), picture.bottom)
  assert.ok(pxY(picture, 2) > picture.top, 'the limit is in the picture')
  assert.equal(layOut({ ...sheet, series: [], limits: [] }, picture, () => 0).y, null)
})
