// What is being written is not lost, and nobody else finds it.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { House, until } from './house.mjs'

let house
before(async () => {
  house = await House.open()
})
after(() => house.close())

const stored = page => page.evaluate(() => JSON.stringify({ ...sessionStorage, ...localStorage }))
const command = page => page.getByLabel('Command', { exact: true })

test('a reload goes on with the draft, whatever it began with, and no draft is written over another', async () => {
  const id = await house.line('first', 'echo first', { env: { A: '1' } })
  const page = await house.inside()
  const beginnings = ['/create', '/create?framework=python', `/create?from=${id}`, `/create?from=${id}&as=clone`]
  for (const path of beginnings) {
    await page.goto(house.url + path)
    await command(page).fill(`echo ${path}`)
    await page.reload()
    await until(path, async () => (await command(page).inputValue()) === `echo ${path}`)
  }
  for (const path of beginnings) {
    await page.goto(house.url + path)
    await until(path, async () => (await command(page).inputValue()) === `echo ${path}`)
  }
  await page.getByRole('button', { name: 'Start over' }).click()
  await until('the job’s own command', async () => (await command(page).inputValue()) === 'echo first')
  await page.goto(`${house.url}/create?from=${id}&door=pro`)
  await page.getByRole('button', { name: 'Start over' }).click()
  assert.equal(await page.getByLabel('Environment variables of every role 1: name').inputValue(), 'A')
  assert.deepEqual(page.refused, [])
})

test('the rows of another job are there at once', async () => {
  const id = await house.line('rows', 'true', { env: { A: '1' } })
  const page = await house.inside()
  await page.goto(`${house.url}/create?from=${id}&door=pro`)
  assert.equal(await page.getByLabel('Environment variables of every role 1: value').inputValue(), '1')
})

test('a password is nowhere in the browser, and drafts end with the log-out', async () => {
  const page = await house.inside()
  await page.goto(`${house.url}/create`)
  await command(page).fill('echo hidden')
  await page.getByLabel('Git address').fill('https://example.org/a.git')
  await page.getByLabel('Private repository').check()
  await page.getByText('A private repository needs a user name.').first().waitFor()
  await page.getByText('A private repository needs a password or token.').first().waitFor()
  await page.getByLabel('Git user name').fill('ann')
  await page.getByLabel('Git password or token').fill('s3cret')
  const text = await stored(page)
  assert.ok(text.includes('echo hidden') && text.includes('ann') && !text.includes('s3cret'), text)
  await page.getByRole('button', { name: 'Log out' }).click()
  await page.getByLabel('Token').waitFor()
  assert.ok(!(await stored(page)).includes('echo hidden'))
})

test('an address that is typed letter by letter stays under the cursor', async () => {
  const page = await house.inside()
  await page.goto(`${house.url}/create?door=pro`)
  await page.getByLabel('Code', { exact: true }).focus()
  await page.keyboard.type('https://example.org/a.git')
  assert.equal(await page.getByLabel('Code', { exact: true }).inputValue(), 'https://example.org/a.git')
})

test('a number can be emptied and written anew', async () => {
  const page = await house.inside()
  await page.goto(`${house.url}/create?framework=python`)
  const cpus = page.getByLabel('CPUs per task')
  await cpus.focus()
  await page.keyboard.press('Control+a')
  await page.keyboard.press('Backspace')
  assert.equal(await cpus.inputValue(), '')
  await page.keyboard.type('2')
  assert.equal(await cpus.inputValue(), '2')
  await page.keyboard.press('Backspace')
  await page.keyboard.press('Tab')
  assert.equal(await cpus.inputValue(), '1', 'the default holds again')
})

