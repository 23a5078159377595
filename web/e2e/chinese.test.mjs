// On a Chinese page the server speaks Chinese too: what happened, and why things are as they are.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { House, settled, until } from './house.mjs'
import { PLACES, settle } from './town.mjs'

let house
let jobs
let page
before(async () => {
  house = await House.open()
  jobs = await settle(house)
  page = await house.inside({ language: 'zh' })
})
after(() => house.close())

/** Three English words in a row are a sentence. What tasks print, names and commands are in a box of code or no sentences. */
const sentences = async () => {
  const text = await page.evaluate(() => {
    const main = document.querySelector('main').cloneNode(true)
    for (const it of main.querySelectorAll('pre, code, .mono, .code, .log-row, .compared-value')) it.replaceWith(' · ')
    return [...main.querySelectorAll('*')].flatMap(it =>
      [...it.childNodes].filter(node => node.nodeType === Node.TEXT_NODE).map(node => node.textContent),
    )
  })
  return text.filter(it => /[A-Za-z]{2,},? [a-z]{2,},? [a-z]{2,}/.test(it))
}

/** Opens a page of a job, and answers every English sentence on it. */
const english = path => englishAt(`/jobs/${path}`)

async function englishAt(path) {
  await page.goto(house.url + path)
  await page.getByRole('heading', { level: 1 }).waitFor()
  await settled(page)
  return sentences()
}

/** What somebody wrote about the job is in whatever language they wrote it in. */
const said = async id => (await house.job(id)).description

test('中文页面的事件记录和原因里没有英文句子', async () => {
  for (const id of [jobs.first, jobs.failed, jobs.stopped, jobs.running, jobs.queued]) {
    const own = await said(id)
    for (const tab of ['', '/why', '/versions', '/services']) {
      const found = (await english(id + tab)).filter(it => it !== own)
      assert.deepEqual(found, [], `${id}${tab}`)
    }
  }
  const timeline = page.getByRole('region', { name: '事件记录' })
  await page.goto(`${house.url}/jobs/${jobs.stopped}`)
  await timeline.getByText('被 admin 停止').first().waitFor()
})

test('其余页面也没有英文句子', async () => {
  const id = jobs.first
  const own = await Promise.all(Object.values(jobs).map(said))
  const tabs = [
    'logs?times=1',
    'curves',
    'resources?by=task',
    'files',
    'files?root=input',
    'files?path=nowhere',
    'spec?view=plan',
  ]
  const pages = [
    ...tabs.map(tab => `/jobs/${id}/${tab}`),
    `/jobs/${jobs.failed}/files`,
    `/jobs/${jobs.failed}/curves`,
    `/jobs/${jobs.queued}/files`,
    `/jobs/${jobs.queued}/resources`,
    `/compare?jobs=${jobs.first},${jobs.second},${jobs.failed}&same=1`,
    ...PLACES,
    '/volumes/nowhere',
    '/create',
    '/create?door=pro',
  ]
  for (const path of pages)
    assert.deepEqual(
      (await englishAt(path)).filter(it => !own.includes(it)),
      [],
      path,
    )
})

test('对比页里资源和设置的名称是中文', async () => {
  const limited = await house.line('limited', 'true', { max_duration: '1h', setup: 'true', priority: 3 })
  const role = { command: 'true', memory: '64MiB', disk: '1GiB' }
  const larger = await house.submit({ name: 'limited', roles: { worker: role } })
  await page.goto(`${house.url}/compare?jobs=${limited},${larger}`)
  const table = page.getByRole('table')
  for (const name of ['时长上限', '启动前命令', '优先级', 'worker 磁盘空间']) {
    await table.getByRole('rowheader', { name, exact: true }).waitFor()
  }
})

test('数据卷测试失败时用中文说明', async () => {
  const broken = { name: 'broken', volume: { kind: 'http', url: 'http://127.0.0.1:9/data' } }
  await house.ask('POST', '/api/v1/volumes', JSON.stringify(broken))
  await page.goto(`${house.url}/volumes`)
  await page
    .getByRole('row', { name: /broken/ })
    .getByRole('button', { name: '测试' })
    .click()
  const toast = page.locator('.toast.bad')
  await toast.waitFor()
  const text = await toast.innerText()
  assert.match(text, /不可用：(列出|打开|读取)：.*[\u4e00-\u9fff]/)
  await house.ask('DELETE', '/api/v1/volumes/broken')
})

