// What a job writes about itself, seen as curves.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, test } from 'node:test'
import { House, until } from './house.mjs'
import { training } from './training.mjs'

let house
before(async () => {
  house = await House.open()
})
after(() => house.close())

const chart = (page, name) => page.getByRole('slider', { name, exact: true })
const told = area => area.getAttribute('aria-valuetext')
const lastStep = async area => Number(await area.getAttribute('aria-valuemax'))

/** Whether anything is drawn in one of the colours of lines. */
const coloured = area =>
  area
    .locator('canvas')
    .first()
    .evaluate(canvas => {
      const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height)
      let count = 0
      for (let at = 0; at < data.length; at += 4) {
        const most = Math.max(data[at], data[at + 1], data[at + 2])
        const least = Math.min(data[at], data[at + 1], data[at + 2])
        if (data[at + 3] > 100 && most - least > 60) count += 1
      }
      return count
    })

test('loss and accuracy of a running job grow before the eyes, and can be read with the keyboard', async () => {
  const id = await house.line('live', training({ steps: 5000, pause: 0.1 }))
  await house.state(id, 'running')
  const page = await house.inside()
  await page.goto(`${house.url}/jobs/${id}`)
  await page.getByRole('navigation', { name: 'About this job' }).getByRole('link', { name: 'Curves' }).click()
  const loss = chart(page, 'loss')
  await loss.waitFor()
  await page.getByText('● Live').waitFor()
  const seen = await lastStep(loss)
  await until('more points come by themselves', async () => (await lastStep(loss)) > seen + 10)
  assert.ok((await coloured(loss)) > 100, 'a line is drawn')
  const names = await page.locator('.curve-card h3').allInnerTexts()
  assert.deepEqual(names.slice(0, 1), ['loss'], 'losses stand first')
  assert.ok(names.indexOf('accuracy') < names.indexOf('learning_rate'), names.join(', '))
  await loss.focus()
  await page.keyboard.press('Home')
  await until('the first value is told', async () => /^Step 1; worker-0 \d\.\d+$/.test(await told(loss)))
  await page.keyboard.press('ArrowRight')
  assert.match(await told(loss), /^Step 2; /)
  await page.getByText(/^Step 2$/).waitFor()
  await page.keyboard.press('Escape')
  assert.equal(await told(loss), '1 line')
  assert.deepEqual(page.refused, [])
})

test('of more metrics than one line to the server carries, the last one grows too', async () => {
  const columns = Array.from({ length: 80 }, (_, at) => `m${String(at).padStart(2, '0')}`)
  const row = columns.map(name => `"${name}": %d`).join(', ')
  const values = columns.map(() => 'i * i').join(', ')
  const program = `BEGIN { while (1) { i += 1; printf "{\\"step\\": %d, ${row.replaceAll('"', '\\"')}}\\n", i, ${values}; fflush(); system("sleep 0.1") } }`
  const id = await house.line('many', `awk '${program}' > /output/metrics.jsonl`)
  await house.state(id, 'running')
  const page = await house.inside()
  await page.goto(`${house.url}/jobs/${id}/curves?metric=m79`)
  const last = chart(page, 'm79')
  await last.waitFor()
  const seen = await lastStep(last)
  await until('it grows', async () => (await lastStep(last)) > seen)
  await page.goto(`${house.url}/jobs/${id}/curves`)
  await page.getByRole('button', { name: 'Show 32 more charts' }).click()
  await page.getByRole('heading', { name: 'm79' }).waitFor()
  assert.deepEqual(page.refused, [])
})

