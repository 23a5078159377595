// Code that is used again: written with the editor, picked for a job, its channels and parameters as fields, and the job that comes of it.
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { serveGit } from './git.mjs'
import { House, until } from './house.mjs'

const TRAIN = `
import argparse, os, shutil
parser = argparse.ArgumentParser()
for name in ["--data_url", "--train_url", "--lr", "--optimizer", "--augment", "--batch_size", "--seed"]:
    parser.add_argument(name)
args = parser.parse_args()
print(sorted(vars(args).items()), flush=True)
shutil.copy(args.data_url + "/train.csv", args.train_url + "/model.csv")
`

const document = (git, more = '') => `name: mlp
description: A small classifier
code: ${git.url}
command: python3 train.py
inputs:
  data: { argument: --data_url, description: the digits, accepts: [dataset] }
outputs:
  train: { argument: --train_url, description: the model }
params:
  lr: { type: number, default: 0.1, min: 0.001, max: 1, description: learning rate }
  optimizer: { type: text, default: adam, choices: [adam, sgd] }
  augment: { type: boolean, default: false, required: false }
  batch: { type: integer, default: 32, fixed: true, argument: --batch_size }
custom_params: true
needs: { accelerators: [none, A100], accelerators_max: 1, tasks_max: 1 }
${more}`

let house
let git
let results
before(async () => {
  house = await House.open([
    '--nodes',
    '1',
    '--node-cpus',
    '4',
    '--node-memory',
    '8GiB',
    '--device',
    'A100=2',
    '--device',
    'V100=1',
  ])
  git = await serveGit(house.place, { 'train.py': TRAIN })
  results = join(house.place, 'results')
  const pictures = join(house.place, 'pictures')
  for (const [name, path] of Object.entries({ pictures, results })) {
    mkdirSync(path)
    await house.ask('POST', '/api/v1/volumes', JSON.stringify({ name, volume: { kind: 'local', path } }))
  }
  writeFileSync(join(pictures, 'train.csv'), '1,2\n')
  await house.ask('POST', '/api/v1/datasets', JSON.stringify({ name: 'mnist', at: 'pictures:' }))
})
after(async () => {
  git?.close()
  await house.close()
})

/** Puts a text into the editor in place of what is there. */
async function write(page, label, text) {
  const editor = page.getByRole('textbox', { name: label })
  await editor.click()
  // What is there goes first: a browser puts styles of its own around a text that takes the place of another.
  await page.keyboard.press('Control+A')
  await page.keyboard.press('Delete')
  await page.keyboard.insertText(text)
}

test('an algorithm is written, with its problems told beside their lines, and shown as what it is', async () => {
  const page = await house.inside()
  await page.goto(`${house.url}/algorithms`)
  await page.getByText('trainmaster algorithms add').waitFor()
  await page.getByRole('main').getByRole('link', { name: 'Add an algorithm' }).click()
  const save = page.getByRole('button', { name: 'Save as a version' })
  await write(page, 'Document', document(git).replace('type: number', 'type: nummer'))
  await page.locator('.check-panel .problems').getByText('params.lr.type').waitFor()
  assert.equal(await save.getAttribute('aria-disabled'), 'true')
  await page.reload()
  await page.getByText('You are continuing an unfinished draft.').waitFor()
  await page.locator('.check-panel .problems').getByText('params.lr.type').waitFor()

  await write(page, 'Document', document(git))
  await page.getByText('No problems').waitFor()
  await page.locator('.check-panel').getByText('the usual branch of its repository').waitFor()
  await save.and(page.locator(':not([aria-disabled])')).click()
  await page.getByRole('heading', { name: 'mlp', exact: true }).waitFor()
  const params = page.getByRole('region', { name: 'Parameters' })
  assert.match(
    await params.getByRole('row', { name: /^lr/ }).innerText(),
    /number\s+0.1\s+0.001 to 1\s+--lr\s+learning rate/,
  )
  assert.match(await params.getByRole('row', { name: /^batch/ }).innerText(), /cannot be changed\s+--batch_size/)
  await page.getByRole('region', { name: 'Inputs' }).getByText('a dataset', { exact: true }).waitFor()
  await page.getByText('CPU / A100').waitFor()
  assert.deepEqual(page.refused, [])
})

