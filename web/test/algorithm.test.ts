import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Algorithm } from '../src/api/algorithms.ts'
import { textToChange } from '../src/pages/algorithms/template.ts'
import { acceptedBy, codeOf, limitsOf, runsOn } from '../src/pages/algorithms/told.ts'
import * as form from '../src/pages/create/algorithm.ts'
import { anew, beginningOf, keyOf } from '../src/pages/create/beginning.ts'
import { draftOf, newDraft, setField, textOf } from '../src/pages/create/draft.ts'
import * as simple from '../src/pages/create/simple.ts'
import { suggestedName } from '../src/pages/create/suggest.ts'
import { algorithmIn, datasetsIn } from '../src/pages/job/madeWith.ts'
import { placeOf, versionedOf } from '../src/pages/pick/place.ts'
import { type Column, found, sorted } from '../src/ui/list.ts'
import { en } from '../src/words/en.ts'

const mlp: Algorithm = {
  name: 'mnist-mlp',
  framework: 'tensorflow',
  code: { git: 'https://example.org/me/mnist.git', ref: 'main' },
  command: 'python3 train.py',
  inputs: { base: { accepts: ['place'] }, data: { argument: '--data_url' } },
  params: {
    lr: { type: 'number', default: 0.1, min: 0.0001, max: 1 },
    augment: { type: 'boolean', default: false, required: false },
  },
  custom_params: true,
  needs: { accelerators: ['none', 'A100'], accelerators_max: 8, tasks_max: 1 },
}

test('a version of something is told from a path, a volume and an address', () => {
  const kinds = (text: string) => [versionedOf(text)?.version ?? null, placeOf(text)?.path ?? null]
  assert.deepEqual(kinds('mnist@3'), ['3', null])
  assert.deepEqual(kinds('mnist@latest'), ['latest', null])
  for (const wrong of ['mnist@0', 'mnist@03', '@1', 'a b@1', 'mnist@newest'])
    assert.equal(versionedOf(wrong), null, wrong)
  assert.deepEqual(kinds('data:mnist/train/'), [null, 'mnist/train'])
  assert.deepEqual(kinds('data'), [null, ''])
  assert.deepEqual(kinds('https://example.org/a'), [null, null])
  assert.deepEqual(kinds('/srv/data'), [null, null])
})

const WRITTEN = `# mine
name: a # first
framework: pytorch
input: mnist@3
code: https://example.org/a.git
roles:
  worker:
    tasks: 2
    # runs it
    command: python3 other.py
`

test('with an algorithm a job says nothing that the algorithm brings, and what it read goes to a channel that takes it', () => {
  const draft = form.withAlgorithm(draftOf(WRITTEN), 'mnist-mlp@2', mlp)
  assert.equal(
    draft.text,
    '# mine\nname: a # first\nalgorithm: mnist-mlp@2\nroles:\n  worker:\n    tasks: 2\ninputs:\n  data: mnist@3\n',
  )
  assert.equal(form.withAlgorithm(draft, 'mnist-mlp@3', mlp).text, draft.text.replace('@2', '@3'))
  assert.deepEqual(simple.wrongOf(draft), {}, 'it has a command, though not of its own')
})

test('doing without the algorithm again brings back what was there', () => {
  const before = draftOf(WRITTEN)
  const chosen = setField(form.withAlgorithm(before, 'mnist-mlp@2', mlp), ['params', 'lr'], 0.5)
  const again = form.withoutAlgorithm(setField(chosen, ['max_duration'], '2h'), before)
  assert.deepEqual(again.document.toJSON(), { ...before.document.toJSON(), max_duration: '2h' })
  const alone = form.withoutAlgorithm(draftOf('name: a\nalgorithm: mnist-mlp@2\n'), null)
  assert.deepEqual(alone.document.toJSON(), { name: 'a', roles: { worker: { command: '' } } })
})

test('a parameter that is left out is said to be, and one that has its default is not said', () => {
  const draft = setField(newDraft(), form.paramAt('lr'), 0.01)
  const without = form.leaveOut(draft, 'augment')
  assert.match(without.text, /params:\n {2}lr: 0.01\n {2}augment: null\n/)
  assert.equal(form.paramOf(without, 'augment'), null)
  assert.equal(setField(without, form.paramAt('augment'), null).text, draft.text)
  assert.equal(form.paramOf(draft, 'epochs'), undefined)
})

test('parameters of one’s own are rows beside those of the algorithm, which stay as they are', () => {
  const text = 'name: a\nparams:\n  lr: 0.010 # low\n  augment: null\n  seed: 7\n'
  const draft = draftOf(text)
  assert.deepEqual(form.customParams(draft, mlp), [['seed', '7']])
  assert.equal(form.setCustomParams(draft, mlp, [['seed', '7']]).text, text)
  assert.equal(form.setCustomParams(draft, mlp, [['seed', '8']]).text, text.replace('7', '8'))
  assert.equal(form.setCustomParams(draft, mlp, []).text, text.replace('  seed: 7\n', ''))
})

test('the secrets that an algorithm names are asked for, each once', () => {
  const code = { git: 'https://example.org/a.git', password: '{{ secrets.git }}' }
  const command = 'train --key {{secrets.wandb}} --again {{ secrets.wandb }}'
  assert.deepEqual(form.secretsIn({ ...mlp, code, command }).sort(), ['git', 'wandb'])
  assert.deepEqual(form.secretsIn(mlp), [])
})

