import assert from 'node:assert/strict'
import { test } from 'node:test'
import { News, seriesId } from '../src/curves/news.ts'
import { type CurveNews, type CurveView, joined, lineOf, type MetricNumber } from '../src/curves/pieces.ts'
import type { CurveJob, SeriesSummary } from '../src/curves/useCurves.ts'
import { read } from '../src/pages/job/curves/choices.ts'
import { labelsOf, metricsOf, outcome, sectionsOf } from '../src/pages/job/curves/metrics.ts'

const head = { task: 'worker-0', attempt: 1, source: 'output', group: '', name: 'loss' } as const
const point = (step: number, value: MetricNumber) => ({ step, at_ms: 1000 + step * 10, value })
const curve = (points: [number, MetricNumber][]): CurveView => ({ ...head, points: points.map(it => point(...it)) })
const bySteps = { kind: 'step', startMs: 1000 } as const

test('NaN and infinity are gaps in the line, with what they are beside it', () => {
  const line = lineOf(
    curve([
      [0, 1],
      [1, 'NaN'],
      [2, '-Infinity'],
      [3, 0.5],
    ]),
    bySteps,
  )
  assert.deepEqual(line.y, [1, Number.NaN, Number.NaN, 0.5])
  assert.deepEqual(line.odd, [
    { x: 1, what: 'NaN' },
    { x: 2, what: '−∞' },
  ])
})

test('a curve is drawn over steps, over time, or over the time since the job began', () => {
  const points = curve([
    [1, 5],
    [2, 6],
  ])
  const places = (kind: 'step' | 'time' | 'span') => lineOf(points, { kind, startMs: 1000 }).x
  assert.deepEqual(
    [places('step'), places('time'), places('span')],
    [
      [1, 2],
      [1010, 1020],
      [10, 20],
    ],
  )
})

test('a bucket stands for its points: from the first to the last, with their spread', () => {
  const buckets = [
    { count: 100, not_finite: 0, first: point(0, 9), last: point(99, 4), least: 3, greatest: 9 },
    { count: 100, not_finite: 1, first: point(100, 4), last: point(199, 'Infinity'), least: 2, greatest: 5 },
    { count: 2, not_finite: 2, first: point(200, 'NaN'), last: point(201, 'NaN'), least: null, greatest: null },
  ]
  const line = lineOf({ ...head, buckets }, bySteps)
  assert.deepEqual(line.x, [0, 99, 100, 199, 200, 201])
  assert.deepEqual(line.y, [9, 4, 4, 4, Number.NaN, Number.NaN])
  assert.deepEqual(line.low, [3, 3, 2, 2, Number.NaN, Number.NaN])
  assert.deepEqual(line.high, [9, 9, 5, 5, Number.NaN, Number.NaN])
  assert.deepEqual(line.count, [100, 100, 100, 100, 2, 2])
  assert.deepEqual(line.odd, [
    { x: 199, what: '∞' },
    { x: 201, what: 'NaN' },
  ])
})

test('lines are put one behind the other, and a clock that was set back does no harm', () => {
  const one = lineOf(
    { ...head, buckets: [{ count: 9, not_finite: 0, first: point(0, 9), last: point(8, 4), least: 3, greatest: 9 }] },
    bySteps,
  )
  const two = joined([
    one,
    lineOf(
      curve([
        [10, 2],
        [9, 3],
      ]),
      bySteps,
    ),
  ])
  assert.deepEqual(two, {
    x: [0, 8, 9, 10],
    y: [9, 4, 3, 2],
    low: [3, 3, 3, 2],
    high: [9, 9, 3, 2],
    count: [9, 9, 1, 1],
    odd: [],
  })
})

