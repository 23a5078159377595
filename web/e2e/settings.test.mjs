// Settings, how the console looks, and the numbers of the first page and the list.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { House, until } from './house.mjs'

let house
before(async () => {
  house = await House.open()
})
after(() => house.close())

test('the theme follows the choice and is remembered, and follows the system where nobody chose', async () => {
  const page = await house.inside({ theme: 'system' })
  await page.goto(`${house.url}/settings`)
  const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor)
  await page.emulateMedia({ colorScheme: 'light' })
  const light = await paper()
  await page.emulateMedia({ colorScheme: 'dark' })
  await until('the system’s theme', async () => (await paper()) !== light)
  const dark = await paper()
  await page.getByLabel('Theme').selectOption('Light')
  assert.equal(await paper(), light)
  await page.getByLabel('Theme').selectOption('Dark')
  assert.equal(await paper(), dark)
  assert.equal(await page.evaluate(() => localStorage.getItem('trainmaster.theme')), 'dark')
})

test('settings say who you are, which version this is, and lead to what is written about it', async () => {
  const page = await house.inside()
  await page.goto(`${house.url}/settings`)
  const about = await house.ask('GET', '/api/v1/about')
  await page.getByRole('main').getByText(about.user, { exact: true }).waitFor()
  await page.getByRole('main').getByText('Administrator').waitFor()
  await page.getByText(about.version).first().waitFor()
  await page.getByRole('main').getByLabel('Language').selectOption('中文')
  await page.getByRole('heading', { name: '设置' }).waitFor()
  assert.deepEqual(page.refused, [])
})

test('the overview counts one’s own jobs, and each number leads to them', async () => {
  const mine = await house.line('mine', 'true')
  await house.state(mine, 'succeeded')
  const page = await house.inside()
  const asked = []
  page.on('request', request => request.url().includes('/api/v1/jobs?state=') && asked.push(request.url()))
  await page.goto(house.url)
  const counts = page.getByRole('region', { name: 'Your jobs by state' })
  await counts.getByRole('link', { name: '1 Succeeded' }).click()
  await page.getByRole('link', { name: 'mine@1' }).waitFor()
  const { user } = await house.ask('GET', '/api/v1/about')
  assert.equal(new URL(page.url()).searchParams.get('owner'), user)
  assert.ok(asked.length > 0 && asked.every(it => new URL(it).searchParams.get('owner') === user))
})

test('what is left of a limit is said while a job runs, and nothing once it has ended', async () => {
  const running = await house.line('running', 'sleep 600', { max_duration: '2h' })
  const ended = await house.line('ended', 'true', { max_duration: '2h' })
  await house.state(running, 'running')
  await house.state(ended, 'succeeded')
  const page = await house.inside()
  await page.goto(`${house.url}/jobs`)
  const left = name => page.getByRole('row', { name: new RegExp(`${name}@1`) }).getByTitle('Time limit: 2:00:00')
  assert.match(await left('running').innerText(), /^1:59:\d\d$/)
  assert.equal(await left('ended').innerText(), '–')
  await page.goto(`${house.url}/jobs/${running}`)
  await page.getByText(/2:00:00 \(Remaining 1:59:\d\d\)/).waitFor()
})
