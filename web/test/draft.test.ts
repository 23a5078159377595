import assert from 'node:assert/strict'
import { test } from 'node:test'
import { draftOf, hasMore, isOurs, newDraft, setField, spelt, textOf } from '../src/pages/create/draft.ts'
import { withoutSecrets } from '../src/pages/create/kept.ts'
import * as pro from '../src/pages/create/pro.ts'
import * as simple from '../src/pages/create/simple.ts'
import { suggestedName } from '../src/pages/create/suggest.ts'

test('what the form does not know stays where it is', () => {
  const text =
    '# why\nname: a # mine\nroles:\n  main:\n    command: [python3, train.py]\n    completion: { min_failed: never }\n'
  const changed = setField(setField(draftOf(text), ['max_duration'], '2h'), ['max_duration'], '')
  assert.equal(changed.text, text.replace('{ min_failed: never }', '{min_failed: never}'))
})

test('a map that lost its last key goes with it', () => {
  const draft = simple.setLogPath(newDraft(), '/output/logs')
  assert.match(draft.text, /env:\n {2}TENSORBOARD_LOG_DIR: \/output\/logs/)
  assert.equal(simple.setLogPath(draft, null).text, newDraft().text)
})

test('distributed training is one command for two roles, and none of it is left when it is taken back', () => {
  const one = simple.setCommand(newDraft(), 'python3 train.py')
  const two = simple.setCommand(simple.setDistributed(one, true), 'python3 other.py')
  assert.deepEqual(simple.rolesOf(two), ['worker', 'ps'])
  assert.equal(textOf(two, ['roles', 'ps', 'command']), 'python3 other.py')
  assert.equal(simple.setCommand(simple.setDistributed(two, false), 'python3 train.py').text, one.text)
})

test('a private repository keeps its password among the secrets', () => {
  const open = simple.setGit(newDraft(), 'git', 'https://example.org/a.git')
  const closed = simple.setPassword(simple.setUser(simple.setPrivate(open, true), 'ann'), 'p,w: #')
  assert.equal(textOf(closed, ['code', 'password']), '{{ secrets.git }}')
  assert.equal(simple.passwordOf(closed), 'p,w: #')
  assert.equal(simple.setPrivate(closed, false).text, open.text)
})

test('files of other systems, and what does not parse, are not for the form', () => {
  for (const text of ['jobName: x', 'protocolVersion: 2', 'worker: {number: 2}\nhyperparams: {}', 'a: [', '- 1', '']) {
    assert.equal(isOurs(draftOf(text)), false, text)
  }
  assert.equal(isOurs(newDraft()), true)
})

