// A patch, as the server writes it, taken apart for the eye.

export type LineKind = 'same' | 'added' | 'removed'

export interface PatchLine {
  kind: LineKind
  text: string
  /** Its number before and after, where it is there. */
  before: number | null
  after: number | null
}

export interface FilePatch {
  name: string
  added: number
  removed: number
  /** Each part that was changed, with the lines around it. */
  hunks: { head: string; lines: PatchLine[] }[]
  /** Words in place of lines, such as for what is no text. */
  note: string
}

const HUNK = /^@@ -(\d+),(\d+) \+(\d+),(\d+) @@$/
const NOWHERE = '/dev/null'
const KINDS: Record<string, LineKind> = { ' ': 'same', '+': 'added', '-': 'removed' }

const withoutSide = (path: string) => path.replace(/^[ab]\//, '')
const newFile = (name: string, note = ''): FilePatch => ({ name, added: 0, removed: 0, hunks: [], note })

/** What a line of code says never decides: how many lines a part has stands in its head. */
export function readPatch(text: string): FilePatch[] {
  const lines = text.split('\n')
  if (lines.at(-1) === '') lines.pop()
  const files: FilePatch[] = []
  let at = 0
  while (at < lines.length) {
    const [line = '', next = ''] = lines.slice(at, at + 2)
    const file = files.at(-1)
    if (line.startsWith('--- ') && next.startsWith('+++ ')) {
      const [before, after] = [line.slice(4), next.slice(4)]
      files.push(newFile(withoutSide(after === NOWHERE ? before : after)))
      at += 2
    } else if (file && HUNK.test(line)) {
      at = readHunk(file, lines, at)
    } else {
      files.push(newFile('', line))
      at += 1
    }
  }
  return files
}

/** Answers where the lines behind the part begin. */
function readHunk(file: FilePatch, lines: string[], head: number): number {
  const numbers =
    HUNK.exec(lines[head] ?? '')
      ?.slice(1)
      .map(Number) ?? []
  let [before = 0, olds = 0, after = 0, news = 0] = numbers
  const found: PatchLine[] = []
  let at = head + 1
  while ((olds > 0 || news > 0 || lines[at]?.startsWith('\\')) && at < lines.length) {
    const line = lines[at] ?? ''
    at += 1
    if (line.startsWith('\\')) continue
    const kind = KINDS[line[0] ?? ''] ?? 'same'
    const [isOld, isNew] = [kind !== 'added', kind !== 'removed']
    found.push({ kind, text: line.slice(1), before: isOld ? before : null, after: isNew ? after : null })
    if (isOld) [before, olds] = [before + 1, olds - 1]
    if (isNew) [after, news] = [after + 1, news - 1]
    if (kind === 'added') file.added += 1
    if (kind === 'removed') file.removed += 1
  }
  file.hunks.push({ head: lines[head] ?? '', lines: found })
  return at
}
