import { memo } from 'react'
import { clock, exactTime } from '../format.ts'
import { useWords } from '../words/index.tsx'
import { partsOf } from './colours.ts'
import type { Line } from './reel.ts'
import { rowStarts } from './wrap.ts'

const LANES = 8

interface Props {
  /** Nothing while it is being fetched again. */
  line: Line | null
  /** Which row of the line this is. */
  part: number
  columns: number
  times: boolean
  names: boolean
}

const looks = (line: Line) =>
  ['log-row', line.stream !== 'stdout' && line.stream, line.context && 'context'].filter(Boolean).join(' ')

/** Drawn again only when it is another line. */
export const LogRow = memo(function LogRow({ line, part, columns, times, names }: Props) {
  const { locale, logs } = useWords()
  if (!line) return <div className="log-row fetched">·</div>
  const starts = rowStarts(line.text, columns)
  const [start, end] = [starts[part] ?? 0, starts[part + 1] ?? line.text.length]
  const isFirst = part === 0
  return (
    <div className={looks(line)}>
      {times && (
        <time title={isFirst ? exactTime(line.at_ms, locale) : undefined}>{isFirst ? clock(line.at_ms) : ''}</time>
      )}
      {names && (
        <span className={`lane lane-${laneOf(line.task)}`} title={line.task}>
          {isFirst ? line.task : ''}
        </span>
      )}
      <bdi className="text">
        {partsOf(line, start, end).map(({ text, className, isMatch }, index) => {
          if (!className && !isMatch) return text
          const Tag = isMatch ? 'mark' : 'span'
          return (
            // biome-ignore lint/suspicious/noArrayIndexKey: the parts of one line never change places
            <Tag key={index} className={className || undefined}>
              {text}
            </Tag>
          )
        })}
      </bdi>
      {(line.cut_bytes ?? 0) > 0 && end === line.text.length && <span className="cut">{logs.cut}</span>}
    </div>
  )
})

/** The same colour for the same task, on every page and every day. */
export function laneOf(task: string): number {
  let sum = 0
  for (const letter of task) sum = (sum * 31 + letter.charCodeAt(0)) % 997
  return sum % LANES
}
