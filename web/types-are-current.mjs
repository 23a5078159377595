// The types of the API are made from the server's own document; this says when they are older than it.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const place = mkdtempSync(join(tmpdir(), 'trainmaster-types-'))
try {
  const fresh = join(place, 'schema.d.ts')
  execFileSync('node_modules/.bin/openapi-typescript', ['../docs/openapi.json', '--output', fresh], { stdio: 'ignore' })
  if (readFileSync(fresh, 'utf8') !== readFileSync('src/api/schema.d.ts', 'utf8')) {
    console.error('src/api/schema.d.ts is older than docs/openapi.json; run `npm run types` in web/')
    process.exit(1)
  }
} finally {
  rmSync(place, { recursive: true })
}