test('a part is chosen by dragging, fetched more finely, kept in the address, and given back', async () => {
  const id = await house.line('long', training({ steps: 4000 }))
  await house.state(id, 'succeeded')
  await until('all of it was read', async () => {
    const { series } = await house.ask('GET', `/api/v1/jobs/${id}/metrics?name=loss`)
    return series[0]?.points === 4000
  })
  const page = await house.inside()
  const asked = []
  page.on('request', request => asked.push(request.url()))
  await page.goto(`${house.url}/jobs/${id}/curves?metric=loss`)
  const loss = chart(page, 'loss')
  await loss.waitFor()
  await loss.hover()
  await page.getByText(/0\.\d+ … \d\.\d+/).waitFor()
  const box = await loss.boundingBox()
  const [y, at] = [box.y + box.height / 2, part => box.x + box.width * part]
  await page.mouse.move(at(0.4), y)
  await page.mouse.down()
  await page.mouse.move(at(0.45), y, { steps: 4 })
  await page.mouse.up()
  await until('the part stands in the address', () => /from=\d+&to=\d+/.test(page.url()))
  const address = new URL(page.url())
  const [from, to] = ['from', 'to'].map(name => Number(address.searchParams.get(name)))
  assert.ok(from > 1400 && to < 2000 && to > from, page.url())
  await until('the server was asked for it', () => asked.some(url => /metrics\/points.*from=1\d\d\d&to=/.test(url)))
  await loss.focus()
  await page.keyboard.press('Home')
  await until('single points are told', async () => /^Step 1,\d\d\d; worker-0 [\d.]+$/.test(await told(loss)))
  const first = await told(loss)
  await page.keyboard.press('ArrowRight')
  const step = text => Number(/Step ([\d,]+)/.exec(text)[1].replace(',', ''))
  assert.equal(step(await told(loss)), step(first) + 1, 'every point is there')
  await page.reload()
  await chart(page, 'loss').waitFor()
  assert.equal(await lastStep(chart(page, 'loss')), to)
  await page.getByRole('button', { name: 'Show all' }).click()
  await until('everything is seen again', async () => (await lastStep(chart(page, 'loss'))) === 4000)
  await chart(page, 'loss').focus()
  await page.keyboard.press('+')
  await until('the keyboard zooms too', () => page.url().includes('from='))
  await chart(page, 'loss').dblclick()
  await until('a double click gives it back', () => !page.url().includes('from='))
  await page.getByText('As a table').click()
  const rows = page.getByRole('region', { name: 'loss' }).getByRole('row')
  await until('the same as a table', async () => (await rows.count()) > 50)
  assert.deepEqual(page.refused, [])
})

test('NaN 有标记，曲线在那里断开；平滑与对数坐标写在地址里', async () => {
  const id = await house.line('nan', training({ steps: 60, nan: 30 }))
  await house.state(id, 'succeeded')
  const page = await house.inside({ language: 'zh' })
  await page.goto(`${house.url}/jobs/${id}/curves`)
  const loss = chart(page, 'loss')
  await loss.waitFor()
  await page.getByText('1 个值是 NaN 或无穷大').waitFor()
  await page.getByLabel('平滑').fill('0.6')
  await until('平滑写在地址里', () => page.url().includes('smooth=0.6'))
  await page.getByLabel('对数坐标').check()
  await until('对数坐标写在地址里', () => page.url().includes('log=1'))
  await page.getByLabel('横轴').selectOption('已用时间')
  await until('横轴写在地址里', () => page.url().includes('x=span'))
  await page.getByLabel('横轴').selectOption('步数')
  await loss.focus()
  await page.keyboard.press('Home')
  for (let count = 1; count < 30; count += 1) await page.keyboard.press('ArrowRight')
  assert.equal(await told(loss), '步数 30; worker-0 NaN')
  const names = page.getByLabel('查找指标')
  await names.fill('acc')
  await until('只剩下名称相符的', async () => (await page.locator('.curve-card h3').allInnerTexts()).length === 2)
  await names.fill('没有')
  await page.getByText('没有名称包含它的指标').waitFor()
  assert.deepEqual(page.refused, [])
})

