import assert from 'node:assert/strict'
import { test } from 'node:test'

/** A page that is shown and hidden by hand. */
class Page extends EventTarget {
  visibilityState = 'visible'

  turn(visibilityState: 'visible' | 'hidden') {
    this.visibilityState = visibilityState
    this.dispatchEvent(new Event('visibilitychange'))
  }
}

/** A server with a line for everyone who listens: each is told what it has not heard yet, and then what comes. */
class Server {
  private readonly said: string[] = []
  private readonly lines = new Set<ReadableStreamDefaultController>()
  asked = 0

  get open() {
    return this.lines.size
  }

  say(...kinds: string[]) {
    for (const kind of kinds) {
      this.said.push(`event: ${kind}\nid: ${this.said.length + 1}\ndata: ${this.said.length + 1}\n\n`)
      for (const line of this.lines) line.enqueue(new TextEncoder().encode(this.said.at(-1)))
    }
  }

  answer(init: RequestInit): Response {
    this.asked += 1
    const heard = Number(new Headers(init.headers).get('Last-Event-ID') ?? 0)
    const body = new ReadableStream({
      start: line => {
        line.enqueue(new TextEncoder().encode(this.said.slice(heard).join('')))
        this.lines.add(line)
        init.signal?.addEventListener('abort', () => {
          this.lines.delete(line)
          line.error(new DOMException('it is closed', 'AbortError'))
        })
      },
    })
    return new Response(body)
  }
}

const [page, server] = [new Page(), new Server()]
Object.assign(globalThis, {
  document: page,
  location: { origin: 'http://console.test' },
  localStorage: { getItem: () => null },
  fetch: async (_: string, init: RequestInit) => {
    init.signal?.throwIfAborted()
    return server.answer(init)
  },
})
const { follow } = await import('../src/api/sse.ts')

/** Until what is on its way has arrived. */
async function until(is: () => boolean) {
  for (let turns = 0; turns < 1000 && !is(); turns += 1) await new Promise(done => setImmediate(done))
  assert.ok(is(), is.toString())
}

test('a page that nobody sees has no line, and hears of everything once when it is seen again', async () => {
  const heard: string[] = []
  const lines: boolean[] = []
  const over = follow('/lines', {
    signal: new AbortController().signal,
    onLine: open => lines.push(open),
    onEvents: events => heard.push(...events.map(event => event.data)),
  })
  server.say('line', 'line')
  await until(() => heard.length === 2)
  page.turn('hidden')
  await until(() => server.open === 0)
  server.say('line', 'line')
  page.turn('visible')
  await until(() => heard.length === 4)
  page.turn('hidden')
  page.turn('visible')
  await until(() => server.open === 1)
  server.say('line', 'end')
  await over
  assert.deepEqual(heard, ['1', '2', '3', '4', '5', '6'])
  assert.deepEqual([lines, server.asked], [[true, true, true], 3], 'it was never called cut')
})

test('a page that is opened unseen asks for nothing until it is looked at, and one that is left asks no more', async () => {
  page.turn('hidden')
  const [asked, left] = [server.asked, new AbortController()]
  const over = follow('/lines', { signal: left.signal, onLine: () => {}, onEvents: () => {} })
  await new Promise(done => setImmediate(done))
  assert.equal(server.asked, asked)
  left.abort()
  await over
  assert.equal(server.asked, asked)
})
