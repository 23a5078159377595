import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { House, until } from './house.mjs'

let house
before(async () => {
  house = await House.open()
})
after(() => house.close())

test('a running job is followed live, stopped and deleted', async () => {
  const id = await house.line('live', 'i=0; while true; do i=$((i+1)); echo line $i; sleep 0.1; done')
  await house.state(id, 'running')
  const page = await house.inside()
  await page.getByRole('link', { name: 'Jobs', exact: true }).click()
  await page.getByRole('link', { name: 'live@1' }).click()
  await page.getByRole('navigation', { name: 'About this job' }).getByRole('link', { name: 'Logs' }).click()
  const log = page.getByRole('region', { name: 'Log lines' })
  await log
    .getByText(/^line \d+$/)
    .first()
    .waitFor()
  const count = page.getByText(/^\d+ lines$/).and(page.locator('span'))
  const seen = await count.innerText()
  await until('more lines come by themselves', async () => (await count.innerText()) !== seen)
  await page.getByLabel('Find in lines').fill('line 2')
  await until('only lines with it are shown', async () => !(await log.innerText()).includes('line 3'))
  assert.equal(await page.getByRole('button', { name: 'Delete' }).getAttribute('title'), 'it is running; stop it first')
  await page.getByRole('button', { name: 'Stop' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Stop' }).click()
  await page.getByText('Stopped', { exact: true }).waitFor()
  await page.getByText('The job has ended; this is the complete log').waitFor()
  await page.getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('heading', { name: 'Jobs', exact: true }).waitFor()
  await assert.rejects(house.job(id), /404/)
  assert.deepEqual(page.refused, [])
})

test('作业列表：筛选写在地址里，批量停止与删除', async () => {
  const ids = [await house.line('batch-a', 'sleep 600'), await house.line('batch-b', 'sleep 600')]
  for (const id of ids) await house.state(id, 'running')
  const page = await house.inside({ language: 'zh' })
  await page.goto(`${house.url}/jobs`)
  await page.getByLabel('搜索名称或描述').fill('batch')
  await until('地址里有搜索词', () => page.url().includes('q=batch'))
  await page.getByLabel('状态').selectOption('未结束')
  await until('地址里有状态', () => page.url().includes('state='))
  await page.reload()
  assert.equal(await page.getByLabel('搜索名称或描述').inputValue(), 'batch')
  await page.getByLabel('选择 batch-a@1').check()
  await page.getByLabel('选择 batch-b@1').check()
  await page.getByText('已选 2 个作业').waitFor()
  const batch = page.getByRole('region', { name: '作业' })
  assert.equal(
    await batch.getByRole('button', { name: '删除', exact: true }).getAttribute('title'),
    '只能删除已结束的作业，请先停止',
  )
  await batch.getByRole('button', { name: '停止', exact: true }).click()
  await page.getByRole('dialog').getByRole('button', { name: '停止' }).click()
  await page.getByText('已要求停止 2 个作业').waitFor()
  for (const id of ids) await house.state(id, 'stopped')
  await page.getByLabel('状态').selectOption('已结束')
  await page.getByLabel('选择本页全部').check()
  await batch.getByRole('button', { name: '删除', exact: true }).click()
  await page.getByRole('dialog').getByRole('button', { name: '删除' }).click()
  await page.getByText('已删除 2 个作业').waitFor()
  await page.getByText('没有符合条件的作业').waitFor()
  assert.deepEqual(page.refused, [])
})

test('pages by cursor, and versions behind their newest', async () => {
  for (let version = 0; version < 55; version += 1) await house.line('many', 'true')
  const page = await house.inside()
  await page.goto(`${house.url}/jobs?name=many`)
  await page.getByRole('button', { name: 'Next page' }).click()
  await page.getByRole('link', { name: 'many@1', exact: true }).waitFor()
  await page.goBack()
  await page.getByRole('link', { name: 'many@55' }).waitFor()
  await page.getByLabel('Group versions').check()
  await page.getByRole('button', { name: '49 earlier versions' }).click()
  await page.getByRole('link', { name: 'many@54' }).waitFor()
})

test('the list is sorted, and narrowed by node, day and tag, all of it in the address', async () => {
  const ids = []
  for (const [name, tag] of [
    ['zebra', 'animal'],
    ['apple', 'fruit'],
    ['mango', 'fruit'],
  ])
    ids.push(await house.line(name, 'true', { tags: [tag], description: 'sorted' }))
  for (const id of ids) await house.state(id, 'succeeded')
  const page = await house.inside()
  await page.goto(`${house.url}/jobs?q=sorted`)
  const names = async wanted => {
    const shown = async () => (await page.locator('tbody th strong').allInnerTexts()).join(' ')
    await until(wanted, async () => (await shown()) === wanted)
  }
  await names('mango apple zebra')
  await page.getByRole('button', { name: 'Name' }).click()
  await names('apple mango zebra')
  await page.getByRole('button', { name: 'Name' }).click()
  await names('zebra mango apple')
  assert.match(page.url(), /sort=-name/)
  await page.getByRole('link', { name: 'fruit' }).first().click()
  await until('the tag is in the address', () => page.url().includes('tag=fruit'))
  await page.goto(`${house.url}/jobs?q=sorted&sort=oldest`)
  await names('zebra apple mango')
  const { runs } = await house.job('zebra')
  await page.getByLabel('Node').selectOption(runs[0].node)
  await until('the node is in the address', () => page.url().includes(`node=${runs[0].node}`))
  await page.getByRole('link', { name: 'zebra@1' }).waitFor()
  await page.getByLabel('From').fill('2099-01-01')
  await page.getByText('No job matches').waitFor()
  await page.getByLabel('From').fill('2001-01-01')
  await page.getByLabel('to', { exact: true }).fill('2099-01-01')
  await page.getByRole('link', { name: 'zebra@1' }).waitFor()
  assert.match(page.url(), /since=2001-01-01&until=2099-01-01/)
  assert.deepEqual(page.refused, [])
})

test('a job is run again with one change, and its secrets are not asked for again', async () => {
  const secrets = { key: 'hush' }
  const command = 'echo lr $LR; [ "{{ secrets.key }}" = hush ] && echo known'
  const first = await house.submit({
    name: 'again',
    secrets,
    env: { LR: '0.1' },
    roles: { worker: { command, memory: '64MiB' } },
  })
  await house.state(first, 'succeeded')
  const page = await house.inside()
  await page.goto(`${house.url}/jobs/${first}`)
  await page.getByRole('button', { name: 'Run again' }).click()
  await page.getByRole('heading', { name: 'Run again@1 again' }).waitFor()
  await page.getByText('Secrets of the earlier version are used').waitFor()
  await page.getByLabel('Time limit').fill('1h')
  await page.getByText('No problems').waitFor()
  await page.getByRole('button', { name: 'Review and submit' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Submit' }).click()
  await page.getByRole('heading', { name: 'again@2' }).waitFor()
  await house.state('again@2', 'succeeded')
  await page.getByRole('navigation', { name: 'About this job' }).getByRole('link', { name: 'Logs' }).click()
  await page.getByText('known', { exact: true }).waitFor()
})

test('what a job waits for is said, and its time limit can be set', async () => {
  const id = await house.submit({ name: 'too-big', roles: { worker: { command: 'true', accelerators: 9 } } })
  const page = await house.inside()
  await page.goto(`${house.url}/jobs/${id}/why`)
  await page.getByText('ask for less').waitFor()
  await page.getByRole('button', { name: 'Time limit…' }).click()
  await page.getByRole('dialog').getByLabel('Time limit').fill('90m')
  await page.getByRole('dialog').getByRole('button', { name: 'Set' }).click()
  await page.getByText('The time limit is set').waitFor()
  assert.equal((await house.job(id)).max_duration_ms, 5_400_000)
})

test('volumes and secrets are added, tried and removed', async () => {
  const page = await house.inside()
  await page.getByRole('link', { name: 'Volumes' }).click()
  await page.getByRole('button', { name: 'Add a volume' }).click()
  const add = page.getByRole('dialog')
  await add.getByLabel('Name').fill('scratch')
  const scratch = join(house.place, 'scratch')
  mkdirSync(join(scratch, 'inside'), { recursive: true })
  await add.getByLabel('Directory').fill(scratch)
  await add.getByRole('button', { name: 'Add' }).click()
  await page.getByRole('button', { name: 'Test' }).click()
  await page.getByText('scratch works').waitFor()
  await page.getByRole('link', { name: 'scratch' }).click()
  await page.getByRole('button', { name: 'inside' }).waitFor()
  await page.getByRole('link', { name: 'Secrets' }).click()
  await page.getByRole('button', { name: 'Add a secret' }).click()
  await page.getByRole('dialog').getByLabel('Name').fill('wandb')
  await page.getByRole('dialog').getByLabel('Value').fill('hush')
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
  await page.getByText('wandb is saved').waitFor()
  await page.getByRole('button', { name: 'Remove' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
  await page.getByText('No secrets').waitFor()
  assert.deepEqual(page.refused, [])
})
