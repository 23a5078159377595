import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EventCutter } from '../src/api/cutter.ts'
import { lookOf, partsOf } from '../src/logs/colours.ts'
import { type Line, PAGE_LINES, Reel } from '../src/logs/reel.ts'
import { rowCount, rowStarts } from '../src/logs/wrap.ts'

const line = (number: number, more: Partial<Line> = {}): Line => ({
  task: 'worker-0',
  attempt: 1,
  stream: 'stdout',
  at_ms: number,
  offset: number * 10,
  end: number * 10 + 9,
  text: `line ${number}`,
  ...more,
})
const lines = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => line(from + index))
const page = (from: number, to: number) => ({
  lines: lines(from, to),
  before: from > 0 ? `before ${from}` : null,
  at_end: from === 0,
})
const texts = (reel: Reel, first: number, last: number) =>
  reel.rowsBetween(first, last).map(({ line: it }) => it?.text ?? '?')

/** A log of so many lines, read backwards. */
function readBack(count: number): Reel {
  const reel = new Reel(true)
  for (let to = count; to > 0; to -= PAGE_LINES) {
    const from = Math.max(0, to - PAGE_LINES)
    reel.prepend(to === count ? { from: 'end' } : { before: `before ${to}` }, page(from, to))
    reel.forgetFarFrom(reel.pages.length - 1, reel.pages.length - 1)
  }
  return reel
}

test('of a million lines few are held, and each has its row all the same', () => {
  const reel = readBack(1_000_000)
  assert.deepEqual([reel.rowCount, reel.earlier], [1_000_000, null])
  assert.ok(reel.linesHeld <= 6 * PAGE_LINES, `${reel.linesHeld}`)
  assert.deepEqual(texts(reel, 999_998, 1_000_002), ['line 999998', 'line 999999'])
  assert.deepEqual(texts(reel, 4_999, 5_001), ['?', '?'])
  const [first, last] = reel.pagesAt(4_999, 5_001)
  assert.deepEqual([first, last], [0, 1])
  for (const index of [first, last]) {
    const found = reel.pages[index]
    if (found) reel.refill(found, page(index * PAGE_LINES, (index + 1) * PAGE_LINES))
  }
  assert.deepEqual(texts(reel, 4_999, 5_001), ['line 4999', 'line 5000'])
})

test('what comes earlier moves what is read by as many rows', () => {
  const reel = new Reel(true)
  reel.prepend({ from: 'end' }, page(50, 60))
  assert.equal(reel.rowsPrepended, 0)
  reel.prepend({ before: 'before 50' }, page(20, 50))
  assert.deepEqual([reel.rowsPrepended, reel.rowCount, texts(reel, 29, 31)], [30, 40, ['line 49', 'line 50']])
})

test('a line without an end stands last until it has one', () => {
  const reel = new Reel(false)
  reel.prepend({ from: 'end' }, { lines: [line(1), line(2, { unfinished: true })], at_end: true })
  assert.deepEqual([reel.lineCount, reel.cursor()], [1, 'worker-0.1:19'])
  reel.setOpen(line(2, { text: '10%', unfinished: true }))
  reel.setOpen(line(3, { text: '20%', unfinished: true }))
  reel.append(line(4, { stream: 'stderr' }))
  assert.deepEqual(texts(reel, 0, 9), ['line 1', 'line 4', '20%'])
  reel.append(line(5, { text: '100%' }))
  assert.deepEqual(texts(reel, 0, 9), ['line 1', 'line 4', '100%'])
})

test('lines that come live fill pages, and how far each task was read is known', () => {
  const reel = new Reel(false)
  for (let number = 0; number < PAGE_LINES + 10; number += 1) reel.append(line(number))
  reel.append(line(7, { task: 'ps-0', attempt: 2 }))
  assert.deepEqual(
    reel.pages.map(it => it.count),
    [PAGE_LINES, 11],
  )
  assert.equal(reel.cursor(), `worker-0.1:${(PAGE_LINES + 9) * 10 + 9},ps-0.2:79`)
})

test('a moment is found among pages that hold their lines and pages that do not', () => {
  const reel = readBack(100_000)
  assert.deepEqual([reel.rowAtTime(0), reel.rowAtTime(99_998), reel.rowAtTime(200_000)], [0, 99_998, 100_000])
  assert.equal(reel.rowAtTime(7_500), 5_000, 'as near as is known until its page is there')
})

test('long lines take several rows, and wide letters two columns each', () => {
  const reel = new Reel(true)
  reel.prepend({ from: 'end' }, { lines: [line(1, { text: 'abcdefg' }), line(2, { text: '训练完成' })], at_end: true })
  reel.measure(it => rowCount(it.text, 4))
  assert.deepEqual(
    reel.rowsBetween(0, 9).map(it => [it.line?.text, it.part]),
    [
      ['abcdefg', 0],
      ['abcdefg', 1],
      ['训练完成', 0],
      ['训练完成', 1],
    ],
  )
  assert.deepEqual([rowStarts('训练完成', 5), rowStarts('a😀b', 3), rowStarts('', 3)], [[0, 2], [0, 3], [0]])
})

test('colours of a terminal and what was looked for are parts of a line', () => {
  const red = line(1, {
    text: '😀 loss nan!',
    colours: [
      { at: 2, sgr: '1;31' },
      { at: 6, sgr: '' },
    ],
    matches: [[5, 10]],
  })
  assert.deepEqual(
    partsOf(red, 0, red.text.length).map(it => [it.text, it.className, it.isMatch]),
    [
      ['😀 ', '', false],
      ['los', 'sgr-bold sgr-1', false],
      ['s', 'sgr-bold sgr-1', true],
      [' nan', '', true],
      ['!', '', false],
    ],
  )
  assert.deepEqual(['31', '0;1', '38;5;196', '48;2;0;0;255', '92', '38;5', 'x'].map(lookOf), [
    'sgr-1',
    'sgr-bold',
    'sgr-1',
    'sgr-on-4',
    'sgr-2 sgr-bright',
    '',
    '',
  ])
})

test('events are the same however their bytes are cut', () => {
  const whole = 'event: log\nid: a:1\ndata: {"x":1}\n\n: keep alive\n\nevent: end\nid: a:2\ndata: {}\n\n'
  for (let at = 0; at <= whole.length; at += 1) {
    const cutter = new EventCutter()
    const events = [...cutter.feed(whole.slice(0, at)), ...cutter.feed(whole.slice(at))]
    assert.deepEqual(
      events.map(it => `${it.kind} ${it.id}`),
      ['log a:1', 'end a:2'],
    )
  }
})
