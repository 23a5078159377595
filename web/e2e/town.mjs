// Jobs as a team has them on a Tuesday: some run, some wait, some are over, one went wrong.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { training } from './training.mjs'

/** Two workers do not waver in the same way. */
const seed = '$((TRAINMASTER_TASK_INDEX + 3))'

const train = lr => `
${training({ lr, steps: 240, pause: 0.005, seed })}
for p in 10 35 70 100; do printf '\\rdownloading %s%%' $p; done; echo
echo 'warning: the learning rate is high' >&2
`

const ALGORITHM = `name: mlp
description: A small classifier
framework: python
code: https://example.org/team/mlp.git#main
command: python3 train.py
inputs:
  data: { argument: --data_url, description: the digits, accepts: [dataset] }
  base: { env: BASE_DIR, description: starting weights, accepts: [place], required: false }
outputs:
  train: { argument: --train_url, description: the model }
params:
  lr: { type: number, default: 0.1, min: 0.0001, max: 1, description: learning rate }
  epochs: { type: integer, default: 10, min: 1 }
  optimizer: { type: text, default: adam, choices: [adam, sgd] }
  augment: { type: boolean, default: false, required: false, description: shifts pictures }
  batch: { type: integer, default: 32, fixed: true, argument: --batch_size }
custom_params: true
needs: { accelerators: [none, A100], accelerators_max: 2, tasks_max: 1 }
`

/** The pages of the town that are about none of its jobs. */
export const PLACES = [
  '/',
  '/nodes',
  '/volumes',
  '/volumes/mnist',
  '/datasets',
  '/datasets/mnist?version=1',
  '/datasets/nobody',
  '/algorithms',
  '/algorithms/mlp',
  '/algorithms/nobody',
  '/algorithms?write=1',
  '/create?input=mnist@1',
  '/create?algorithm=mlp@1',
  '/secrets',
  '/settings',
]

export async function settle(house) {
  const volume = join(house.place, 'mnist')
  mkdirSync(join(volume, 'train'), { recursive: true })
  writeFileSync(join(volume, 'README.md'), '# MNIST\n\nSixty thousand digits.\n')
  await house.ask('POST', '/api/v1/volumes', JSON.stringify({ name: 'mnist', volume: { kind: 'local', path: volume } }))
  const dataset = { name: 'mnist', at: 'mnist:', description: 'Handwritten digits', note: 'as published' }
  await house.ask('POST', '/api/v1/datasets', JSON.stringify(dataset))
  await house.ask('POST', '/api/v1/algorithms', ALGORITHM)
  await fetch(`${house.url}/api/v1/secrets/wandb`, {
    method: 'PUT',
    body: 'x',
    headers: { authorization: `Bearer ${house.token}` },
  })

  const role = (command, more = {}) => ({ command, cpus: 0.5, memory: '256MiB', ...more })
  const digits = lr => ({
    name: 'digits',
    description: 'Handwritten digits, one parameter server and two workers',
    tags: ['vision'],
    params: { lr, batch: 64 },
    max_duration: '12h',
    stop_grace: '100ms',
    roles: {
      ps: role('echo serving; sleep 600', { ports: ['grpc'] }),
      worker: role(
        `${train(lr)}\nmkdir -p /output/model; echo weights > /output/model/weights.bin; echo '{"accuracy": 0.94}' > /output/metrics.json`,
        { tasks: 2, ports: ['grpc'] },
      ),
    },
  })
  const jobs = {
    first: await house.submit(digits(0.1)),
    failed: await house.line('bert-base', 'echo loading; echo "FileNotFoundError: /input/wiki" >&2; exit 3', {
      description: 'Wikipedia, uncased',
      tags: ['nlp'],
    }),
    stopped: await house.line('resnet-50', 'echo up; sleep 600', { tags: ['vision', 'baseline'] }),
  }
  await house.state(jobs.first, 'succeeded')
  await house.state(jobs.failed, 'failed')
  await house.state(jobs.stopped, 'running')
  await house.ask('POST', `/api/v1/jobs/${jobs.stopped}/stop`)
  jobs.second = await house.submit(digits(0.05))
  jobs.running = await house.submit({
    name: 'gpt-small',
    description: 'Fine-tuning on four cards',
    tags: ['nlp'],
    max_duration: '7d',
    stop_grace: '100ms',
    roles: {
      worker: role(training({ lr: 0.03, steps: 100_000, pause: 0.2, seed }), {
        tasks: 2,
        accelerators: { A100: 2 },
      }),
    },
  })
  await house.state(jobs.running, 'running')
  jobs.queued = await house.submit({
    name: 'yolo-v8',
    description: 'Waits for a card',
    roles: { worker: role('sleep 1', { accelerators: { A100: 1 } }) },
  })
  await house.state(jobs.second, 'succeeded')
  return jobs
}
