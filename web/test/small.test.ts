import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { ago, bytes, duration, took, written } from '../src/format.ts'
import { keysAt, pathAtLine, type Schema, valuesAt } from '../src/pages/create/schema.ts'
import { rows } from '../src/pages/jobs/groups.ts'
import { ownPath, paths } from '../src/paths.ts'
import { en } from '../src/words/en.ts'
import { zh } from '../src/words/zh.ts'

test('sizes and times read as people say them', () => {
  assert.deepEqual([0, 1023, 1024, 1536, 5 << 20, 3 * 2 ** 40].map(bytes), [
    '0 B',
    '1023 B',
    '1 KiB',
    '1.5 KiB',
    '5 MiB',
    '3 TiB',
  ])
  assert.deepEqual(
    [0, 61_000, 3_661_000, 90_000_000].map(ms => duration(ms, en.units)),
    ['0 s', '1:01', '1:01:01', '1 d 01:00'],
  )
  assert.deepEqual(
    [0, 1960, 61_000].map(ms => took(ms, en.units)),
    ['0.0 s', '2.0 s', '1:01'],
  )
  assert.equal(ago(0, 180_000, 'zh-CN'), '3分钟前')
  assert.deepEqual([43_200_000, 90_000, 604_800_000, 1500].map(written), ['12h', '90s', '7d', '1500ms'])
})

test('after the log-in only paths of our own are gone to', () => {
  const bad = [
    null,
    '',
    'jobs',
    '//evil',
    '/\\evil',
    'https://evil',
    '/a b',
    '/login',
    '/\tjobs',
    'javascript:alert(1)',
  ]
  for (const text of bad) assert.equal(ownPath(text), '/', String(text))
  assert.equal(ownPath('/jobs?q=x'), '/jobs?q=x')
})

test('addresses hold any name', () => {
  assert.equal(paths.job('a/b@1', 'logs'), '/jobs/a%2Fb%401/logs')
  assert.equal(paths.volume('data', 'x y/z'), '/volumes/data?path=x%20y%2Fz')
})

test('both languages say something everywhere, and the Chinese is Chinese', () => {
  const same: string[] = []
  const walk = (one: object, other: object, path: string) => {
    for (const [key, value] of Object.entries(one)) {
      const theirs = (other as Record<string, unknown>)[key]
      if (typeof value === 'object') walk(value, theirs as object, `${path}.${key}`)
      else if (typeof value === 'string' && value === theirs) same.push(`${path}.${key}`)
    }
  }
  walk(en, zh, '')
  const mayBeTheSame = ['.app.name', '.create.clusterLocal', '.create.namePlaceholder', '.volumes.kinds.claim']
  assert.deepEqual(same.sort(), mayBeTheSame)
})

test('versions stand behind their newest, and jobs of two people apart', () => {
  const job = (name: string, version: number, owner = 'ann') => ({ name, version, owner }) as never
  const jobs = [job('a', 3), job('b', 1), job('a', 2), job('a', 9, 'bob')]
  assert.deepEqual(
    rows(jobs, true).map(row => row.earlier.length),
    [1, 0, 0],
  )
  assert.equal(rows(jobs, false).length, 4)
  const [first] = rows([job('a', 1), job('a', 3), job('a', 2)], true)
  assert.deepEqual([first?.job.version, ...(first?.earlier.map(it => it.version) ?? [])], [3, 2, 1], 'oldest first')
})

test('the editor offers what the schema has at a place', () => {
  const role: Schema = { properties: { command: {}, gang: { type: 'boolean' }, kind: { enum: ['a', 'b'] } } }
  const schema: Schema = {
    properties: { name: {}, roles: { additionalProperties: { $ref: '#/$defs/Role' } } },
    $defs: { Role: role },
  }
  const lines = 'name: x\nroles:\n  worker:\n    command: y\n    '.split('\n')
  assert.deepEqual(pathAtLine(lines, 4), ['roles', 'worker'])
  assert.deepEqual(pathAtLine(lines, 1), [])
  assert.deepEqual(
    keysAt(schema, ['roles', 'worker']).map(it => it.label),
    ['command', 'gang', 'kind'],
  )
  assert.deepEqual(
    valuesAt(schema, ['roles', 'w', 'gang']).map(it => it.label),
    ['true', 'false'],
  )
  assert.deepEqual(
    valuesAt(schema, ['roles', 'w', 'kind']).map(it => it.label),
    ['a', 'b'],
  )
})

test('whatever happens to a job has a word in the timeline', () => {
  const source = readFileSync('../model/src/timeline.rs', 'utf8')
  const kinds = [...source.matchAll(/^ {4}\("(\w+)",/gm)].map(it => it[1] ?? '')
  assert.ok(kinds.length > 20)
  for (const words of [en, zh]) {
    const unknown = kinds.filter(kind => !(kind in words.job.events) && !(kind in words.states))
    assert.deepEqual(unknown, [])
  }
})

test('of one task nothing is said of each', () => {
  assert.deepEqual([en.create.tasksEach(1), en.create.tasksEach(1200)], ['1 task', '1,200 tasks, each'])
  assert.deepEqual([zh.create.tasksEach(1), zh.create.tasksEach(2)], ['1 个任务', '2 个任务，每个'])
})