test('what came is put behind a picture only where it fits on', () => {
  const news = new News()
  const id = seriesId(head)
  const came = (from: number, to: number, anew = false): CurveNews => ({
    ...curve(Array.from({ length: to - from }, (_, at) => [from + at, 1])),
    total: to,
    anew,
  })
  news.take([came(0, 10)])
  assert.deepEqual(news.after(id, 10, 1), [], 'the picture has it all')
  assert.equal(news.after(id, 4, 1), null, 'half of it is in the picture')
  news.take([came(10, 12), came(12, 15)])
  assert.equal(news.after(id, 10, 1)?.length, 2)
  assert.equal(news.after(id, 12, 1)?.length, 1)
  assert.equal(news.after(id, 11, 1), null)
  news.take([came(0, 3, true)], 100)
  assert.equal(news.after(id, 15, 99), null, 'points were taken back after the picture was fetched')
  assert.deepEqual(news.after(id, 3, 101), [])
  assert.equal(news.named('loss').length, 1)
})

const job = (id: string): CurveJob => ({ id, label: `${id}@1`, isLive: false, startMs: 0 })
const summary = (name: string, more: Partial<SeriesSummary> = {}) => ({ ...head, name, ...more }) as SeriesSummary
const found = (names: [string, 'lower' | 'higher' | undefined][]) =>
  names.map(([name, better]) => ({ job: job('a'), series: summary(name, { better }) }))
const all = { task: undefined, group: undefined, find: '' }

test('losses stand first, then what should grow, then the rest; by what is before the slash', () => {
  const metrics = metricsOf(
    found([
      ['lr', undefined],
      ['f1', 'higher'],
      ['train/loss', 'lower'],
      ['accuracy', 'higher'],
      ['loss', 'lower'],
    ]),
    all,
  )
  assert.deepEqual(
    metrics.map(it => it.name),
    ['loss', 'train/loss', 'accuracy', 'f1', 'lr'],
  )
  assert.deepEqual(
    sectionsOf(metrics).map(it => it.title),
    ['', 'train'],
  )
  assert.deepEqual(
    metricsOf(
      found([
        ['loss', 'lower'],
        ['lr', undefined],
      ]),
      { ...all, find: 'LR' },
    ).map(it => it.name),
    ['lr'],
  )
  assert.equal(metricsOf(found([['loss', 'lower']]), { ...all, task: 'ps-0' }).length, 0)
})

test('a line is called by what tells it from the others', () => {
  const line = (id: string, task: string, group = '', source = 'output') => ({ job: job(id), task, group, source })
  assert.deepEqual(labelsOf([line('a', 'worker-0')], 'printed'), ['worker-0'])
  assert.deepEqual(labelsOf([line('a', 'worker-0'), line('b', 'worker-0')], 'printed'), ['a@1', 'b@1'])
  assert.deepEqual(labelsOf([line('a', 'w-0', 'logs'), line('a', 'w-1')], 'printed'), ['w-0 · logs', 'w-1 · printed'])
  assert.deepEqual(labelsOf([line('a', 'w-0', '', 'file'), line('a', 'w-0')], 'printed'), ['file', 'output'])
})

test('attempts of a task come to one outcome', () => {
  const one = summary('loss', {
    attempt: 1,
    last: 9,
    last_step: 5,
    least: { value: 1, step: 2 },
    greatest: null,
    not_finite: 1,
    points: 5,
  })
  const two = summary('loss', {
    attempt: 2,
    last: 'NaN',
    last_step: 8,
    least: { value: 3, step: 7 },
    greatest: null,
    not_finite: 2,
    points: 3,
  })
  const come = outcome([two, one])
  assert.deepEqual(
    [come.last, come.least, come.greatest, come.notFinite, come.points],
    [{ value: 'NaN', step: 8 }, { value: 1, step: 2 }, undefined, 3, 8],
  )
})

test('whatever stands in an address, something can be drawn', () => {
  const choices = read(new URLSearchParams('x=sideways&smooth=7&with=2,x,2,-1&from=9&to=3&group=-'))
  assert.deepEqual(
    [choices.x, choices.smoothing, choices.versions, choices.range, choices.group],
    ['step', 0.99, [2], null, ''],
  )
  assert.deepEqual(read(new URLSearchParams('from=-5&to=10')).range, [-5, 10])
})
