// Where a long line is broken into rows. Letters of Chinese, Japanese and Korean are two columns wide.

// biome-ignore lint/suspicious/noControlCharactersInRegex: everything that is one column wide for certain
const ASCII = /^[\x00-\x7f]*$/

const isWide = (code: number) =>
  code >= 0x1100 &&
  (code <= 0x115f ||
    (code >= 0x2e80 && code <= 0xa4cf) ||
    (code >= 0xac00 && code <= 0xd7a3) ||
    (code >= 0xf900 && code <= 0xfaff) ||
    (code >= 0xfe30 && code <= 0xfe6f) ||
    (code >= 0xff00 && code <= 0xff60) ||
    (code >= 0xffe0 && code <= 0xffe6) ||
    (code >= 0x1f300 && code <= 0x1faff) ||
    (code >= 0x20000 && code <= 0x3fffd))

/** Where each row begins in the text. Not wrapped if there are no columns. */
export function rowStarts(text: string, columns: number): number[] {
  if (columns <= 0) return [0]
  if (ASCII.test(text)) return plainStarts(text.length, columns)
  const starts = [0]
  let [at, width] = [0, 0]
  for (const letter of text) {
    const wide = isWide(letter.codePointAt(0) ?? 0) ? 2 : 1
    if (width + wide > columns) {
      starts.push(at)
      width = 0
    }
    width += wide
    at += letter.length
  }
  return starts
}

export const rowCount = (text: string, columns: number): number =>
  columns <= 0 || text.length * 2 <= columns ? 1 : rowStarts(text, columns).length

function plainStarts(length: number, columns: number): number[] {
  const starts = [0]
  for (let at = columns; at < length; at += columns) starts.push(at)
  return starts
}
