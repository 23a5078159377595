// A server of one's own in a fresh directory, a browser, and hands to do things with them.
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { chromium } from 'playwright-core'

const PATIENCE_MS = 20_000
const target = process.env.CARGO_TARGET_DIR ?? resolve(import.meta.dirname, '../../target')
const binary = process.env.TRAINMASTER_BIN ?? join(target, 'debug/trainmaster')

const pause = ms => new Promise(done => setTimeout(done, ms))

export async function until(what, look) {
  const end = Date.now() + PATIENCE_MS
  for (;;) {
    const found = await look()
    if (found) return found
    if (Date.now() > end) throw new Error(`it did not happen in time: ${what}`)
    await pause(50)
  }
}

/** Everything that was asked for has come: for a moment nothing new does. */
export const settled = page =>
  page.waitForFunction(() => {
    const ends = performance.getEntriesByType('resource').map(it => it.responseEnd)
    return performance.now() - Math.max(...ends) > 200
  })

export class House {
  static async open(args = ['--nodes', '2', '--node-cpus', '4', '--node-memory', '8GiB', '--device', 'A100=2']) {
    const house = new House()
    house.place = mkdtempSync(join(tmpdir(), 'trainmaster-e2e-'))
    house.data = join(house.place, 'data')
    house.args = args
    await house.start()
    house.browser = await chromium.launch({
      executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
      args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
    })
    return house
  }

  async start() {
    const card = join(this.data, 'server.json')
    rmSync(card, { force: true })
    const args = ['up', '--data', this.data, '--listen', '127.0.0.1:0', ...this.args]
    this.server = spawn(binary, args, { stdio: 'ignore' })
    await until('the server answers', () => existsSync(card))
    this.url = JSON.parse(readFileSync(card, 'utf8')).url
    this.token = readFileSync(join(this.data, 'admin-token'), 'utf8').trim()
  }

  /** Ends the server; jobs go on without it. */
  async halt() {
    this.server.kill('SIGTERM')
    await new Promise(done => this.server.once('exit', done))
  }

  async ask(method, path, body) {
    const headers = { authorization: `Bearer ${this.token}` }
    const answer = await fetch(this.url + path, { method, headers, body })
    const text = await answer.text()
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`)
    return text === '' ? null : JSON.parse(text)
  }

  async submit(spec) {
    return (await this.ask('POST', '/api/v1/jobs', JSON.stringify(spec))).id
  }

  /** A job of one task that runs a line of shell. */
  line(name, command, more = {}) {
    return this.submit({ name, stop_grace: '100ms', ...more, roles: { worker: { command, memory: '64MiB' } } })
  }

  job(id) {
    return this.ask('GET', `/api/v1/jobs/${encodeURIComponent(id)}`)
  }

  state(id, wanted) {
    return until(`${id} is ${wanted}`, async () => (await this.job(id)).state === wanted)
  }

  /** A page of somebody who is not logged in. Whatever its policy had to refuse ends up in `page.refused`. */
  async page({ language = 'en', theme = 'light', width = 1280, height = 860 } = {}) {
    const context = await this.browser.newContext({
      locale: language === 'zh' ? 'zh-CN' : 'en-GB',
      viewport: { width, height },
    })
    const page = await context.newPage()
    page.setDefaultTimeout(PATIENCE_MS)
    page.refused = []
    await page.exposeFunction('tellRefused', what => page.refused.push(what))
    await page.addInitScript(theme => {
      localStorage.setItem('trainmaster.theme', theme)
      document.addEventListener('securitypolicyviolation', event =>
        window.tellRefused(`${event.violatedDirective} ${event.blockedURI} ${event.sourceFile}`),
      )
      for (const name of ['alert', 'confirm', 'prompt']) window[name] = () => window.tellRefused(`${name} was called`)
    }, theme)
    page.on('pageerror', error => page.refused.push(`error: ${error.message}`))
    return page
  }

  /** A page of somebody who came by a link. */
  async inside(look) {
    const page = await this.page(look)
    const link = await this.ask('POST', '/api/v1/session/link')
    await page.goto(this.url + link.path)
    await page.getByRole('navigation', { name: /Main|主导航/ }).waitFor()
    return page
  }

  async close() {
    await this.browser?.close()
    const { jobs } = await this.ask('GET', '/api/v1/jobs?limit=500')
    const live = jobs.filter(job => job.ended_at_ms === null)
    await Promise.all(live.map(job => this.ask('POST', `/api/v1/jobs/${job.id}/stop`).catch(() => null)))
    for (const job of live)
      await until(`${job.name} is over`, async () => (await this.job(job.id)).ended_at_ms !== null)
    await this.halt()
    rmSync(this.place, { recursive: true, force: true })
  }
}
