// The two ways that people came from, step by step: training on one machine (in Chinese), and distributed (in English).
import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { serveGit } from './git.mjs'
import { House, until } from './house.mjs'

const TRAIN = `
import argparse, os, sys, time
parser = argparse.ArgumentParser()
parser.add_argument("--log_dir")
parser.add_argument("--lr", default="0.1")
parser.add_argument("--wait", default="")
args = parser.parse_args()
role = os.environ["TRAINMASTER_ROLE"]
if role == "ps":
    print("serving", flush=True)
    time.sleep(600)
print("reading", sorted(os.listdir("/input")), flush=True)
os.makedirs(args.log_dir, exist_ok=True)
for step in range(1, 31):
    print(f"{role} step {step} lr {args.lr} loss {1 / step:.4f}", flush=True)
    time.sleep(0.02)
print("about to save", file=sys.stderr, flush=True)
open(args.log_dir + "/events.out.tfevents.1", "w").write("events")
open("/output/model.ckpt", "w").write("weights of lr " + args.lr)
while args.wait and not os.path.exists("/input/" + args.wait):
    time.sleep(0.05)
print("done", flush=True)
`

/** The first job of a framework waits until its environment is made. */
const ENVIRONMENT = { timeout: 90_000 }

let house
let git
let volume
before(async () => {
  house = await House.open()
  git = await serveGit(house.place, { 'train.py': TRAIN }, 'ann:s3, cret')
  volume = join(house.place, 'tfoss')
  mkdirSync(volume)
  writeFileSync(join(volume, 'data.csv'), '1,2\n')
  await house.ask('POST', '/api/v1/volumes', JSON.stringify({ name: 'tfoss', volume: { kind: 'local', path: volume } }))
})
after(async () => {
  git?.close()
  await house.close()
})

/** Every file of the volume, as its own client would list it. */
const stored = () => readdirSync(volume, { recursive: true }).map(String)

async function rawLog(job, task) {
  const answer = await fetch(`${house.url}/api/v1/jobs/${encodeURIComponent(job)}/tasks/${task}/log`, {
    headers: { authorization: `Bearer ${house.token}` },
  })
  return Buffer.from(await answer.arrayBuffer())
}

async function downloaded(page, press) {
  const [file] = await Promise.all([page.waitForEvent('download'), press()])
  return readFileSync(await file.path())
}