test('another version is drawn over this one, and what is best and last is told', async () => {
  const run = lr => ({
    name: 'again',
    params: { lr },
    roles: { worker: { command: training({ lr, steps: 100 }), memory: '64MiB', tasks: 2 } },
  })
  const first = await house.submit(run(0.1))
  await house.state(first, 'succeeded')
  const second = await house.submit(run(0.02))
  await house.state(second, 'succeeded')
  const page = await house.inside()
  await page.goto(`${house.url}/jobs/${second}/curves?task=worker-0`)
  const loss = chart(page, 'loss')
  await loss.waitFor()
  assert.equal(await told(loss), '1 line')
  await page.getByText('Overlay versions').click()
  await page.getByLabel(/again@1.*lr=0.1/).check()
  await until('both are drawn', async () => (await told(loss)) === '2 lines')
  await until('it stands in the address', () => page.url().includes('with=1'))
  await page.keyboard.press('Escape')
  const card = page.getByRole('region', { name: 'loss', exact: true })
  const row = card.getByRole('row').filter({ hasText: 'again@1' })
  const { series } = await house.ask('GET', `/api/v1/jobs/${first}/metrics?name=loss&task=worker-0`)
  assert.ok(
    (await row.innerText()).includes(String(Number(series[0].least.value.toPrecision(7)))),
    await row.innerText(),
  )
  await card.getByRole('button', { name: 'Show again@1' }).click()
  await until('one of them is hidden', async () => (await told(loss)) === '1 line')
  const download = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Download CSV' }).click()
  const file = await download
  assert.equal(file.suggestedFilename(), 'again-2-metrics.csv')
  assert.match(readFileSync(await file.path(), 'utf8'), /worker-0,1,output,,loss,1,\d+,2\.\d+/)
  assert.deepEqual(page.refused, [])
})

test('names of metrics and groups that others chose are shown and never run', async () => {
  const names = [
    '<img src=x onerror=alert(1)>',
    '"><svg onload=alert(1)>',
    "'-alert(1)-'",
    'a,b',
    '\u202e<script>alert(1)</script>',
  ]
  const line = JSON.stringify({ step: 1, ...Object.fromEntries(names.map((name, at) => [name, at])) })
  const quoted = `'${line.replaceAll("'", "'\\''")}'`
  const command = `mkdir -p '/output/<b onclick=alert(1)>' && for at in 1 2; do echo ${quoted}; done | tee '/output/<b onclick=alert(1)>/metrics.jsonl' > /output/metrics.jsonl`
  const id = await house.line('names', command)
  await house.state(id, 'succeeded')
  const page = await house.inside()
  await page.goto(`${house.url}/jobs/${id}/curves`)
  for (const name of names) {
    await page.getByRole('heading', { name, exact: true }).scrollIntoViewIfNeeded()
    await chart(page, name).waitFor()
    assert.equal(await told(chart(page, name)), '2 lines')
  }
  await page.getByLabel('Group').selectOption('<b onclick=alert(1)>')
  await page.goto(`${house.url}/jobs/${id}/curves?metric=${encodeURIComponent(names[0])}`)
  await chart(page, names[0]).waitFor()
  await page.getByText('As a table').click()
  await page.getByRole('cell', { name: '<b onclick=alert(1)>' }).first().waitFor()
  assert.deepEqual(page.refused, [])
})

test('a job that writes nothing says how numbers become curves, in both languages', async () => {
  const id = await house.line('silent', 'true')
  await house.state(id, 'succeeded')
  for (const [language, title, way] of [
    ['en', 'This job has written no metrics', 'It writes TensorBoard event files below /output'],
    ['zh', '这个作业没有写出任何指标', '在 /output 下写 TensorBoard 事件文件'],
  ]) {
    const page = await house.inside({ language })
    await page.goto(`${house.url}/jobs/${id}/curves`)
    await page.getByText(title).waitFor()
    await page.getByText(way).waitFor()
  }
})

test('what was left out of the curves is said in the language of the page, also where there are none', async () => {
  const broken = 'mkdir /output/logs; head -c 100 /dev/urandom > /output/logs/events.out.tfevents.1'
  const id = await house.line('broken', broken)
  await house.state(id, 'succeeded')
  for (const [language, title, said] of [
    ['en', 'Not everything was kept', 'is damaged at byte 0; the rest of it is not read'],
    ['zh', '有些内容没有保留', '中有一个事件文件从第 0 字节起已损坏，之后的内容没有读取'],
  ]) {
    const page = await house.inside({ language })
    await page.goto(`${house.url}/jobs/${id}/curves`)
    await page.getByText(title, { exact: true }).click()
    await page.getByRole('listitem').filter({ hasText: said }).waitFor()
    await page.context().close()
  }
})
