// Between the form, the file and files of others nothing is lost.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { House } from './house.mjs'

const root = join(import.meta.dirname, '../..')
let house
before(async () => {
  house = await House.open()
})
after(() => house.close())

const draftIn = page => page.evaluate(() => sessionStorage.getItem('trainmaster.draft'))
const planned = (text, name = '') => house.ask('POST', `/api/v1/jobs?dry_run=true${name && `&name=${name}`}`, text)

const pick = (page, name, text) =>
  page
    .getByLabel('Import a file')
    .setInputFiles({ name, mimeType: 'application/octet-stream', buffer: Buffer.from(text) })

/** As somebody who drops a file on the page. */
const drop = (page, name, text) =>
  page.evaluate(
    ([name, text]) => {
      const data = new DataTransfer()
      data.items.add(new File([text], name))
      document
        .querySelector('main')
        .dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true }))
    },
    [name, text],
  )

async function paste(page, _, text) {
  const editor = page.getByRole('textbox', { name: 'Job file' })
  await editor.click()
  await page.keyboard.press('Control+a')
  await editor.evaluate((element, text) => {
    const data = new DataTransfer()
    data.setData('text/plain', text)
    element.dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }))
  }, text)
}

test('going between the doors keeps every remark and everything a form does not know', async () => {
  const page = await house.inside()
  await page.goto(`${house.url}/create?door=file`)
  const text = [
    '# why we train',
    'name: kept # a remark',
    'tags: [a, b]',
    'metrics: { lines: false } # not in any form',
    'inputs:',
    '  train: { at: /srv, mode: copy } # an input with more to it',
    'env:',
    '  A: "1" # first',
    'roles:',
    '  # who computes',
    '  worker:',
    '    command: [echo, "two words"]',
    '    env: {X: "1"}',
    '',
  ].join('\n')
  await pick(page, 'job.yaml', text)
  await page.getByRole('button', { name: 'Simple' }).click()
  assert.equal(await page.getByLabel('Name', { exact: true }).inputValue(), 'kept')
  assert.equal(await page.getByLabel('Command').inputValue(), "echo 'two words'")
  await page.getByLabel('Time limit').fill('2h')
  await page.getByLabel('Name', { exact: true }).fill('kept-2')
  await page.getByRole('button', { name: 'Professional' }).click()
  await page.getByLabel('Environment variables of every role 1: value').fill('2')
  await page.getByRole('button', { name: 'Environment variables of every role: Add' }).click()
  await page.getByLabel('Environment variables of every role 2: name').fill('B')
  await page.getByRole('button', { name: 'File', exact: true }).click()
  const written = await draftIn(page)
  for (const part of [
    '# why we train\nname: kept-2 # a remark\n',
    'tags: [a, b]',
    '# not in any form',
    'train: {at: /srv, mode: copy} # an input with more to it',
    '  A: "2" # first\n  B: ""\n',
    '  # who computes\n  worker:',
    'command: [echo, "two words"]',
    'X: "1"',
    'max_duration: 2h',
  ]) {
    assert.ok(written.includes(part), `${part} in ${written}`)
  }
})

/** A folder beside the file is sent by the command line; here code comes from a repository, and data from the machine. */
const example = path =>
  readFileSync(join(root, 'examples', path), 'utf8')
    .replace(/^code: \S+/m, 'code: https://example.org/a.git#main')
    .replace(/^( +points:) points$/m, '$1 /srv')