test('a value that a control cannot show is shown as it is written', () => {
  const kinds = (value: unknown) =>
    (['number', 'integer', 'boolean', 'text'] as const).filter(type => form.isShowable({ type }, value))
  assert.deepEqual(kinds(0.1), ['number', 'integer', 'text'])
  assert.deepEqual(kinds('{{ lr }}'), ['text'])
  assert.deepEqual(kinds(true), ['boolean', 'text'])
  assert.deepEqual(kinds({ a: 1 }), [])
})

test('channels of another algorithm are found', () => {
  const draft = draftOf('inputs: {data: mnist@3, images: "data:x"}\noutputs: {train: results}\n')
  assert.deepEqual(form.strangeChannels(draft, 'inputs', mlp), ['images'])
  assert.deepEqual(form.strangeChannels(draft, 'outputs', mlp), ['train'])
})

test('what an algorithm can run on is what may be chosen', () => {
  const needs = mlp.needs ?? {}
  assert.deepEqual(
    ['none', 'A100', 'Ascend910'].map(kind => form.canUse(needs, kind)),
    [true, true, false],
  )
  assert.equal(form.canUse({}, 'Ascend910'), true)
  assert.deepEqual([needs, {}, { accelerators: ['none'] }, { accelerators_max: 0 }].map(form.canUseCards), [
    true,
    true,
    false,
    false,
  ])
  assert.equal(form.needsNoCard({ accelerators: ['A100'] }), false)
})

test('an algorithm is told in a few words', () => {
  const w = en.algorithms
  assert.deepEqual(runsOn(mlp, w), ['CPU / A100', 'at most 8 accelerators per task', 'one task'])
  assert.deepEqual(runsOn({ name: 'a', command: 'true' }, w), ['anything'])
  assert.equal(limitsOf({ type: 'number', min: 0, max: 1 }, w), '0 to 1')
  assert.equal(
    limitsOf({ type: 'text', choices: ['adam', 'sgd'], required: false }, w),
    'one of adam, sgd; may be left out',
  )
  assert.equal(limitsOf({ type: 'integer', min: 1, fixed: true }, w), 'at least 1; cannot be changed')
  assert.deepEqual(
    [{}, { accepts: ['place' as const] }].map(it => acceptedBy(it, w)),
    ['a dataset or a place', 'a place'],
  )
  assert.equal(codeOf(mlp), 'https://example.org/me/mnist.git#main')
})

test('the next version of an algorithm begins with the folder that was uploaded, not with where it lay', () => {
  const text = '# mine\nname: mlp\ncode: . # here\n\n# reads\ninputs: {data: {argument: --data_url}}\ncommand: "true"\n'
  const begun = (text: string, code: unknown) =>
    textToChange({ text, document: { name: 'mlp', command: 'true', code } })
  const changed = text.replace('code: .', 'code: {upload: abc}')
  assert.equal(begun(text, { upload: 'abc' }), changed)
  const named = changed.replace('{upload: abc}', '{ upload: abc }')
  assert.equal(begun(named, { upload: 'abc' }), named, 'as it was written')
  assert.equal(begun(text, { git: 'https://example.org/a.git' }), text)
  assert.equal(begun('code: [', { upload: 'abc' }), 'code: [')
  const json = draftOf(begun('{"name":"mlp","code":"."}', { upload: '0012' }))
  assert.deepEqual(json.document.toJSON(), { name: 'mlp', code: { upload: '0012' } })
})

test('a job begins with an algorithm or with data, and each is a draft of its own', () => {
  const begun = (search: string) => {
    const beginning = beginningOf(new URLSearchParams(search))
    return [keyOf(beginning), anew(beginning).text]
  }
  assert.deepEqual(begun('algorithm=mnist-mlp@2'), ['by mnist-mlp@2', 'name: ""\nalgorithm: mnist-mlp@2\n'])
  const [key, text] = begun('input=mnist@3')
  assert.equal(key, 'of mnist@3')
  assert.equal(textOf(draftOf(text ?? ''), ['input']), 'mnist@3')
  assert.equal(suggestedName(draftOf('algorithm: mnist-mlp@2'), new Set(['mnist-mlp'])), 'mnist-mlp-2')
})

test('what a job was made with is read off its file', () => {
  const spec = { algorithm: 'mnist-mlp@2', inputs: { a: 'mnist@3', b: { from: 'coco@1' }, c: 'data:x', d: 'mnist@3' } }
  assert.deepEqual(algorithmIn(spec), { name: 'mnist-mlp', version: '2' })
  assert.deepEqual(
    datasetsIn(spec).map(it => it.name),
    ['mnist', 'coco'],
  )
  assert.deepEqual(datasetsIn({ input: { from: 'mnist@3', unpack: true } }), [{ name: 'mnist', version: '3' }])
  assert.deepEqual([algorithmIn(null), datasetsIn({ input: 'data:mnist' })], [null, []])
})

test('rows are found by every word and sorted both ways', () => {
  const rows = [
    { name: 'mnist', size: 2 },
    { name: 'coco', size: 10 },
  ]
  const columns: Column<(typeof rows)[number]>[] = [
    { key: 'name', title: '', cell: it => it.name, by: it => it.name },
    { key: 'size', title: '', cell: it => it.size, by: it => it.size },
  ]
  const names = (all: typeof rows) => all.map(it => it.name)
  assert.deepEqual(names(found(rows, ' MN ist ', it => it.name)), ['mnist'])
  assert.deepEqual(names(found(rows, '', it => it.name)), ['mnist', 'coco'])
  assert.deepEqual(names(sorted(rows, columns, 'name')), ['coco', 'mnist'])
  assert.deepEqual(names(sorted(rows, columns, '-size')), ['coco', 'mnist'])
  assert.deepEqual(names(sorted(rows, columns, 'nothing')), ['mnist', 'coco'])
})