test('单机训练：从建作业到看结果，再停止、重启、更新配置、删除', async () => {
  const page = await house.inside({ language: 'zh' })
  // 建作业：总览上的训练框架，进入表单。
  await page.getByRole('link', { name: 'Python' }).click()
  await page.getByRole('heading', { name: '新建作业' }).waitFor()
  await page.getByLabel('集群').selectOption('local')
  await page.getByLabel('作业名称').fill('tf-train-standalone')
  assert.equal(await page.getByLabel('训练框架').inputValue(), 'python')
  assert.equal(await page.getByLabel('分布式训练').isChecked(), false)
  await page.getByLabel('每个 Worker 的加速卡数量').fill('0')
  await page.getByLabel('数据卷名').selectOption('tfoss')
  await page.getByLabel('Git 地址').fill(git.url)
  await page.getByLabel('私有代码仓库').check()
  await page.getByLabel('Git 用户名').fill('ann')
  await page.getByLabel('Git 密码').fill('s3, cret')
  await page.getByLabel('执行命令').fill('python3 train.py --log_dir /output/training_logs')
  await page.getByLabel('使用 TensorBoard').check()
  assert.equal(await page.getByLabel('训练日志路径').inputValue(), '/output/training_logs')
  await page.getByText('没有问题').waitFor()
  await page.getByRole('button', { name: '核对并提交' }).click()
  await page.getByRole('dialog').getByRole('button', { name: '提交' }).click()
  await page.getByRole('heading', { name: 'tf-train-standalone@1' }).waitFor()

  // 应用列表，点进这个应用，看日志。
  await page.getByRole('link', { name: '作业', exact: true }).click()
  await page.getByRole('link', { name: 'tf-train-standalone@1' }).click()
  await page.getByRole('navigation', { name: '作业详情' }).getByRole('link', { name: '日志' }).click()
  const lines = page.getByRole('region', { name: '日志行' })
  await lines.getByText('worker step 30 lr 0.1').waitFor(ENVIRONMENT)
  await lines.getByText("reading ['data.csv']").waitFor()
  await house.state('tf-train-standalone', 'succeeded')
  await page.getByText('作业已结束，日志完整').waitFor()

  // 按显示数量、输出流、内容和时间过滤。
  await page.getByLabel('显示行数').selectOption('最后 100 行')
  await page.getByLabel('输出流').selectOption('stderr')
  await lines.getByText('about to save').waitFor()
  await page.getByText('共 1 行').waitFor()
  await page.getByLabel('输出流').selectOption('stdout 和 stderr')
  await page.getByLabel('在日志中查找').fill('step 1\\d ')
  await page.getByRole('button', { name: '正则表达式' }).click()
  await page.getByText('找到 10 行').waitFor()
  await page.getByLabel('从', { exact: true }).fill('2099-01-01T00:00:00')
  await page.getByText('没有符合条件的行').waitFor()
  await page.getByLabel('从', { exact: true }).fill('2001-01-01T00:00:00')
  await page.getByText('找到 10 行').waitFor()

  // 下载的日志与原文逐字节相同。
  const file = await downloaded(page, () => page.getByRole('button', { name: '下载' }).click())
  assert.deepEqual(file, await rawLog('tf-train-standalone', 'worker-0'))

  // 服务列表：worker 已结束；结果已在数据卷里。
  await page.getByRole('link', { name: '概况' }).click()
  const worker = page.getByRole('region', { name: 'worker' })
  await worker.getByText('完成', { exact: true }).waitFor()
  await worker.getByRole('cell', { name: '0', exact: true }).waitFor()
  assert.ok(
    stored().some(it => it.endsWith('training_logs/events.out.tfevents.1')) &&
      stored().some(it => it.endsWith('model.ckpt')),
    stored().join(' '),
  )

  // 更新配置，再训练一次：密码不用再填。
  await page.getByRole('button', { name: '再次运行' }).click()
  await page.getByLabel('执行命令').fill('python3 train.py --log_dir /output/training_logs --lr 0.01 --wait go')
  await page.getByText('没有问题').waitFor()
  await page.getByRole('button', { name: '核对并提交' }).click()
  await page.getByRole('dialog').getByRole('button', { name: '提交' }).click()
  await page.getByRole('heading', { name: 'tf-train-standalone@2' }).waitFor()
  await house.state('tf-train-standalone@2', 'running')

  // 在列表里停止、重启、删除。
  await page.getByRole('link', { name: '作业', exact: true }).click()
  await page.getByRole('button', { name: '停止 tf-train-standalone@2' }).click()
  await page.getByRole('dialog').getByRole('button', { name: '停止' }).click()
  await house.state('tf-train-standalone@2', 'stopped')
  writeFileSync(join(volume, 'go'), '')
  await page.getByRole('button', { name: '再次运行 tf-train-standalone@2' }).click()
  await page.getByRole('dialog').getByRole('button', { name: '再次运行' }).click()
  await page.getByRole('link', { name: 'tf-train-standalone@3' }).waitFor()
  await house.state('tf-train-standalone@3', 'succeeded')
  await page.getByRole('button', { name: '删除 tf-train-standalone@1' }).click()
  await page.getByRole('dialog').getByRole('button', { name: '删除' }).click()
  await page.getByRole('link', { name: 'tf-train-standalone@1' }).waitFor({ state: 'hidden' })
  await assert.rejects(house.job('tf-train-standalone@1'), /404/)
  const { spec } = await house.job('tf-train-standalone@3')
  assert.ok(!JSON.stringify(spec).includes('s3, cret') && !(await page.content()).includes('s3, cret'))
  assert.deepEqual(page.refused, [])
})

