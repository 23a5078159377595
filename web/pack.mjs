// Zips what was built, once, so that the server need not, and holds the first load to its budget.
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'

const DIST = new URL('./dist/', import.meta.url).pathname
const FIRST_LOAD_BYTES_MAX = 350 * 1024

const files = readdirSync(DIST, { recursive: true }).filter(name => statSync(join(DIST, name)).isFile())
const zipped = new Map()
for (const name of files) {
  const bytes = gzipSync(readFileSync(join(DIST, name)), { level: 9 })
  zipped.set(name, bytes.length)
  writeFileSync(join(DIST, `${name}.gz`), bytes)
}

const page = readFileSync(join(DIST, 'index.html'), 'utf8')
const named = [...page.matchAll(/(?:src|href)="\/([^"]+)"/g)].map(match => match[1])
const first = ['index.html', ...named].reduce((sum, name) => sum + (zipped.get(name) ?? 0), 0)
for (const name of files) rmSync(join(DIST, name))

const kib = bytes => `${(bytes / 1024).toFixed(0)} KiB`
const all = [...zipped.values()].reduce((sum, bytes) => sum + bytes, 0)
console.log(`console: ${files.length} files, ${kib(all)} gzipped; ${kib(first)} before the list of jobs shows`)
if (first > FIRST_LOAD_BYTES_MAX) {
  console.error(`the first load is more than ${kib(FIRST_LOAD_BYTES_MAX)}; load a page or a library later`)
  process.exit(1)
}