test('登录出错时不出现英文', async () => {
  const stranger = await house.page({ language: 'zh' })
  await stranger.goto(`${house.url}/login`)
  await stranger.route(/api\/v1\/login/, route =>
    route.fulfill({ status: 429, json: { code: 'too_many', message: 'too many tries', message_zh: '尝试次数过多' } }),
  )
  await stranger.getByLabel('令牌').fill('tm_x')
  await stranger.keyboard.press('Enter')
  await stranger.getByRole('alert').getByText('尝试次数过多', { exact: true }).waitFor()
})

test('外来作业文件每个字段的去向用中文说明', async () => {
  const file =
    'protocol_version: v2\ntype: job\nname: mnist\nprerequisites:\n  - {type: dockerimage, name: i, uri: python}\ntasks:\n  - {role: w, dockerimage: i, command: [sleep 1]}\n'
  const { id } = await house.ask('POST', '/api/v1/jobs', file)
  assert.deepEqual(await english(`${id}/spec?view=original`), [])
  await page.getByText('不能运行镜像的集群会使用机器自带的程序').first().waitFor()
  assert.deepEqual(await english(id), [])
})

/** What the create page says is wrong with the draft, in the panel beside it. */
const problems = () => page.locator('.check-panel .problems')

async function draft(door, text) {
  await page.goto(`${house.url}/jobs`)
  await page.evaluate(it => sessionStorage.setItem('trainmaster.draft', it), text)
  await page.goto(`${house.url}/create?door=${door}`)
}

test('作业文件里的错误用中文说明，并告诉人怎么改', async () => {
  await draft('file', 'name: my job\nroles:\n  worker:\n    comand: python3 train.py\n    cpus: -1\n')
  await problems().getByText('不认识的键').waitFor()
  await problems().getByText('是不是想写').waitFor()
  await problems().getByText('含有空格').waitFor()
  assert.deepEqual(await sentences(), [])
})

test('表单里的错误用中文说明', async () => {
  await draft('pro', 'name: digits\nroles:\n  worker:\n    tasks: 100000\n    command: python3 train.py\n')
  await problems().getByText('一个角色可以有 1 到').waitFor()
  assert.deepEqual(await sentences(), [])
})

test('服务器拒绝的操作用中文说明', async () => {
  const headers = { authorization: `Bearer ${house.token}` }
  const refused = await fetch(`${house.url}/api/v1/jobs/${jobs.failed}/stop`, { method: 'POST', headers })
  assert.equal(refused.status, 409)
  const body = await refused.json()
  assert.equal(body.code, 'already_over')
  assert.match(body.message_zh, /已经结束/)
  assert.match(body.hint_zh, /重新提交/)
  await page.goto(`${house.url}/jobs/no-such-job`)
  await page.getByText('没有作业').waitFor()
  assert.deepEqual(await sentences(), [])
})

/** What a section of the guide is called, once it has been brought into view. */
async function opened(id) {
  const heading = page.locator(`#${id}`)
  await until(`${id} is in view`, () =>
    heading.evaluate(it => {
      const { top } = it.getBoundingClientRect()
      return top >= 0 && top < innerHeight
    }),
  )
  return heading.textContent()
}

test('帮助里的指南是中文，指南里的链接也通', async () => {
  await page.goto(`${house.url}/help`)
  assert.deepEqual(await sentences(), [])
  await page.getByRole('main').getByRole('link', { name: '作业文件', exact: true }).click()
  await page.getByRole('heading', { level: 1, name: '作业文件' }).waitFor()
  await page.getByRole('article').getByRole('heading', { name: '超参数与密钥' }).waitFor()
  await page.getByRole('navigation', { name: '本页内容' }).getByRole('link', { name: '同时启动' }).waitFor()
  assert.deepEqual(await sentences(), [])
  await page.getByRole('article').getByRole('link', { name: 'git 仓库' }).click()
  await page.getByRole('heading', { level: 1, name: '代码从哪里来' }).waitFor()
  assert.equal(await opened('a-git-repository'), 'git 仓库')
})

test('页面上的问号打开讲它的那一节，换了语言还是那一节', async () => {
  await page.goto(`${house.url}/jobs/${jobs.second}/versions`)
  await page.getByRole('link', { name: /^帮助：/ }).click()
  await page.waitForURL(/\/help\/compare#lineage$/)
  assert.equal(await opened('lineage'), '溯源')
  await page.getByLabel('语言').selectOption('English')
  await page.getByRole('heading', { name: 'Lineage' }).waitFor()
  assert.equal(await opened('lineage'), 'Lineage')
  await page.getByLabel('Language').selectOption('中文')
  await page.getByRole('heading', { name: '溯源' }).waitFor()
})
