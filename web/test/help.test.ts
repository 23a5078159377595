import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { lexer } from 'marked'
import { anchor, target } from '../src/pages/help/links.ts'
import { topicOf } from '../src/pages/help/topics.ts'
import { en } from '../src/words/en.ts'
import { zh } from '../src/words/zh.ts'

const docs = join(process.cwd(), '../docs')
const pages = readdirSync(docs)
  .filter(name => name.endsWith('.md'))
  .map(name => name.replace('.md', ''))

test('every page of the guide has its words in both languages', () => {
  for (const words of [en, zh]) {
    assert.deepEqual(Object.keys(words.help.pages).sort(), ['readme', ...pages].sort())
  }
})

test('links of the guide lead to its pages, outside, or nowhere', () => {
  const leads = (href: string) => target(href, pages)
  assert.deepEqual(leads('volumes.md#files'), { inside: '/help/volumes#files' })
  assert.deepEqual(leads('docs/console.md'), { inside: '/help/console' })
  assert.deepEqual(leads('docs/zh-CN/console.md'), { inside: '/help/console' })
  assert.deepEqual(leads('README.zh-CN.md'), { inside: '/help/readme' })
  assert.deepEqual(leads('#lineage'), { inside: '#lineage' })
  assert.deepEqual(leads('https://example.org/x'), { outside: 'https://example.org/x' })
  assert.deepEqual(leads('openapi.json'), { file: '/api/v1/openapi.json' })
  for (const nowhere of [
    'javascript:alert(1)',
    'data:text/html,x',
    '../decisions/0015-x.md',
    'LICENSE',
    '//evil.example',
  ]) {
    assert.equal(leads(nowhere), null, nowhere)
  }
})

test('whatever the console links to is there', () => {
  const headings = (page: string) => {
    const tokens = lexer(readFileSync(join(docs, `${page}.md`), 'utf8'))
    return tokens.flatMap(it => (it.type === 'heading' ? [anchor(it.text)] : []))
  }
  const all = new Map(pages.map(page => [page, headings(page)]))
  assert.ok(all.get('endings')?.includes('memory-limit'))
  const addresses = ['/', '/jobs', '/jobs/x', '/create', '/nodes', '/volumes/a', '/secrets', '/settings', '/compare']
  const tabs = ['logs', 'files', 'versions', 'spec', 'why', 'resources', 'curves'].map(it => `/jobs/x/${it}`)
  for (const address of [...addresses, ...tabs]) {
    const [, page = '', section] = /^\/help\/([\w-]+)(?:#(.*))?$/.exec(topicOf(address) ?? '') ?? []
    assert.ok(all.has(page), `${address} leads to ${page}`)
    if (section) assert.ok(all.get(page)?.includes(section), `${address} leads to ${page}#${section}`)
  }
})
