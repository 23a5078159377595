import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readUsage } from '../src/pages/job/resources/choices.ts'
import {
  absences,
  type JobUsage,
  limitOf,
  lineOf,
  PANELS,
  type Panel,
  type Subject,
  seriesOf,
  subjectsOf,
} from '../src/usage/panels.ts'
import { boundsOf, piecesOf } from '../src/usage/spans.ts'

const panel = (key: Panel['key']) => PANELS.find(it => it.key === key) as Panel

test('a late reading is bridged, and a long silence is a gap', () => {
  const at = [0, 1, 2, 3, 4, 5, 6, 7]
  const line = lineOf({ mean: [1, null, 2, null, null, null, null, 3] }, at)
  assert.deepEqual(
    [line.x, line.y],
    [
      [0, 2, 4.5, 7],
      [1, 2, Number.NaN, 3],
    ],
  )
  assert.equal(line.low, undefined)
  assert.deepEqual(lineOf({ mean: [null, null] }, [0, 1]).x, [])
  assert.deepEqual(lineOf({ mean: [2], min: [1], max: [4] }, [9]), { x: [9], y: [2], low: [1], high: [4] })
})

const task = (name: string, memory: number | null, absent = {}) => ({
  task: name,
  limits: { cpus: 1, memory_bytes: memory },
  absent,
  curves: { memory_bytes: { mean: [5] } },
})

const usage = (tasks: object[], leftOut = 0) =>
  ({
    job: 'digits@1',
    tasks,
    tasks_left_out: leftOut,
    roles: [
      { role: 'ps', curves: {} },
      { role: 'worker', curves: {} },
    ],
    total: { curves: {} },
  }) as unknown as JobUsage

test('limits of a sum are known only where every part has one and is there', () => {
  const tasks = [task('ps-0', 10), task('worker-0', 20), task('worker-1', 30)]
  assert.deepEqual(subjectsOf(usage(tasks), 'job')[0]?.limits, { cpu_cores: 3, memory_bytes: 60 })
  assert.deepEqual(
    subjectsOf(usage(tasks), 'role').map(it => it.limits.memory_bytes),
    [10, 50],
  )
  assert.deepEqual(subjectsOf(usage(tasks, 1), 'job')[0]?.limits, {})
  assert.deepEqual(subjectsOf(usage([task('a-0', null), task('a-1', 1)]), 'job')[0]?.limits, { cpu_cores: 2 })
})

test('a limit is drawn where all have the same, and once', () => {
  const all = subjectsOf(usage([task('w-0', 20), task('w-1', 20)]), 'task')
  assert.deepEqual(limitOf(panel('memory'), all, String), [{ value: 20, label: '20' }])
  assert.deepEqual(limitOf(panel('memory'), subjectsOf(usage([task('w-0', 20), task('w-1', 30)]), 'task'), String), [])
  assert.deepEqual(limitOf(panel('disk'), all, String), [])
})

test('a colour for each task, dashes for the second figure', () => {
  const subject = (name: string): Subject => ({
    name,
    absent: {},
    limits: {},
    curves: { read_bytes_per_s: { mean: [1] }, written_bytes_per_s: { mean: [2] } },
  })
  const names = (figure: string) => figure.split('_')[0] ?? ''
  const both = seriesOf(panel('disk'), [subject('a'), subject('b')], [0], names)
  assert.deepEqual(
    both.map(it => [it.label, it.tone]),
    [
      ['a read', 0],
      ['a written', 8],
      ['b read', 1],
      ['b written', 9],
    ],
  )
  const one = seriesOf(panel('disk'), [subject('a')], [0], names)
  assert.deepEqual(
    one.map(it => [it.label, it.tone]),
    [
      ['read', 0],
      ['written', 1],
    ],
  )
})

test('each reason is told once, with whose it is; a sum lacks what all its parts lack', () => {
  const why = { reason: 'it was given no accelerator', reason_zh: '没有给它分配加速卡' }
  const tasks = [
    task('ps-0', 1, { accelerator_use: why }),
    task('worker-0', 1, { accelerator_use: why }),
    task('worker-1', 1),
  ]
  const found = absences(panel('acceleratorUse'), subjectsOf(usage(tasks), 'task'))
  assert.deepEqual(found, [{ who: ['ps-0', 'worker-0'], why }])
  assert.deepEqual(absences(panel('acceleratorUse'), subjectsOf(usage(tasks), 'job')), [])
  assert.equal(absences(panel('acceleratorUse'), subjectsOf(usage(tasks), 'role')).length, 1)
})

test('a window ends with the job, begins not before it, and has no more pieces than there are readings', () => {
  const span = { window: 'quarter', range: null, startMs: 1_000_000, endMs: null } as const
  assert.deepEqual(boundsOf(span, 1_060_000), { from: 1_000_000, to: 1_060_000 })
  assert.deepEqual(boundsOf({ ...span, endMs: 3_000_000 }), { from: 2_100_000, to: 3_000_000 })
  assert.deepEqual(boundsOf({ ...span, window: 'all' }, 9_000_000), { from: 1_000_000, to: 9_000_000 })
  assert.deepEqual(boundsOf({ ...span, range: [5.5, 7.2] }), { from: 5, to: 8 })
  assert.deepEqual(
    [
      piecesOf({ from: 0, to: 60_000 }, 2_000),
      piecesOf({ from: 0, to: 9e9 }, 2_000),
      piecesOf({ from: 0, to: 0 }, 2_000),
    ],
    [30, 300, 2],
  )
})

test('whatever stands in an address, something of the resources can be drawn', () => {
  const choices = readUsage(new URLSearchParams('by=planet&over=ages&task=x&from=9&to=3'))
  assert.deepEqual(choices, { by: 'job', window: 'all', task: undefined, range: null })
  assert.equal(readUsage(new URLSearchParams('by=task&task=x')).task, 'x')
})