test('a job is made from an algorithm in the form, runs, and says what it was made with', async () => {
  const page = await house.inside()
  await page.goto(`${house.url}/create`)
  await page.getByRole('button', { name: 'Choose an algorithm' }).click()
  const picking = page.getByRole('dialog', { name: 'Choose an algorithm and its version' })
  await picking.getByRole('radio', { name: 'Choose mlp' }).check()
  await picking.getByRole('button', { name: 'Use this' }).click()
  const algorithm = page.getByLabel('Algorithm', { exact: true })
  await until('it is chosen', async () => (await algorithm.inputValue()) === 'mlp@1')
  assert.equal(await page.getByLabel('Command', { exact: true }).count(), 0, 'the algorithm brings it')

  // What is missing is said beside its field; what cannot be is greyed, with the reason.
  await page.locator('.field').filter({ hasText: 'the digits' }).getByRole('alert').waitFor()
  const place = page.getByRole('button', { name: 'data: Choose a place' })
  assert.equal(await place.getAttribute('aria-disabled'), 'true')
  assert.equal(await place.getAttribute('title'), 'This input takes no place, only a dataset.')
  const kinds = page.getByLabel('Accelerator type')
  assert.equal(await kinds.getByRole('option', { name: /V100/ }).isDisabled(), true)
  assert.equal(await kinds.getByRole('option', { name: 'A100' }).isDisabled(), false)
  const batch = page.getByLabel('batch', { exact: true })
  assert.deepEqual([await batch.inputValue(), await batch.getAttribute('readonly')], ['32', ''])

  await page.getByRole('button', { name: 'data: Choose a dataset' }).click()
  const data = page.getByRole('dialog', { name: 'Choose a dataset and its version' })
  await data.getByRole('radio', { name: 'Choose mnist' }).check()
  await data.getByRole('button', { name: 'Use this' }).click()
  await page.getByRole('button', { name: 'train: Choose a place' }).click()
  const folder = page.getByRole('dialog', { name: 'Choose a volume and a folder' })
  await folder.getByLabel('Volume').selectOption('results')
  await folder.getByLabel('Place').fill('results:run1')
  await folder.getByRole('button', { name: 'Use this' }).click()

  await page.getByLabel('Name', { exact: true }).fill('run1')
  await page.getByLabel('lr', { exact: true }).fill('7')
  await page.locator('.field').filter({ hasText: 'learning rate' }).getByRole('alert').waitFor()
  await page.getByLabel('lr', { exact: true }).fill('0.01')
  await page.getByLabel('optimizer', { exact: true }).selectOption('sgd')
  await page.getByRole('switch', { name: 'augment' }).check()
  await page.getByRole('button', { name: 'Leave out augment' }).click()
  await page.getByRole('button', { name: 'Your own parameters: Add' }).click()
  await page.getByLabel('Your own parameters 1: name').fill('seed')
  await page.getByLabel('Your own parameters 1: value').fill('7')

  // The text has it all, and the form has all of the text.
  await page.getByRole('button', { name: 'File', exact: true }).click()
  const text = page.getByRole('textbox', { name: 'Job file' })
  await text.getByText('algorithm: mlp@1').waitFor()
  assert.match(await text.innerText(), /augment: null/)
  await page.getByRole('button', { name: 'Professional', exact: true }).click()
  await page.getByRole('button', { name: 'Bring back augment' }).waitFor()
  assert.equal(await page.getByLabel('Your own parameters 1: value').inputValue(), '7')
  await page.getByRole('button', { name: 'Simple', exact: true }).click()

  await page.getByRole('button', { name: 'Review and submit' }).and(page.locator(':not([aria-disabled])')).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Submit' }).click()
  await page.getByRole('heading', { name: 'run1@1' }).waitFor()
  await house.state('run1', 'succeeded')
  const { spec } = await house.job('run1')
  assert.deepEqual(spec.params, { lr: 0.01, optimizer: 'sgd', augment: null, seed: 7 })
  assert.equal(spec.inputs.data, 'mnist@1')
  assert.equal(readFileSync(join(results, 'run1/model.csv'), 'utf8'), '1,2\n')
  const log = await fetch(`${house.url}/api/v1/jobs/run1/tasks/worker-0/log`, {
    headers: { authorization: `Bearer ${house.token}` },
  })
  assert.match(
    await log.text(),
    /\('augment', None\), \('batch_size', '32'\).*\('lr', '0.01'\).*\('optimizer', 'sgd'\).*\('seed', '7'\)/,
  )

  await page.getByRole('link', { name: 'mnist@1' }).waitFor()
  await page.getByRole('link', { name: 'mlp@1' }).click()
  await page.getByRole('row', { name: /^@1/ }).getByRole('link', { name: 'run1@1' }).waitFor()
  assert.deepEqual(page.refused, [])
})

