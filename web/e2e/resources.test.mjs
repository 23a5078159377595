// What a job uses, as charts and as figures.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { House, until } from './house.mjs'

/** Keeps a processor busy, holds some memory, writes to a file and speaks over the network to itself. */
const BUSY = `awk 'BEGIN { for (i = 0; i < 400000; i++) kept[i] = "something to hold " i; while (1) spent += 1 }' &
while true; do head -c 2000000 /dev/zero > /output/written; sleep 0.2; done`

let house
let id
before(async () => {
  house = await House.open()
  id = await house.submit({
    name: 'busy',
    stop_grace: '100ms',
    roles: {
      ps: { command: 'sleep 600', cpus: 0.1, memory: '64MiB' },
      worker: { command: BUSY, cpus: 0.5, memory: '256MiB', tasks: 2 },
    },
  })
  await house.state(id, 'running')
  await until('something was looked at', async () => {
    const usage = await house.ask('GET', `/api/v1/jobs/${id}/usage`)
    const workers = usage.tasks.filter(it => it.task.startsWith('worker'))
    return workers.every(it => it.now.memory_bytes > 20_000_000 && it.now.cpu_cores > 0.02)
  })
})
after(() => house.close())

const chart = (page, name) => page.getByRole('slider', { name, exact: true })

test('a busy task is seen live, with its limits and with why some figures are absent', async () => {
  const page = await house.inside()
  await page.goto(`${house.url}/jobs/${id}`)
  await page.getByRole('navigation', { name: 'About this job' }).getByRole('link', { name: 'Resources' }).click()
  for (const name of ['CPU, in cores', 'Memory', 'Disk', 'Network']) await chart(page, name).waitFor()
  const memory = page.getByRole('region', { name: 'Memory', exact: true })
  await memory.getByText(/busy@1/).waitFor()
  assert.match(await memory.innerText(), /\d+(\.\d)? MiB/)
  const accelerators = page.getByRole('region', { name: 'Accelerators, use' })
  await accelerators.getByText('it was given no accelerator').waitFor()
  const end = async () => Number(await chart(page, 'Memory').getAttribute('aria-valuemax'))
  const seen = await end()
  await until('time goes on', async () => (await end()) > seen)
  await page.getByLabel('Group by').selectOption('Task')
  for (const task of ['ps-0', 'worker-0', 'worker-1']) await memory.getByText(task).waitFor()
  await page.getByLabel('Task').selectOption('worker-1')
  await until('one task is left', async () => !(await memory.innerText()).includes('worker-0'))
  assert.ok(page.url().includes('by=task') && page.url().includes('task=worker-1'), page.url())
  await page.getByLabel('Group by').selectOption('Node')
  await page.getByText('Everything that runs on the nodes of this job').waitFor()
  await memory.getByText(/node-\d/).waitFor()
  assert.deepEqual(page.refused, [])
})

test('所有图共用一条时间轴：十字线、缩放与时间范围', async () => {
  const page = await house.inside({ language: 'zh' })
  await page.goto(`${house.url}/jobs/${id}/resources?by=role`)
  const [cpu, memory] = [chart(page, 'CPU（核）'), chart(page, '内存')]
  await memory.waitFor()
  await cpu.focus()
  await page.keyboard.press('End')
  await until('两张图指向同一时刻', async () => {
    const [one, other] = [await cpu.getAttribute('aria-valuenow'), await memory.getAttribute('aria-valuenow')]
    return one === other && (await memory.getAttribute('aria-valuetext')).includes('worker')
  })
  const box = await memory.boundingBox()
  await page.mouse.move(box.x + box.width * 0.5, box.y + 60)
  await page.mouse.down()
  await page.mouse.move(box.x + box.width * 0.8, box.y + 60, { steps: 4 })
  await page.mouse.up()
  await until('选中的范围写在地址里', () => /from=\d+&to=\d+/.test(page.url()))
  const to = new URL(page.url()).searchParams.get('to')
  await until('另一张图也跟着放大', async () => (await cpu.getAttribute('aria-valuemax')) === to)
  await page.getByRole('button', { name: '最近 15 分钟' }).click()
  await until('范围已还原', () => page.url().includes('over=quarter') && !page.url().includes('from='))
  await page.getByText('各项数据的统计方式').click()
  await page.getByText('CPU 核数').waitFor()
  assert.deepEqual(page.refused, [])
})

test('nodes show what is really used beside what is reserved', async () => {
  const page = await house.inside()
  await page.goto(`${house.url}/nodes`)
  const { nodes } = await house.ask('GET', '/api/v1/usage/now')
  const busy = nodes.find(node => (node.now.memory_bytes ?? 0) > 0)
  const card = page.getByRole('region', { name: busy.name, exact: true })
  await card.getByText('In use now').waitFor()
  await until('its memory is told', async () => /\d MiB of 8 GiB/.test(await card.innerText()))
  await card.getByRole('slider', { name: 'Memory: last 15 minutes' }).waitFor()
  await page.goto(`${house.url}/`)
  await page.getByText('In use now').waitFor()
  assert.deepEqual(page.refused, [])
})

test('a job that is over keeps its figures', async () => {
  const over = await house.line('over', 'sleep 2.5')
  await house.state(over, 'succeeded')
  const page = await house.inside()
  await page.goto(`${house.url}/jobs/${over}/resources`)
  await chart(page, 'Memory').waitFor()
  const totals = page.getByRole('region', { name: 'Totals' })
  assert.match(await totals.innerText(), /worker-0/)
  assert.equal(await page.getByText('● Live').count(), 0)
})
