import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ComparedRow, Lineage } from '../src/api/compare.ts'
import { rowName, rowValue } from '../src/pages/compare/named.ts'
import { readPatch } from '../src/pages/compare/patch.ts'
import { withDirection } from '../src/pages/compare/useCompared.ts'
import { branches } from '../src/pages/job/lineage.ts'
import { en } from '../src/words/en.ts'
import { zh } from '../src/words/zh.ts'

const PATCH = `--- a/train.py
+++ b/train.py
@@ -1,3 +1,4 @@
 import six
--- a/this is a removed line
++++ b/and this an added one
+@@ -1,1 +1,1 @@
 end
@@ -9,1 +10,1 @@
-old
\\ No newline at end of file
+new
\\ No newline at end of file
--- /dev/null
+++ b/new.txt
@@ -0,0 +1,1 @@
+<script>
--- a/gone.txt
+++ /dev/null
@@ -1,1 +0,0 @@
-bye
model.bin is changed, and not by its lines
`

test('a patch is read by its numbers, whatever its lines look like', () => {
  const files = readPatch(PATCH)
  assert.deepEqual(
    files.map(it => [it.name || it.note, it.added, it.removed]),
    [
      ['train.py', 3, 2],
      ['new.txt', 1, 0],
      ['gone.txt', 0, 1],
      ['model.bin is changed, and not by its lines', 0, 0],
    ],
  )
  const lines = files[0]?.hunks[0]?.lines.map(it => [it.kind, it.before, it.after, it.text])
  assert.deepEqual(lines, [
    ['same', 1, 1, 'import six'],
    ['removed', 2, null, '-- a/this is a removed line'],
    ['added', null, 2, '+++ b/and this an added one'],
    ['added', null, 3, '@@ -1,1 +1,1 @@'],
    ['same', 3, 4, 'end'],
  ])
  assert.equal(files[0]?.hunks.length, 2)
  assert.deepEqual(readPatch(''), [])
})

test('what somebody says about one metric leaves the others as they were', () => {
  const shown = [
    { name: 'loss', direction: 'lower' as const, guessed: true },
    { name: 'speed', direction: null, guessed: true },
    { name: 'gain', direction: 'higher' as const, guessed: false },
  ]
  assert.equal(withDirection(shown, 'speed', 'higher'), 'loss,speed:higher,gain:higher')
})

test('rows are named in the language of the page, and people’s own names are left alone', () => {
  const row = (kind: string, name: string) => ({ kind, name, values: [], differs: true }) as unknown as ComparedRow
  assert.deepEqual(
    [row('usage', 'sent'), row('resources', 'worker shared memory'), row('param', 'sent'), row('code', 'a b.py')].map(
      it => rowName(it, zh),
    ),
    ['网络发送', 'worker 共享内存', 'sent', 'a b.py'],
  )
  assert.equal(rowName(row('usage', 'peak memory'), en), 'peak memory')
  assert.equal(rowValue(row('ending', 'state'), 'failed', zh), '错误')
  assert.equal(rowValue(row('param', 'x'), 'there', zh), 'there')
})

test('a lineage goes both ways, and a circle has an end', () => {
  const node = (id: string) => ({ id, kind: 'job' as const, label: id })
  const edge = (from: string, to: string) => ({ from, to, how: 'output' })
  const lineage: Lineage = {
    job: 'b',
    nodes: ['a', 'b', 'c'].map(node),
    edges: [edge('a', 'b'), edge('b', 'c'), edge('c', 'a')],
  }
  const shown = (way: 'back' | 'forward') => {
    const text = (all: ReturnType<typeof branches>): string =>
      all.map(it => `${it.node.id}${it.isAgain ? '!' : ''}(${text(it.branches)})`).join(' ')
    return text(branches(lineage, way))
  }
  assert.deepEqual([shown('back'), shown('forward')], ['a(c(b!()))', 'c(a(b!()))'])
})