test('what a form cannot show is shown as it is written, and left alone', async () => {
  const page = await house.inside()
  await page.goto(`${house.url}/create?door=file`)
  const text = [
    'name: more',
    'input: {from: /srv/data.tar, unpack: true}',
    'output: {to: /srv/results}',
    'code: {at: /srv}',
    'inputs: {train: {from: /srv, at: train}}',
    'roles: {worker: {command: x, accelerators: {A100: 2, T4: 1}}}',
    '',
  ].join('\n')
  await page
    .getByLabel('Import a file')
    .setInputFiles({ name: 'job.yaml', mimeType: 'text/yaml', buffer: Buffer.from(text) })
  const readOnly = async label => {
    const field = page.getByLabel(label, { exact: true })
    assert.equal(await field.getAttribute('readonly'), '', label)
    return field.inputValue()
  }
  await page.getByRole('button', { name: 'Simple' }).click()
  assert.match(await readOnly('Data volume'), /unpack: true/)
  assert.match(await readOnly('Accelerators per worker'), /A100: 2, T4: 1/)
  assert.match(await readOnly('Code'), /at: \/srv/)
  await page.getByRole('button', { name: 'Professional' }).click()
  for (const label of ['Input', 'Outputs', 'Code', 'Accelerators']) await readOnly(label)
  await readOnly('Inputs, each at /input/NAME 1: place, such as mnist:train or /srv/data')
  await page.getByRole('button', { name: 'Open the file' }).first().click()
  await page.getByRole('textbox', { name: 'Job file' }).waitFor()
  assert.deepEqual(page.refused, [])
})

test('mistakes are told beside the field that has them', async () => {
  const page = await house.inside()
  await page.goto(`${house.url}/create?framework=python`)
  const wrong = (label, text) =>
    page.locator('.field', { has: page.getByLabel(label, { exact: true }) }).getByText(text)
  await page.getByLabel('Git address').fill('https://example.org/a.git')
  await page.getByLabel('Branch, tag or commit').fill('bad ref')
  await wrong('Branch, tag or commit', 'bad ref').waitFor()
  await page.getByLabel('CPUs per task').fill('-1')
  await wrong('CPUs per task', 'is -1').waitFor()
  await page.getByRole('button', { name: 'Professional' }).click()
  await page.getByRole('button', { name: 'Environment variables: Add', exact: true }).click()
  await page.getByLabel('Environment variables 1: name').fill('A B')
  await page.getByRole('group', { name: 'Environment variables', exact: true }).getByText('A B').waitFor()
  await page.getByLabel('Role name').fill('bad role')
  await page.getByLabel('Tasks', { exact: true }).click()
  await wrong('Role name', 'has a space').waitFor()
})

test('an answer that was lost does not make a second job', async () => {
  const page = await house.inside()
  await page.goto(`${house.url}/create?framework=`)
  await page.getByLabel('Name', { exact: true }).fill('once')
  await command(page).fill('true')
  let lost = 0
  await page.route(/\/api\/v1\/jobs(\?(?!.*dry_run).*)?$/, async route => {
    if (route.request().method() !== 'POST' || lost > 0) return route.continue()
    lost += 1
    await route.fetch()
    return route.abort()
  })
  await page.getByRole('button', { name: 'Review and submit' }).and(page.locator(':not([aria-disabled])')).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('button', { name: 'Submit' }).click()
  await dialog.getByText('Cannot reach the server').waitFor()
  await dialog.getByRole('button', { name: 'Submit' }).click()
  await page.getByRole('heading', { name: 'once@1' }).waitFor()
  assert.equal(lost, 1)
})

test('the form goes on by itself when the server is there again', async () => {
  const page = await house.inside()
  await page.goto(`${house.url}/create?framework=`)
  await page.getByLabel('Name', { exact: true }).fill('patient')
  let isAway = true
  await page.route(/dry_run=true/, route => (isAway ? route.abort() : route.continue()))
  await command(page).fill('true')
  await page.getByRole('complementary').getByText('Cannot reach the server').waitFor()
  isAway = false
  await page.getByRole('button', { name: 'Review and submit' }).and(page.locator(':not([aria-disabled])')).waitFor()
})
