// Logs: long, live, filtered, side by side, and as hostile as bytes can be.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { House, until } from './house.mjs'

let house
before(async () => {
  house = await House.open()
})
after(() => house.close())

const linesOf = page => page.getByRole('region', { name: 'Log lines' })

test('of a long log only what can be seen is in the page, and little of it in memory', async () => {
  const id = await house.line('long', 'seq 1 60000 | sed "s/^/line /"')
  await house.state(id, 'succeeded')
  const page = await house.inside()
  const asked = []
  page.on('request', request => request.url().includes('/lines?') && asked.push(request.url()))
  await page.goto(`${house.url}/jobs/${id}/logs?lines=all`)
  await page.getByText('60,000 lines').waitFor()
  await linesOf(page).getByText('line 60000', { exact: true }).waitFor()
  const before = asked.length
  await linesOf(page).evaluate(box => {
    box.scrollTop = 0
  })
  await linesOf(page).getByText('line 1', { exact: true }).waitFor()
  assert.ok(asked.length > before, 'what was let go of is asked for again')
  const rows = await page.locator('.log-row').count()
  assert.ok(rows > 20 && rows < 150, `${rows} rows`)
  assert.deepEqual(page.refused, [])
})

test('a progress bar is one line that moves, and colours are shown', async () => {
  const bar = 'for p in 10 20 30; do printf "\\r%s%% [##]" $p; done; while [ ! -e /output/go ]; do sleep 0.05; done'
  const command = `printf '\\033[1;31mred\\033[0m plain\\n'; ${bar}; printf '\\r100%% [##]\\n'`
  const id = await house.line('bar', command.replace('/output/go', '/tmp/go'), { stop_grace: '100ms' })
  const page = await house.inside()
  await page.goto(`${house.url}/jobs/${id}/logs`)
  await linesOf(page).getByText('30% [##]').waitFor()
  assert.equal(await linesOf(page).getByText('20%').count(), 0)
  assert.equal(await linesOf(page).getByText('red').getAttribute('class'), 'sgr-bold sgr-1')
  await house.ask('POST', `/api/v1/jobs/${id}/stop`)
  await page.getByText('The job has ended; this is the complete log').waitFor()
  await page.getByText('2 lines').waitFor()
})

test('the last lines first, earlier ones when asked for, and the place that is read does not jump', async () => {
  const id = await house.line('tail', 'seq 1 3000 | sed "s/^/line /"')
  await house.state(id, 'succeeded')
  const page = await house.inside()
  await page.goto(`${house.url}/jobs/${id}/logs`)
  await page.getByText('1,000 lines', { exact: true }).waitFor()
  const lines = linesOf(page)
  await lines.getByText('line 3000', { exact: true }).waitFor()
  await lines.evaluate(box => {
    box.scrollTop = 0
  })
  await lines.getByText('line 2001', { exact: true }).waitFor()
  const topOf = () => lines.getByText('line 2005', { exact: true }).evaluate(it => it.getBoundingClientRect().top)
  const top = await topOf()
  await page.getByRole('button', { name: 'Show earlier lines' }).click()
  await page.getByText('3,000 lines', { exact: true }).waitFor()
  assert.ok(Math.abs((await topOf()) - top) < 40, 'no more than the button that went')
  await lines.evaluate(box => {
    box.scrollTop = 0
  })
  await lines.getByText('line 1', { exact: true }).waitFor()
})

test('two tasks side by side show the same moment', async () => {
  const command = 'i=0; while [ $i -lt 200 ]; do i=$((i+1)); echo "at $i"; sleep 0.01; done'
  const id = await house.submit({ name: 'lanes', roles: { worker: { command, tasks: 2, memory: '64MiB' } } })
  await house.state(id, 'succeeded')
  const page = await house.inside()
  await page.goto(`${house.url}/jobs/${id}/logs?lanes=1&times=1`)
  const lane = name => page.getByRole('region', { name: `Log lines: ${name}` })
  await lane('worker-1').getByText('at 200').waitFor()
  await lane('worker-0').getByText('at 200').waitFor()
  await lane('worker-0').hover()
  await page.mouse.wheel(0, -1900)
  const topTime = name =>
    lane(name).evaluate(box => {
      const top = box.getBoundingClientRect().top
      const row = [...box.querySelectorAll('.log-row')].find(it => it.getBoundingClientRect().bottom > top)
      const [, minutes, seconds] = row.querySelector('time').textContent.split(':')
      return Number(minutes) * 60 + Number(seconds)
    })
  await until('both are at the same moment', async () => {
    const [one, other] = [await topTime('worker-0'), await topTime('worker-1')]
    return Math.abs(one - other) < 0.2 && (await lane('worker-0').getByText('at 200').count()) === 0
  })
})

