import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { House } from './house.mjs'

let house
before(async () => {
  house = await House.open()
})
after(() => house.close())

test('a token logs in, a wrong one says so, and the page that was asked for comes', async () => {
  const page = await house.page()
  await page.goto(`${house.url}/nodes`)
  await page.getByLabel('Token').fill('tm_wrong')
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.getByText('does not know this token').waitFor()
  await page.getByLabel('Token').fill(house.token)
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.getByRole('heading', { name: 'Nodes' }).waitFor()
  assert.equal(new URL(page.url()).pathname, '/nodes')
  assert.deepEqual(page.refused, [])
})

test('a link logs in once, leaves no trace in the address, and the session ends with logging out', async () => {
  const link = await house.ask('POST', '/api/v1/session/link')
  const page = await house.page()
  await page.goto(house.url + link.path)
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  assert.equal(page.url(), `${house.url}/`)
  assert.equal(await page.evaluate(() => document.cookie), '', 'no script sees the cookie')
  await page.reload()
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  await page.getByRole('button', { name: 'Log out' }).click()
  await page.getByLabel('Token').waitFor()
  await page.goto(`${house.url}/jobs`)
  await page.getByLabel('Token').waitFor()

  const second = await house.page()
  await second.goto(house.url + link.path)
  await second.getByText('used already').waitFor()
})

test('after the log-in nobody is led to another site', async () => {
  for (const next of ['//evil.example', 'https://evil.example', '/\\evil.example', '/login']) {
    const page = await house.page()
    await page.goto(`${house.url}/login?next=${encodeURIComponent(next)}`)
    await page.getByLabel('Token').fill(house.token)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    assert.equal(page.url(), `${house.url}/`, next)
    await page.context().close()
  }
})

test('the language is the browser’s until another one is chosen, which is remembered', async () => {
  const page = await house.inside({ language: 'zh' })
  await page.getByRole('heading', { name: '总览' }).waitFor()
  assert.equal(await page.getAttribute('html', 'lang'), 'zh-CN')
  await page.getByLabel('语言').selectOption('English')
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  await page.reload()
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
})

test('a page elsewhere can do nothing with the session, not even from another port of this machine', async () => {
  const { createServer } = await import('node:http')
  const evil = createServer((_, response) =>
    response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>evil</h1>'),
  )
  await new Promise(done => evil.listen(0, '127.0.0.1', done))
  const id = await house.line('victim', 'sleep 600')
  await house.state(id, 'running')
  const page = await house.inside()
  await page.goto(`http://127.0.0.1:${evil.address().port}/`)
  const tried = await page.evaluate(
    async ([url, id]) => {
      const outcome = async init => {
        try {
          const answer = await fetch(`${url}/api/v1/jobs/${id}/stop`, {
            method: 'POST',
            credentials: 'include',
            ...init,
          })
          return `${answer.type} ${answer.status}`
        } catch {
          return 'refused'
        }
      }
      navigator.sendBeacon(`${url}/api/v1/jobs/${id}/stop`)
      return [
        await outcome({}),
        await outcome({ mode: 'no-cors' }),
        await outcome({ headers: { 'x-trainmaster-session': 'x' } }),
      ]
    },
    [house.url, id],
  )
  assert.deepEqual(tried, ['refused', 'opaque 0', 'refused'])
  assert.equal((await house.job(id)).state, 'running', 'the job was not stopped')
  evil.close()
})