test('distributed training: one parameter server and two workers, side by side to their end', async () => {
  const page = await house.inside()
  await page.getByRole('link', { name: 'New job' }).first().click()
  await page.getByLabel('Cluster').selectOption('local')
  await page.getByLabel('Name', { exact: true }).fill('tf-train-distributed')
  await page.getByLabel('Framework').selectOption('Python')
  await page.getByLabel('Distributed training').check()
  await page.getByLabel('Parameter servers').fill('1')
  await page.getByLabel('Workers', { exact: true }).fill('2')
  await page.getByLabel('Accelerators per worker').fill('1')
  await page.getByLabel('Data volume').selectOption('tfoss')
  await page.getByLabel('Git address').fill(git.url)
  await page.getByLabel('Private repository').check()
  await page.getByLabel('Git user name').fill('ann')
  await page.getByLabel('Git password or token').fill('s3, cret')
  await page.getByLabel('Command').fill('python3 train.py --log_dir /output/training_logs')
  await page.getByLabel('TensorBoard').check()
  await page.getByLabel('Training log path').fill('/output/training_logs')
  await page.getByText('No problems').waitFor()
  await page.getByRole('button', { name: 'Review and submit' }).click()
  const confirm = page.getByRole('dialog')
  await confirm.getByText('× 2').first().waitFor()
  await confirm.getByRole('button', { name: 'Submit' }).click()
  await page.getByRole('heading', { name: 'tf-train-distributed@1' }).waitFor()

  // Logs by the name of a task, then two workers side by side.
  await page.getByRole('navigation', { name: 'About this job' }).getByRole('link', { name: 'Logs' }).click()
  await page.getByLabel('Tasks: All tasks').click()
  await page.getByLabel('worker-0', { exact: true }).check()
  await page.getByLabel('worker-1', { exact: true }).check()
  await page.keyboard.press('Escape')
  await page.getByLabel('Side by side').check()
  for (const task of ['worker-0', 'worker-1']) {
    await page
      .getByRole('region', { name: `Log lines: ${task}` })
      .getByText('worker step 30')
      .waitFor()
  }
  assert.ok(!(await page.getByRole('region', { name: 'Logs', exact: true }).innerText()).includes('serving'))
  await house.state('tf-train-distributed', 'succeeded')
  const archive = await downloaded(page, () => page.getByRole('button', { name: 'Download' }).click())
  assert.deepEqual([...archive.subarray(0, 2)], [0x1f, 0x8b], 'several logs come as an archive')

  // All workers have ended, which ends the job; the parameter server was stopped and has not failed.
  await page.getByRole('link', { name: 'Overview', exact: true }).last().click()
  const workers = page.getByRole('region', { name: 'worker' })
  await until('both workers succeeded', async () => (await workers.getByText('Succeeded').count()) === 2)
  await page.getByRole('region', { name: 'ps' }).getByText('Stopped', { exact: true }).waitFor()
  // The first worker's files lie where a job of one task has them; nobody else's can be in their way.
  for (const place of ['model.ckpt', 'training_logs/events.out.tfevents.1', 'worker-1/model.ckpt']) {
    assert.ok(stored().includes(`tf-train-distributed/1/${place}`), `${place} in ${stored().join(' ')}`)
  }
  const { spec } = await house.job('tf-train-distributed')
  assert.deepEqual([spec.roles.ps.tasks, spec.roles.worker.tasks, spec.roles.worker.accelerators], [1, 2, 1])
  assert.equal(spec.roles.ps.accelerators, undefined, 'a parameter server needs none')
  assert.deepEqual(page.refused, [])
})