test('换一个没有通道的算法时，多余的内容能看见、能删掉；不用算法时，原来的内容还在', async () => {
  const bare = `name: bare\ncode: ${git.url}\ncommand: python3 -c 1\nneeds: { accelerators: [none] }\n`
  await house.ask('POST', '/api/v1/algorithms', bare)
  const page = await house.inside({ language: 'zh' })
  await page.goto(`${house.url}/create?framework=jax`)
  await page.getByLabel('执行命令').fill('python3 own.py')
  const choose = async name => {
    await page.getByRole('button', { name: '选择算法', exact: true }).click()
    const dialog = page.getByRole('dialog', { name: '选择算法及版本' })
    await dialog.getByRole('radio', { name: `选择 ${name}` }).check()
    await dialog.getByRole('button', { name: '确定' }).click()
  }
  await choose('mlp')
  await page.getByLabel('data', { exact: true }).fill('mnist@latest')
  await choose('bare')
  await page.getByText('当前算法没有输入通道，无需选择数据。').waitFor()
  await page.getByText('当前算法没有输出通道，无需设置。').waitFor()
  await page.getByText('当前算法不支持自定义参数。').waitFor()
  assert.equal(await page.getByLabel('加速卡数量').getAttribute('title'), '当前算法只用 CPU 运行。')
  await page.getByRole('button', { name: '删除 data' }).click()
  await page.getByText('没有问题').waitFor()
  await page.getByRole('button', { name: '不用算法' }).click()
  assert.equal(await page.getByLabel('执行命令').inputValue(), 'python3 own.py')
  assert.equal(await page.getByLabel('训练框架').inputValue(), 'jax')
  assert.deepEqual(page.refused, [])
})

test('a secret that the algorithm names is asked for, typed or by its name', async () => {
  const command = 'test "$KEY" = hush'
  const guarded = `name: guarded\ncode: ${git.url}\nenv: { KEY: "{{ secrets.key }}" }\ncommand: ${JSON.stringify(command)}\n`
  await house.ask('POST', '/api/v1/algorithms', guarded)
  await fetch(`${house.url}/api/v1/secrets/kept`, {
    method: 'PUT',
    body: 'hush',
    headers: { authorization: `Bearer ${house.token}` },
  })
  const page = await house.inside()
  const submit = async name => {
    await page.getByLabel('Name', { exact: true }).fill(name)
    await page.getByRole('button', { name: 'Review and submit' }).and(page.locator(':not([aria-disabled])')).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Submit' }).click()
    await page.getByRole('heading', { name: `${name}@1` }).waitFor()
    await house.state(name, 'succeeded')
  }
  await page.goto(`${house.url}/create?algorithm=guarded@1`)
  await page.getByLabel('key: value').fill('hush')
  await submit('typed')
  await page.goto(`${house.url}/create?algorithm=guarded@1`)
  await page.getByLabel('key', { exact: true }).selectOption('kept')
  await submit('named')
  assert.deepEqual((await house.job('named')).spec.secrets, { key: { named: 'kept' } })
  assert.deepEqual(page.refused, [])
})

test('a new version begins with the newest, the same again is none, and what is forgotten is gone', async () => {
  const page = await house.inside()
  await house.ask('POST', '/api/v1/algorithms', document(git).replace('name: mlp', 'name: brief'))
  await page.goto(`${house.url}/algorithms/brief`)
  await page.getByRole('link', { name: 'New version' }).click()
  await page.getByRole('heading', { name: 'New version of brief' }).waitFor()
  const save = page.getByRole('button', { name: 'Save as a version' }).and(page.locator(':not([aria-disabled])'))
  await save.click()
  await page.getByText('Nothing has changed: this is brief@1').waitFor()
  await page.getByRole('link', { name: 'New version' }).click()
  await write(page, 'Document', document(git, 'setup: "true"\n').replace('name: mlp', 'name: brief'))
  await save.click()
  await page.getByRole('link', { name: '@1', exact: true }).click()
  await until('the first version is looked at', () => page.url().endsWith('version=1'))
  await page.getByRole('heading', { name: 'brief@1' }).waitFor()
  await page.getByRole('button', { name: 'Forget brief@1' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Forget', exact: true }).click()
  await page.getByRole('heading', { name: 'brief@2' }).waitFor()
  await page.getByRole('button', { name: 'Forget algorithm' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Forget', exact: true }).click()
  await page.waitForURL(/\/algorithms$/)
  await page.goto(`${house.url}/algorithms/brief`)
  await page.getByText('There is no such algorithm').waitFor()
})
