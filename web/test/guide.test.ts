// Every page of the guide says the same in both languages, and nothing it links to is missing.
import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { test } from 'node:test'
import { lexer, type Token, type Tokens, walkTokens } from 'marked'
import { anchor } from '../src/pages/help/links.ts'

const root = join(process.cwd(), '..')
const english = join(root, 'docs')
const chinese = join(english, 'zh-CN')
const pagesIn = (folder: string) => readdirSync(folder).filter(name => name.endsWith('.md'))
const twins = pagesIn(english).map(name => [join(english, name), join(chinese, name)] as const)

/** Everything a page is made of, however deep it lies. */
function partsOf(file: string): Token[] {
  const all: Token[] = []
  walkTokens(lexer(readFileSync(file, 'utf8')), token => {
    all.push(token)
  })
  return all
}

const ofKind = <T extends Token>(file: string, kind: T['type']) => partsOf(file).filter(it => it.type === kind) as T[]
const headings = (file: string) => ofKind<Tokens.Heading>(file, 'heading')
/** The title of a page is not linked to. */
const shape = (file: string) => headings(file).map(it => `${it.depth} ${it.depth === 1 ? '' : anchor(it.text)}`)
const rows = (file: string) => ofKind<Tokens.Table>(file, 'table').map(it => it.rows.length)

test('every page is there in both languages', () => {
  assert.deepEqual(pagesIn(chinese), pagesIn(english))
})

test('both languages have the same sections under the same addresses', () => {
  for (const [en, zh] of twins) {
    assert.deepEqual(shape(zh), shape(en), zh)
    assert.equal(new Set(shape(en)).size, shape(en).length, `${en} has two sections of one name`)
    assert.deepEqual(rows(zh), rows(en), zh)
  }
})

test('both languages show the same code, but for what it says to people', () => {
  const code = (file: string) => ofKind<Tokens.Code>(file, 'code').map(it => it.text.replace(/\s+# .*$/gm, ''))
  for (const [en, zh] of twins) {
    const [ours, theirs] = [code(en), code(zh)]
    assert.equal(theirs.length, ours.length, zh)
    theirs.forEach((text, at) => {
      if (!text.includes('--lang zh')) assert.equal(text, ours[at], zh)
    })
  }
})

test('whatever a page links to is there, in the same language', () => {
  const readmes = [join(root, 'README.md'), join(root, 'README.zh-CN.md')]
  for (const file of [...readmes, ...twins.flat()]) {
    const isChinese = basename(file) === 'README.zh-CN.md' || dirname(file) === chinese
    for (const { href } of ofKind<Tokens.Link>(file, 'link').filter(it => !/^https?:/.test(it.href))) {
      const [path = '', section = ''] = href.split('#')
      const there = path === '' ? file : join(dirname(file), path)
      const told = `${relative(root, file)} links to ${href}`
      assert.ok(existsSync(there), told)
      if (section)
        assert.ok(
          headings(there).some(it => anchor(it.text) === section),
          told,
        )
      const isGuide = there.startsWith(english) && there.endsWith('.md')
      if (isGuide) assert.equal(dirname(there), isChinese ? chinese : english, told)
    }
  }
})

/** The words of a page that are read, without code. */
const prose = (file: string) =>
  partsOf(file).flatMap(it => (it.type === 'text' && !('tokens' in it && it.tokens) ? [it.text as string] : []))

test('the Chinese pages are Chinese', () => {
  for (const [, zh] of twins) {
    // Three English words in a row are a sentence.
    const sentences = prose(zh).filter(it => /[A-Za-z]{2,},? [a-z]{2,},? [a-z]{2,}/.test(it))
    assert.deepEqual(sentences, [], zh)
    const untold = ofKind<Tokens.Paragraph>(zh, 'paragraph').filter(it => !/\p{Script=Han}/u.test(it.text))
    assert.deepEqual(untold, [], zh)
  }
})

test('Chinese is set as it is read', () => {
  for (const [, zh] of twins) {
    for (const text of prose(zh)) {
      assert.doesNotMatch(
        text,
        /\p{Script=Han}[A-Za-z0-9]|[A-Za-z0-9]\p{Script=Han}/u,
        `${zh}: no space beside a Latin word`,
      )
      assert.doesNotMatch(text, /\p{Script=Han}[,;:?!(]/u, `${zh}: a mark of the other language`)
      assert.doesNotMatch(text, /[\p{Script=Han}，。；：、]\n/u, `${zh}: a broken line shows as a space`)
      assert.doesNotMatch(text, /\*\*|\]\(/, `${zh}: a mark that is not understood`)
    }
  }
})