test('a role is renamed in its place, and rows become maps and back', () => {
  const draft = draftOf('name: a\nroles:\n  # first\n  one: {command: x}\n  two: {command: y}\n')
  const renamed = pro.renameRole(draft, 'one', 'chief')
  assert.deepEqual(simple.rolesOf(renamed), ['chief', 'two'])
  assert.match(renamed.text, /# first/)
  assert.equal(pro.renameRole(draft, 'one', 'two').text, draft.text, 'two roles cannot have one name')
  const rows = [
    ['grpc', '2', ''],
    ['http', '1', '8000'],
    ['', '1', ''],
  ]
  assert.deepEqual(pro.portsOf(pro.setPorts(draft, 'two', rows), 'two'), rows.slice(0, 2))
  const env = pro.setPairs(
    draft,
    ['roles', 'two', 'env'],
    [
      ['A', '1'],
      ['', 'x'],
    ],
  )
  assert.deepEqual(pro.pairsAt(env, ['roles', 'two', 'env']), [['A', '1']])
  assert.deepEqual(['', '3', 'never'].map(pro.numberOrWord), [null, 3, 'never'])
})

test('what stands behind a value stays there when the value changes', () => {
  const draft = draftOf('name: a # mine\npriority: 1.0 # high\n')
  assert.equal(setField(setField(draft, ['name'], 'b'), ['priority'], 3).text, 'name: b # mine\npriority: 3 # high\n')
})

test('rows change what was changed and leave the rest alone', () => {
  const text = 'inputs:\n  a: {at: /srv, mode: copy} # kept\n  b: mnist # too\n'
  const rows = pro.pairsAt(draftOf(text), ['inputs'])
  const [a = [], b = []] = rows
  assert.equal(pro.setPairs(draftOf(text), ['inputs'], rows).text, text)
  assert.equal(pro.setPairs(draftOf(text), ['inputs'], [a, ['b', 'coco']]).text, text.replace('mnist', 'coco'))
  assert.equal(pro.setPairs(draftOf(text), ['inputs'], [['c', a[1] ?? ''], b]).text, text.replace(' a:', ' c:'))
  assert.equal(pro.setPairs(draftOf(text), ['inputs'], [b]).text, 'inputs:\n  b: mnist # too\n')
})

test('a port gets its first number when that is written last', () => {
  const one = pro.setPorts(newDraft(), 'worker', [['http', '2', '']])
  const two = pro.setPorts(one, 'worker', [['http', '2', '18080']])
  assert.deepEqual(pro.portsOf(two, 'worker'), [['http', '2', '18080']])
})

test('parameters are numbers and truths where they look like it', () => {
  const draft = pro.setParams(newDraft(), [
    ['lr', '0.1'],
    ['on', 'true'],
    ['tag', '1.0.2'],
  ])
  assert.match(draft.text, /lr: 0.1\n {2}on: true\n {2}tag: 1.0.2/)
  assert.deepEqual([pro.numberOrWord('0.'), pro.numberOrWord('-5'), pro.numberOrWord('all')], ['0.', -5, 'all'])
})

test('a job is called after its code, its image or its framework, by a name that is free', () => {
  const suggested = (draft: ReturnType<typeof newDraft>, ...taken: string[]) => suggestedName(draft, new Set(taken))
  const git = (url: string) => simple.setGit(newDraft(), 'git', url)
  assert.equal(suggested(newDraft()), 'train')
  assert.equal(suggested(simple.setFramework(newDraft(), 'pytorch'), 'pytorch', 'pytorch-2'), 'pytorch-3')
  const image = simple.setImage(
    simple.setFramework(newDraft(), 'image'),
    'registry.example.org:5000/team/resnet_50:1.2',
  )
  assert.equal(suggested(image), 'resnet-50')
  assert.equal(suggested(git('https://example.org/ann/mnist.git')), 'mnist')
  assert.equal(suggested(git('https://example.org/ann/my digits/')), 'my-digits')
  assert.equal(suggested(simple.setFramework(git('https://example.o'), 'jax')), 'jax')
  assert.equal(suggested(git(`https://example.org/${'a'.repeat(200)}`)).length, 60)
})

test('a repository written as text becomes private with its branch, and is the same again when it is not', () => {
  const draft = draftOf('name: a\ncode: https://example.org/a.git#main # ours\n')
  const closed = simple.setPrivate(draft, true)
  assert.equal(simple.gitOf(closed), 'https://example.org/a.git')
  assert.equal(simple.refOf(closed), 'main')
  assert.deepEqual(simple.wrongOf(closed).user, 'userNeeded')
  assert.deepEqual(simple.wrongOf(closed).password, 'passwordNeeded')
  const open = simple.setPrivate(closed, false)
  assert.deepEqual([simple.gitOf(open), simple.refOf(open)], ['https://example.org/a.git', 'main'])
})

test('a password is written where the file looks for it', () => {
  const text = 'code: {git: "https://e.org/a.git", user: ann, password: "{{ secrets.token }}"}\nsecrets: {token: old}\n'
  const draft = draftOf(text)
  assert.equal(simple.passwordOf(draft), 'old')
  assert.equal(simple.setPassword(draft, 'new').text, text.replace('old', 'new'))
})

test('a form says of values with more to them that they are in the file', () => {
  const draft = draftOf(
    'input: {from: "mnist:", unpack: true}\noutput: {to: results:x}\ncode: {at: /srv}\nlogs: results:x\n',
  )
  assert.deepEqual(
    ['input', 'output', 'code', 'logs', 'from'].map(key => hasMore(draft, [key])),
    [true, true, true, false, false],
  )
})

test('the choice of a volume is for volumes: what else stands there is left to the file', () => {
  const volume = (input: string) => simple.volumeOf(draftOf(`input: ${input}\n`))
  assert.deepEqual(['"mnist:"', '/srv/data', '""'].map(volume), ['mnist', '/', ''])
  assert.deepEqual(['https://host/x', '{from: "mnist:"}', 'mnist:train', 's3://b/x'].map(volume), [
    null,
    null,
    null,
    null,
  ])
})

test('an output that was written elsewhere survives the choice of a volume', () => {
  const draft = draftOf('name: a\noutput: results:digits\n')
  for (const volume of ['mnist', '/', '']) {
    assert.equal(textOf(simple.setVolume(draft, volume), ['output']), 'results:digits', volume)
  }
  const chosen = simple.setVolume(newDraft(), 'mnist')
  assert.equal(textOf(chosen, ['output']), 'mnist')
  assert.equal(textOf(simple.setVolume(chosen, 'coco'), ['output']), 'coco')
  assert.equal(simple.setVolume(chosen, '').text, newDraft().text)
})

test('a number of accelerators keeps their type, and two types are left to the file', () => {
  const typed = draftOf('roles:\n  worker: {command: x, accelerators: {A100: 2}}\n')
  assert.match(simple.setAccelerators(typed, 3).text, /accelerators: {A100: 3}/)
  assert.match(pro.applyPreset(typed, 'worker', { accelerators: 8, cpus: 16 }).text, /accelerators: {A100: 8}/)
  const two = draftOf('roles:\n  worker: {command: x, accelerators: {A100: 2, T4: 1}}\n')
  assert.equal(pro.hasManyKinds(two, 'worker'), true)
  assert.equal(pro.hasManyKinds(typed, 'worker'), false)
})

test('roles that differ keep what is their own when one field is for all', () => {
  const draft = draftOf('roles:\n  ps: {command: serve, cpus: 4}\n  worker: {command: train, cpus: 2}\n')
  const changed = simple.setForEach(simple.setCommand(draft, 'learn'), 'cpus', 3)
  assert.match(changed.text, /ps: {command: serve, cpus: 4}\n {2}worker: {command: learn, cpus: 3}/)
})

test('rows whose value is more than a text say so', () => {
  const draft = draftOf('inputs:\n  a: {at: /srv, mode: copy}\n  b: mnist:x\n')
  assert.deepEqual(
    ['a', 'b', 'c'].map(key => pro.isFixed(draft, ['inputs'], key)),
    [true, false, false],
  )
})

test('places in the file are spelt as the server spells them', () => {
  assert.equal(spelt(['roles', 'worker-1', 'env', 'A B']), 'roles.worker-1.env."A B"')
})

test('of a draft that is kept no secret is kept', () => {
  const text =
    'name: a # mine\nsecrets:\n  git: "p,w"\n  key: {named: wandb}\n  old: "******"\n  long: {value: hidden, file: true}\n'
  const kept = withoutSecrets(text)
  assert.ok(kept !== null && !kept.includes('p,w') && !kept.includes('hidden'))
  assert.match(kept, /name: a # mine[\s\S]*named: wandb[\s\S]*"\*{6}"/)
  const written = withoutSecrets('code: {git: "https://e.org/a", password: plain}\n')
  assert.ok(written !== null && !written.includes('plain'))
  assert.equal(withoutSecrets('name: [\nsecrets: {git: hidden}\n'), null)
  assert.equal(withoutSecrets('name: [\n'), 'name: [\n')
})
