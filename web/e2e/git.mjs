// A git server for one repository, on loopback, which asks for a name and a password if it is given them.
import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'

/** Makes a repository of these files and serves it. */
export async function serveGit(place, files, login) {
  const [work, root] = [join(place, 'work'), join(place, 'git')]
  mkdirSync(work, { recursive: true })
  const git = (...args) =>
    execFileSync('git', ['-c', 'user.name=e2e', '-c', 'user.email=e2e@localhost', ...args], {
      cwd: work,
      stdio: 'pipe',
    })
  git('init', '-q', '-b', 'main')
  for (const [name, text] of Object.entries(files)) writeFileSync(join(work, name), text)
  git('add', '.')
  git('commit', '-q', '-m', 'first')
  git('clone', '-q', '--bare', work, join(root, 'train.git'))
  const server = createServer((request, response) => {
    const wanted = login && `Basic ${Buffer.from(login).toString('base64')}`
    if (wanted && request.headers.authorization !== wanted) {
      response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end()
      return
    }
    answer(root, request, response)
  })
  await new Promise(done => server.listen(0, '127.0.0.1', done))
  return { url: `http://127.0.0.1:${server.address().port}/train.git`, close: () => server.close() }
}

/** As the CGI of git itself. */
function answer(root, request, response) {
  const [path, query = ''] = request.url.split('?')
  const env = {
    ...process.env,
    GIT_PROJECT_ROOT: root,
    GIT_HTTP_EXPORT_ALL: '1',
    PATH_INFO: path,
    QUERY_STRING: query,
    REQUEST_METHOD: request.method,
    CONTENT_TYPE: request.headers['content-type'] ?? '',
    GIT_PROTOCOL: request.headers['git-protocol'] ?? '',
    HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
  }
  const backend = spawn('git', ['http-backend'], { env })
  request.pipe(backend.stdin)
  const parts = []
  backend.stdout.on('data', part => parts.push(part))
  backend.on('close', () => {
    const all = Buffer.concat(parts)
    const end = all.indexOf('\r\n\r\n')
    const lines = all.subarray(0, end).toString().split('\r\n')
    const headers = lines.map(line => line.split(': ')).filter(([name]) => name !== 'Status')
    const status = lines.find(line => line.startsWith('Status: '))?.slice(8, 11) ?? 200
    response.writeHead(Number(status), Object.fromEntries(headers)).end(all.subarray(end + 4))
  })
}
