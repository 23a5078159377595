// Parts of a line that look alike: its colours as a terminal knows them, and what was looked for.
import type { Line } from './reel.ts'

export interface Part {
  text: string
  className: string
  isMatch: boolean
}

/** Places come counted in characters; a text of JavaScript counts some characters twice. */
function placesIn(text: string): (place: number) => number {
  if (!/[\ud800-\udbff]/.test(text)) return place => place
  const starts: number[] = []
  let at = 0
  for (const letter of text) {
    starts.push(at)
    at += letter.length
  }
  return place => starts[place] ?? text.length
}

/** The parts of a line between two places of its text. */
export function partsOf(line: Line, start: number, end: number): Part[] {
  const { text, colours = [], matches = [] } = line
  if (colours.length === 0 && matches.length === 0) return [part(text.slice(start, end), '', false)]
  const place = placesIn(text)
  const looks = colours.map(({ at, sgr }) => ({ at: place(at), className: lookOf(sgr) }))
  const found = matches.map(([from = 0, to = 0]) => [place(from), place(to)] as const)
  const cuts = [start, end, ...looks.map(it => it.at), ...found.flat()]
    .filter(at => at >= start && at <= end)
    .sort((a, b) => a - b)
  return cuts.flatMap((from, index) => {
    const to = cuts[index + 1] ?? end
    if (to <= from) return []
    const look = looks.findLast(it => it.at <= from)?.className ?? ''
    return [
      part(
        text.slice(from, to),
        look,
        found.some(([a, b]) => a <= from && from < b),
      ),
    ]
  })
}

const part = (text: string, className: string, isMatch: boolean): Part => ({ text, className, isMatch })

/** Classes for what stands between `ESC [` and `m`. Of the many colours the nearest of sixteen is taken. */
export function lookOf(sgr: string): string {
  const codes = sgr.split(/[;:]/).map(Number)
  const classes: string[] = []
  for (let at = 0; at < codes.length; at += 1) {
    const code = codes[at] ?? 0
    if (code === 0) classes.length = 0
    else if (code === 1) classes.push('sgr-bold')
    else if (code === 2) classes.push('sgr-faint')
    else if (code === 3) classes.push('sgr-italic')
    else if (code === 4) classes.push('sgr-under')
    else if (code === 9) classes.push('sgr-struck')
    else if (code >= 30 && code <= 37) classes.push(`sgr-${code - 30}`)
    else if (code >= 90 && code <= 97) classes.push(`sgr-${code - 90}`, 'sgr-bright')
    else if (code >= 40 && code <= 47) classes.push(`sgr-on-${code - 40}`)
    else if (code >= 100 && code <= 107) classes.push(`sgr-on-${code - 100}`)
    else if (code === 38 || code === 48) {
      const [colour, used] = manyColours(codes.slice(at + 1))
      if (colour !== null) classes.push(code === 38 ? `sgr-${colour}` : `sgr-on-${colour}`)
      at += used
    }
  }
  return [...new Set(classes)].join(' ')
}

/** `5;196` or `2;255;0;0`: the colour of eight that is nearest, and how many numbers it took. */
function manyColours(codes: number[]): [number | null, number] {
  if (codes[0] === 2) return [nearest(codes[1] ?? 0, codes[2] ?? 0, codes[3] ?? 0), 4]
  const index = codes[1]
  if (codes[0] !== 5 || index === undefined) return [null, 1]
  if (index < 16) return [index % 8, 2]
  if (index >= 232) return [index > 243 ? 7 : 0, 2]
  const level = (place: number) => (Math.floor((index - 16) / place) % 6) * 51
  return [nearest(level(36), level(6), level(1)), 2]
}

const nearest = (red: number, green: number, blue: number) =>
  (red > 127 ? 1 : 0) + (green > 127 ? 2 : 0) + (blue > 127 ? 4 : 0)