test('bytes that nobody should print are shown, and the page stays quick', async () => {
  const command = [
    "head -c 100000000 /dev/zero | tr '\\0' x; echo",
    "printf 'nul \\000 here\\n'",
    "printf 'rtl \\342\\200\\256 evil \\327\\251\\327\\234\\327\\225\\327\\235\\n'",
    "i=0; while [ $i -lt 10000 ]; do i=$((i+1)); printf '\\033[3%sm.' $((i % 8)); done; echo",
    "printf '\\033]0;title\\007\\033[2J\\033[999Hmoved\\n'",
    "printf 'bad \\377\\376 utf8\\n'",
    'echo the end',
  ].join('\n')
  const id = await house.line('vile', command)
  await house.state(id, 'succeeded')
  const page = await house.inside()
  const title = await page.title()
  const began = Date.now()
  await page.goto(`${house.url}/jobs/${id}/logs?wrap=1`)
  await linesOf(page).getByText('the end').waitFor()
  assert.ok(Date.now() - began < 15_000, `${Date.now() - began} ms`)
  await linesOf(page)
    .getByText(/nul .*here/)
    .waitFor()
  await linesOf(page).getByText('moved').waitFor()
  await linesOf(page)
    .getByText(/bad .* utf8/)
    .waitFor()
  await linesOf(page).evaluate(box => {
    box.scrollTop = 0
  })
  await page.getByText('the rest of this line is in the download').first().waitFor()
  assert.ok(!(await page.title()).includes('title') && title.length > 0, 'no escape names the window')
  assert.deepEqual(page.refused, [])
})

test('many tasks side by side are all live, and the rest of the console still answers', async () => {
  const command = 'while :; do i=$((i+1)); echo "at $i"; sleep 0.2; done'
  const worker = { command, tasks: 8, cpus: 0.1, memory: '64MiB' }
  const id = await house.submit({ name: 'wide', stop_grace: '100ms', roles: { worker } })
  await house.state(id, 'running')
  const page = await house.inside()
  await page.goto(`${house.url}/jobs/${id}/logs?lanes=1`)
  const lane = index => page.getByRole('region', { name: `Log lines: worker-${index}` })
  await lane(0).getByText('at 1', { exact: true }).waitFor()
  await page.getByText('Not shown: worker-6, worker-7').waitFor()
  const last = index => lane(index).locator('.log-row').last().innerText()
  const first = await Promise.all([0, 5].map(last))
  await until('lines go on coming', async () => (await last(0)) !== first[0] && (await last(5)) !== first[1])
  const texts = (await lane(0).locator('.log-row').allInnerTexts()).map(it => it.trim())
  assert.deepEqual(texts, [...new Set(texts)], 'no line comes twice')
  await page.getByRole('link', { name: 'Why' }).click()
  await page.getByRole('region', { name: 'Why it is in this state' }).waitFor()
  await house.ask('POST', `/api/v1/jobs/${id}/stop`)
})

/** Every page of a test counts as seen; this is what a browser tells one whose tab is behind another. */
const turn = (page, state) =>
  page.evaluate(state => {
    Object.defineProperty(document, 'visibilityState', { configurable: true, value: state })
    document.dispatchEvent(new Event('visibilitychange'))
  }, state)

test('tabs that nobody sees leave the browser its lines, and lose and repeat none of the log', async () => {
  const id = await house.line('tabs', 'i=0; while :; do i=$((i+1)); echo "line $i"; sleep 0.05; done')
  const first = await house.inside()
  const open = async page => {
    const followed = page.waitForResponse(/follow=true/)
    await page.goto(`${house.url}/jobs/${id}/logs`)
    await linesOf(page)
      .getByText(/^line \d+$/)
      .first()
      .waitFor()
    await followed
  }
  // As many as a browser has lines to one server.
  const others = []
  await open(first)
  await turn(first, 'hidden')
  while (others.length < 5) {
    const page = await first.context().newPage()
    await open(page)
    await turn(page, 'hidden')
    others.push(page)
  }
  const seventh = await first.context().newPage()
  await open(seventh)
  await seventh.close()
  await turn(first, 'visible')
  await house.ask('POST', `/api/v1/jobs/${id}/stop`)
  await first.getByText('The job has ended; this is the complete log').waitFor()
  const last = await linesOf(first)
    .getByText(/^line \d+$/)
    .last()
    .innerText()
  const count = Number(last.replace('line ', ''))
  await first.getByText(`${count.toLocaleString('en')} lines`, { exact: true }).waitFor()
  assert.deepEqual(first.refused, [])
})
