// Three versions of a job with code of its own, and one job of another system.
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** What is markup in code, in a parameter, in a file's name. */
export const MARKUP = '<img src=x onerror=alert(1)>'

const train = lr => `lr = ${lr}
# ${MARKUP}
for epoch in range(20):
    loss = 1 / (1 + epoch * lr)
    print(f"epoch {epoch} loss {loss:.4f} accuracy {1 - loss / 2:.4f}", flush=True)
open('/output/model.txt', 'w').write('done')
`

const jobFile = (lr, batch, data) => `# Handwritten digits
name: numbers
params: { lr: ${lr}, note: '${MARKUP}' }
secrets: { key: hush-hush-1 }
code: .
input: ${data}
env: { BATCH: "${batch}" }
roles:
  worker:
    memory: 128MiB
    command: python3 train.py {{ params.lr }}
`

export const PAI = JSON.stringify(
  {
    jobName: 'from-pai',
    image: 'pai/tf',
    taskRoles: [{ name: 'main', taskNumber: 1, cpuNumber: 1, memoryMB: 100, gpuNumber: 0, command: 'echo from pai' }],
  },
  null,
  2,
)

/** Answers the ids of the versions, the oldest first. */
export async function threeVersions(house) {
  const [folder, data] = [join(house.place, 'numbers'), join(house.place, 'numbers-data')]
  mkdirSync(join(folder, 'more'), { recursive: true })
  mkdirSync(data, { recursive: true })
  writeFileSync(join(data, 'digits.csv'), '1,2,3\n')
  writeFileSync(join(folder, 'more', `${MARKUP.replaceAll('/', '_')}.txt`), 'a name with markup\n')
  const env = { ...process.env, TRAINMASTER_URL: house.url, TRAINMASTER_TOKEN: house.token }
  const ids = []
  for (const [lr, batch] of [
    [0.1, 64],
    [0.5, 64],
    [0.3, 32],
  ]) {
    writeFileSync(join(folder, 'train.py'), train(lr))
    writeFileSync(join(folder, 'job.yaml'), jobFile(lr, batch, data))
    const answer = execFileSync(house.server.spawnfile, ['--json', 'submit', 'job.yaml'], { cwd: folder, env })
    ids.push(JSON.parse(answer).id)
    await house.state(ids.at(-1), 'succeeded')
  }
  return ids
}
