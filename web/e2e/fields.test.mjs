// Every field that people know from the forms they came from, in the form and in the file that is submitted.
import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { serveGit } from './git.mjs'
import { House, until } from './house.mjs'

let house
let git
before(async () => {
  house = await House.open()
  git = await serveGit(house.place, { 'train.py': 'print(1)\n' }, 'ann:s3, cret')
  for (const name of ['tfoss', 'results']) {
    const path = join(house.place, name)
    mkdirSync(path)
    await house.ask('POST', '/api/v1/volumes', JSON.stringify({ name, volume: { kind: 'local', path } }))
  }
})
after(async () => {
  git?.close()
  await house.close()
})

const fill = text => field => field.fill(text)
const choose = option => field => field.selectOption(option)
const check = field => field.check()
const uncheck = field => field.uncheck()
const field = (requirement, label, act, path, wanted) => ({ requirement, label, act, path, wanted })
const at = (spec, path) => path.split('.').reduce((value, key) => value?.[key], spec)

async function submitted(page, fields, name, { check: look, submit }) {
  for (const { label, act } of fields) await act(page.getByLabel(label, { exact: true }))
  await page.getByRole('button', { name: look }).and(page.locator(':not([aria-disabled])')).click()
  await page.getByRole('dialog').getByRole('button', { name: submit }).click()
  await page.getByRole('heading', { name: `${name}@1` }).waitFor()
  const { spec } = await house.job(name)
  for (const { requirement, label, path, wanted } of fields) {
    if (path) assert.deepEqual(at(spec, path), wanted, `${requirement} ${label}: ${path}`)
  }
  return spec
}

test('every field of the simple form arrives in the file', async () => {
  const page = await house.inside()
  await page.goto(`${house.url}/create?framework=python`)
  await page.getByLabel('Framework').selectOption('Custom image')
  await page.getByText('A custom image needs its address.').first().waitFor()
  await page.getByLabel('Framework').selectOption('None (use what is installed)')
  await page.getByLabel('Data volume').selectOption('A directory on this machine…')
  await page.getByLabel('Directory', { exact: true }).fill('/srv')
  await page.getByLabel('Git address').fill('git@example.org:team/train.git')
  await page.getByText('Only http:// and https:// addresses are supported.').first().waitFor()
  await page.getByLabel('Name', { exact: true }).fill('tf train')
  // A name with a space is refused in the server's words, beside the field and on the button.
  await page.getByRole('alert').filter({ hasText: 'tf train' }).first().waitFor()
  assert.equal(
    await page.getByRole('button', { name: 'Review and submit' }).getAttribute('aria-disabled'),
    'true',
    'S0-13',
  )
  const fields = [
    field('S0-12', 'Cluster', choose('local')),
    field('S0-13', 'Name', fill('simple-job'), 'name', 'simple-job'),
    field('S0-14', 'Framework', choose('Custom image')),
    field(
      'S0-15',
      'Image address',
      fill('registry.example.org/team/train:1.2'),
      'image',
      'registry.example.org/team/train:1.2',
    ),
    field('S1-13', 'Distributed training', check),
    field('S1-14', 'Parameter servers', fill('2'), 'roles.ps.tasks', 2),
    field('S1-15', 'Workers', fill('3'), 'roles.worker.tasks', 3),
    field('S1-16', 'Accelerators per worker', fill('1'), 'roles.worker.accelerators', 1),
    field('S1-2', 'CPUs per task', fill('0.5'), 'roles.ps.cpus', 0.5),
    field('S1-2', 'Memory per task', fill('64MiB'), 'roles.worker.memory', '64MiB'),
    field('S0-18', 'Data volume', choose('tfoss'), 'input', 'tfoss:'),
    field('S0-19', 'Git address', fill(git.url), 'code.git', git.url),
    field('S0-19', 'Branch, tag or commit', fill('main'), 'code.ref', 'main'),
    field('S0-21', 'Private repository', check),
    field('S0-21', 'Git user name', fill('ann'), 'code.user', 'ann'),
    field('S0-21', 'Git password or token', fill('s3, cret'), 'code.password', '{{ secrets.git }}'),
    field('S0-22', 'Command', fill('python3 train.py'), 'roles.ps.command', 'python3 train.py'),
    field('S0-24', 'TensorBoard', check),
    field('S0-25', 'Training log path', fill('/output/tb'), 'env.TENSORBOARD_LOG_DIR', '/output/tb'),
    field('S4-32', 'Time limit', fill('2h'), 'max_duration', '2h'),
    field('S4-78', 'Retries', fill('2'), 'retries', 2),
  ]
  const words = { check: 'Review and submit', submit: 'Submit' }
  const spec = await submitted(page, fields, 'simple-job', words)
  assert.equal(spec.output, 'tfoss', 'S0-40: what is written comes back to the volume')
  assert.ok(!JSON.stringify(spec).includes('s3, cret'), 'nobody reads the password again')
  assert.deepEqual(page.refused, [])
})