test('every example, through both forms and back, means the same', async () => {
  const page = await house.inside()
  const examples = readdirSync(join(root, 'examples'), { withFileTypes: true }).filter(it => it.isDirectory())
  assert.ok(examples.length >= 6)
  await house.ask('POST', '/api/v1/algorithms', example('algorithm/algorithm.yaml'))
  for (const { name } of examples) {
    const text = example(`${name}/job.yaml`)
    await page.goto(`${house.url}/create?door=file`)
    await pick(page, 'job.yaml', text)
    await page.getByRole('button', { name: 'Simple' }).click()
    await page.getByLabel('Retries').fill('3')
    await page.getByLabel('Retries').fill('0')
    if (/^algorithm:/m.test(text)) {
      await page.getByLabel('lr', { exact: true }).fill('0.01')
      await page.getByLabel('lr', { exact: true }).fill('')
    } else {
      await page.getByLabel('Private repository').check()
      await page.getByLabel('Private repository').uncheck()
    }
    await page.getByRole('button', { name: 'Professional' }).click()
    await page.getByLabel('Description').fill('x')
    await page.getByLabel('Description').fill(/^description: (.*)$/m.exec(text)?.[1] ?? '')
    const kept = await draftIn(page)
    assert.deepEqual((await planned(kept)).plan, (await planned(text)).plan, name)
    for (const remark of text.match(/(?<=^|\s)#.*$/gm) ?? []) assert.ok(kept.includes(remark), `${name}: ${remark}`)
  }
})

/** One file of each dialect, and the way it comes in. */
const FOREIGN = [
  ['openpai v1', 'model/tests/openpai_v1/good/7_2_a_notebook.json', pick],
  ['openpai v2-alpha', 'model/tests/openpai_v1/alpha_good/2_8_commands_of_several_lines.yaml', drop],
  ['openpai v2', 'model/tests/openpai_v2/corpus/commands_shell.yaml', paste],
  ['helm values', 'model/tests/helm_values/nested_gpu.yaml', drop],
]

for (const [dialect, path, bring] of FOREIGN) {
  test(`a file of ${dialect} is read as it is, reported on, turned into ours and exported`, async () => {
    const text = readFileSync(join(root, path), 'utf8')
    const page = await house.inside()
    await page.goto(`${house.url}/create?door=file`)
    await page.getByRole('textbox', { name: 'Job file' }).waitFor()
    await bring(page, 'theirs.yaml', text)
    await page.getByLabel('Name', { exact: true }).fill('from-elsewhere')
    await page.getByText(/Read as /).waitFor()
    await page.getByText('What became of each field').click()
    assert.ok((await page.locator('.report li').count()) > 3)
    const before = await planned(text, 'from-elsewhere')
    await page.getByRole('button', { name: 'Professional' }).click()
    await page.getByText('You can submit it as it is').waitFor()
    await page.getByRole('button', { name: 'Convert to a Trainmaster file' }).first().click()
    assert.equal(await page.getByLabel('Name', { exact: true }).inputValue(), 'from-elsewhere')
    assert.deepEqual((await planned(await draftIn(page))).plan, before.plan)
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Export' }).click(),
    ])
    assert.equal(readFileSync(await file.path(), 'utf8'), await draftIn(page))
    assert.deepEqual(page.refused, [])
  })
}

test('a file of another system is submitted without being changed', async () => {
  const page = await house.inside()
  await page.goto(`${house.url}/create?door=file`)
  const role = { name: 'main', taskNumber: 1, cpuNumber: 1, memoryMB: 100, gpuNumber: 0, command: 'echo from pai' }
  // S4-58 and S4-62 are of files alone: what became of them is told before it is submitted.
  const file = {
    jobName: 'from-pai',
    image: 'pai/tf',
    authFile: 'hdfs://auth',
    virtualCluster: 'default',
    taskRoles: [role],
  }
  await pick(page, 'pai.json', JSON.stringify(file))
  await page.getByText(/Read as openpai/).waitFor()
  await page.getByText('What became of each field').click()
  await page
    .locator('.report li', { hasText: 'authFile' })
    .getByText(/sign in to the image's registry/)
    .waitFor()
  await page
    .locator('.report li', { hasText: 'virtualCluster' })
    .getByText(/the one queue/)
    .waitFor()
  await page.getByRole('button', { name: 'Review and submit' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Submit' }).click()
  await page.getByRole('heading', { name: 'from-pai@1' }).waitFor()
})

test('every good file of the corpora is read, and turned into a file of ours that means the same', async () => {
  const folders = ['openpai_v1/good', 'openpai_v1/alpha_good', 'openpai_v2/corpus', 'helm_values']
  const files = folders.flatMap(folder =>
    readdirSync(join(root, 'model/tests', folder))
      .filter(name => /\.(json|ya?ml)$/.test(name) && !name.includes('bad'))
      .map(name => join(root, 'model/tests', folder, name)),
  )
  let read = 0
  for (const file of files) {
    const text = readFileSync(file, 'utf8')
    const first = await planned(text, 'corpus').catch(() => null)
    // Some are there to be refused.
    if (!first?.ours) continue
    read += 1
    assert.deepEqual((await planned(first.ours)).plan, first.plan, file)
  }
  assert.ok(read > 80, `${read} of ${files.length} files`)
})

test('a mistake in the file is marked at its line, and keys are completed from the schema', async () => {
  const page = await house.inside()
  await page.goto(`${house.url}/create?door=file`)
  await pick(page, 'job.yaml', 'name: typo\nroles:\n  worker:\n    comand: echo hi\n')
  await page.getByText('line 4, column').first().waitFor()
  await page.locator('.cm-lint-marker-error').first().waitFor()
  await page.getByRole('textbox', { name: 'Job file' }).click()
  await page.keyboard.press('Control+End')
  await page.keyboard.type('max_d')
  await page.getByRole('option', { name: /max_duration/ }).waitFor()
  assert.deepEqual(page.refused, [])
})
