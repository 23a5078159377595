// The first page of a job: what happened to it, its tasks, and what can be done.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { House } from './house.mjs'

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