test('专业模式：每个字段都写进配置', async () => {
  const page = await house.inside({ language: 'zh' })
  await page.goto(`${house.url}/create?door=pro&framework=python`)
  await page.getByLabel('角色名称').fill('main')
  await page.getByLabel('任务实例').click()
  await page.getByRole('button', { name: 'main', exact: true }).waitFor()
  await page.getByRole('button', { name: '1 张加速卡 · 2 核 CPU' }).click()
  const rows = ['输入数据，各在 /input/名称', '超参数', '所有角色的环境变量', '端口', '环境变量']
  for (const row of rows) await page.getByRole('button', { name: `${row}：添加`, exact: true }).click()
  const fields = [
    field('S4-8', '集群', choose('local')),
    field('S4-56', '作业名称', fill('pro-job'), 'name', 'pro-job'),
    field('S3-11', '描述', fill('专业模式'), 'description', '专业模式'),
    field('S3-P2', '标签', fill('视觉, nlp'), 'tags', ['视觉', 'nlp']),
    field('S4-26', '优先级', fill('-5'), 'priority', -5),
    field('S4-32', '时长上限', fill('2h'), 'max_duration', '2h'),
    field('S4-65', '任务实例', fill('2'), 'roles.main.tasks', 2),
    field('S4-74', '执行命令', fill('echo $GREETING\necho two'), 'roles.main.command', 'echo $GREETING\necho two'),
    field('S4-77', '加速卡类型', choose('A100')),
    field('S4-69', '加速卡数量', fill('1'), 'roles.main.accelerators', { A100: 1 }),
    field('S4-66', '每个任务的 CPU 核数', fill('0.5'), 'roles.main.cpus', 0.5),
    field('S4-67', '每个任务的内存', fill('128MiB'), 'roles.main.memory', '128MiB'),
    field('S4-68', '共享内存', fill('32MiB'), 'roles.main.shared_memory', '32MiB'),
    field('S4-P2', '磁盘空间', fill('5GiB'), 'roles.main.disk', '5GiB'),
    field('S4-P2', '此角色的镜像', fill('harbor.example.org/tf:2'), 'roles.main.image', 'harbor.example.org/tf:2'),
    field('S4-75', '最小失败实例个数', fill('1'), 'roles.main.completion.min_failed', 1),
    field('S4-76', '最小成功实例个数', fill('2'), 'roles.main.completion.min_succeeded', 2),
    field('S4-P4', '单个任务重试次数', fill('3'), 'roles.main.retries', 3),
    field('S4-71', '端口 1：端口名称', fill('http')),
    field('S4-73', '端口 1：个数', fill('2')),
    field('S4-72', '端口 1：起始端口号（留空则任意）', fill('18080'), 'roles.main.ports', {
      http: { from: 18080, count: 2 },
    }),
    field('S4-18', '环境变量 1：关键字', fill('GREETING')),
    field('S4-18', '环境变量 1：值', fill('你好'), 'roles.main.env', { GREETING: '你好' }),
    field('S4-57', '训练框架', choose('自定义镜像')),
    field('S4-57', '镜像地址', fill('harbor.example.org/tf:1'), 'image', 'harbor.example.org/tf:1'),
    field('S4-61', '代码位置', fill('tfoss:'), 'code', 'tfoss:'),
    field('S4-P4', '启动前命令', fill('true'), 'setup', 'true'),
    field('S0-9', 'Python 依赖', fill('none'), 'requirements', 'none'),
    field('S4-60', '输出', fill('results:pro'), 'output', 'results:pro'),
    field('S3-40', '日志另存到', fill('results:logs'), 'logs', 'results:logs'),
    field('S4-20', '输入数据，各在 /input/名称 1：名称', fill('train')),
    field('S4-59', '输入数据，各在 /input/名称 1：位置，例如 mnist:train 或 /srv/data', fill('tfoss:'), 'inputs', {
      train: 'tfoss:',
    }),
    field('S4-81', '超参数 1：关键字', fill('lr')),
    field('S4-81', '超参数 1：值', fill('0.1'), 'params', { lr: 0.1 }),
    field('S4-79', '所有角色的环境变量 1：关键字', fill('JOB')),
    field('S4-79', '所有角色的环境变量 1：值', fill('1'), 'env', { JOB: '1' }),
    field('S4-78', '重试次数', fill('2'), 'retries', 2),
    field('S4-80', '失败后保留', fill('30m'), 'keep_failed', '30m'),
    field('S4-32', '停止宽限时间', fill('100ms'), 'stop_grace', '100ms'),
    field('S4-5', '所有任务一起启动', uncheck, 'gang', false),
  ]
  await submitted(page, fields, 'pro-job', { check: '核对并提交', submit: '提交' })
  assert.deepEqual(page.refused, [])
})

test('two roles of the professional form, one taken away again', async () => {
  const page = await house.inside()
  await page.goto(`${house.url}/create?door=pro&framework=`)
  await page.getByLabel('Name', { exact: true }).fill('roles')
  await page.getByLabel('Command', { exact: true }).fill('true')
  await page.getByRole('button', { name: 'Add a role' }).click()
  await page.getByRole('button', { name: 'role2' }).waitFor()
  assert.equal(await page.getByLabel('Command', { exact: true }).inputValue(), 'sleep infinity', 'S4-11')
  await page.getByRole('button', { name: 'Remove this role' }).click()
  await page.getByRole('button', { name: 'role2' }).waitFor({ state: 'hidden' })
  await page.getByText('No problems').waitFor()
  const draft = await page.evaluate(() => sessionStorage.getItem('trainmaster.draft'))
  assert.deepEqual(Object.keys((await house.ask('POST', '/api/v1/jobs?dry_run=true', draft)).plan.roles), ['0'])
})

test('a free name is there before anybody thinks of one, and goes as soon as somebody does', async () => {
  const page = await house.inside({ language: 'en' })
  const name = page.getByLabel('Name', { exact: true })
  const reads = text => until(`the name is ${text}`, async () => (await name.inputValue()) === text)
  await house.line('jax', 'true')
  await page.goto(`${house.url}/create?framework=jax`)
  await reads('jax-2')
  await page.getByLabel('Git address').fill('https://example.org/ann/mnist.git')
  await reads('mnist')
  await name.fill('')
  await page.getByLabel('Framework').selectOption('keras')
  await page.getByText('Enter a name for the job.').waitFor()
  await reads('')
})
