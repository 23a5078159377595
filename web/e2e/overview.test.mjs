// The first page of a job: what happened to it, its tasks, and what can be done.
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { House, until } from './house.mjs'

let house
before(async () => {
  house = await House.open()
})
after(() => house.close())

const DAY_MS = 86_400_000

test('the newest events stand first, under their day, however many came before', async () => {
  const id = await house.line('eventful', 'true')
  await house.state(id, 'succeeded')
  const [first] = (await house.ask('GET', `/api/v1/jobs/${id}/events`)).events
  const event = seq => ({ ...first, seq, reason: `event ${seq}`, at_ms: Date.UTC(2026, 0, 5) + (seq * DAY_MS) / 400 })
  const page = await house.inside()
  // A page of the server's has 500.
  await page.route(/\/events\?after=/, route => {
    const after = Number(new URL(route.request().url()).searchParams.get('after'))
    const events = Array.from({ length: 1200 }, (_, index) => event(index + 1)).slice(after, after + 500)
    return route.fulfill({ json: { events, next: events.length === 500 ? events.at(-1).seq : null } })
  })
  await page.goto(`${house.url}/jobs/${id}`)
  const timeline = page.getByRole('region', { name: 'Timeline' })
  await timeline.getByText('event 1200', { exact: true }).waitFor()
  assert.equal(
    await timeline
      .getByRole('listitem')
      .first()
      .innerText()
      .then(it => it.includes('event 1200')),
    true,
  )
  await timeline.getByRole('heading', { name: /8 January 2026|January 8, 2026/ }).waitFor()
  assert.equal(await timeline.getByText('event 1', { exact: true }).count(), 0)
  for (let press = 0; press < 5; press += 1) await timeline.getByRole('button', { name: /Show earlier events/ }).click()
  await timeline.getByText('event 1', { exact: true }).waitFor()
  assert.equal(await timeline.getByRole('button').count(), 0)
  assert.equal(await timeline.getByRole('listitem').count(), 1200)
})

test('a time limit begins with the one that holds, and is refused beside its field', async () => {
  const id = await house.line('limited', 'sleep 600', { max_duration: '12h' })
  await house.state(id, 'running')
  const page = await house.inside()
  await page.goto(`${house.url}/jobs/${id}`)
  await page.getByRole('button', { name: 'Time limit…' }).click()
  const dialog = page.getByRole('dialog')
  const limit = dialog.getByLabel('Time limit')
  assert.equal(await limit.inputValue(), '12h')
  await limit.fill('soon')
  await dialog.getByRole('button', { name: 'Set' }).click()
  await dialog.getByRole('alert').getByText('soon').waitFor()
  await limit.fill('2h')
  await dialog.getByRole('button', { name: 'Set' }).click()
  await dialog.waitFor({ state: 'hidden' })
  assert.equal((await house.job(id)).max_duration_ms, 7_200_000)
})

test('a job is cloned under another name, and continued from what it put out', async () => {
  const id = await house.line('mother', 'echo x > /output/model', { params: { lr: 0.1 } })
  await house.state(id, 'succeeded')
  const page = await house.inside()
  await page.goto(`${house.url}/jobs/${id}`)
  const region = page.getByRole('region', { name: 'worker' })
  await region.getByRole('columnheader', { name: 'Address' }).waitFor()
  await region.getByRole('cell', { name: '127.0.0.1' }).waitFor()
  await page.getByRole('button', { name: 'Clone' }).click()
  await page.getByRole('heading', { name: 'Clone mother@1' }).waitFor()
  const name = page.getByLabel('Name', { exact: true })
  await until('a free name', async () => (await name.inputValue()) === 'mother-2')
  assert.equal(await page.getByLabel('Command', { exact: true }).inputValue(), 'echo x > /output/model')

  await page.goto(`${house.url}/jobs/${id}`)
  await page.getByRole('button', { name: 'Continue from' }).click()
  await page.getByRole('heading', { name: 'Continue from mother@1' }).waitFor()
  assert.equal(await name.inputValue(), 'mother')
  await page.getByRole('button', { name: 'Review and submit' }).and(page.locator(':not([aria-disabled])')).click()
  const dialog = page.getByRole('dialog')
  for (const word of ['Ports', 'Inputs', 'Outputs', 'Total']) await dialog.getByText(word).waitFor()
  await dialog.getByRole('button', { name: 'Submit' }).click()
  await page.getByRole('heading', { name: 'mother@2' }).waitFor()
  assert.equal((await house.job('mother@2')).spec.from, 'mother@1')
})

test('a description is changed on the page of a job and in the list, also when the job is over', async () => {
  const id = await house.line('described', 'true', { description: 'first try' })
  await house.state(id, 'succeeded')
  const page = await house.inside()
  await page.goto(`${house.url}/jobs/${id}`)
  const pencil = page.getByRole('button', { name: 'Edit the description of described@1' })
  await pencil.click()
  const field = page.getByRole('dialog').getByLabel('Description')
  assert.equal(await field.inputValue(), 'first try')
  await field.fill('x'.repeat(4097))
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
  await page.getByRole('dialog').getByRole('alert').getByText('4096').waitFor()
  await field.fill('with dropout\nand a smaller step')
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
  await page.getByText('with dropout').waitFor()
  await page.getByRole('region', { name: 'Timeline' }).getByText('Description changed').waitFor()
  await page.goto(`${house.url}/jobs?q=dropout`)
  await pencil.click()
  await field.fill('')
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
  await until('it is taken away', async () => (await house.job(id)).description === '')
  assert.deepEqual(page.refused, [])
})

test('output that was not saved is saved with a button once its place is there again', async () => {
  const place = join(house.place, 'results')
  mkdirSync(place)
  await house.ask(
    'POST',
    '/api/v1/volumes',
    JSON.stringify({ name: 'results', volume: { kind: 'local', path: place } }),
  )
  rmSync(place, { recursive: true })
  writeFileSync(place, 'no directory')
  const id = await house.line('unsaved', 'echo weights > /output/model', { output: 'results' })
  await house.state(id, 'finishing')
  await house.ask('POST', `/api/v1/jobs/${id}/sync`, JSON.stringify({ give_up: true }))
  await house.state(id, 'failed')
  const page = await house.inside()
  await page.goto(`${house.url}/jobs/${id}`)
  const again = page.getByRole('button', { name: 'Save output again' })
  await again.waitFor()
  rmSync(place)
  mkdirSync(place)
  await again.click()
  await page.getByText('Saving the output is tried again').waitFor()
  const saved = join(place, 'unsaved/1/model')
  await until('the output is saved', () => existsSync(saved))
  assert.equal(readFileSync(saved, 'utf8'), 'weights\n')
  await again.waitFor({ state: 'hidden' })
  await page.getByRole('region', { name: 'Timeline' }).getByText('output saved').waitFor()
  assert.deepEqual(page.refused, [])
})
