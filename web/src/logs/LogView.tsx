import { type UIEvent, useCallback, useEffect, useLayoutEffect, useRef, useState } from 'react'
import { useWords } from '../words/index.tsx'
import { LogRow } from './LogRow.tsx'
import type { Moment } from './sync.ts'
import type { Log } from './useReel.ts'
import { rowCount } from './wrap.ts'

const ROW_PX = 19
/** Rows drawn above and below what can be seen, so that quick scrolling shows no gaps. */
const MARGIN = 20
/** So near to the end counts as at the end. */
const NEAR_PX = 30
const TIME_COLUMNS = 14
const NAME_COLUMNS = 14

export interface Looks {
  wrap: boolean
  times: boolean
  /** Whether each line says whose it is. */
  names: boolean
}

interface Props {
  log: Log
  looks: Looks
  follow: boolean
  setFollow: (on: boolean) => void
  /** Who this is among others side by side. */
  lane?: { name: string; moment: Moment }
}

/** Only the rows that can be seen are in the page, so a million lines scroll like ten. */
export function LogView({ log, looks, follow, setFollow, lane }: Props) {
  const words = useWords()
  const box = useRef<HTMLElement>(null)
  const [seen, setSeen] = useState({ top: 0, height: 600 })
  const { wrap, times, names } = looks
  const columns = useColumns(box, wrap, (times ? TIME_COLUMNS : 0) + (names ? NAME_COLUMNS : 0))
  const { reel, version } = log
  const measured = useRef<unknown>(null)
  if (measured.current !== reel || reel.columns !== columns) {
    measured.current = reel
    reel.columns = columns
    reel.measure(line => rowCount(line.text, columns))
  }
  const rows = reel.rowCount
  useKeptPlace(box, log)
  useLane(box, log, lane)

  // biome-ignore lint/correctness/useExhaustiveDependencies: with every new row the end moves
  useLayoutEffect(() => {
    const element = box.current
    if (follow && element) element.scrollTop = element.scrollHeight
  }, [follow, rows, version, seen.height])
  useEffect(() => {
    const element = box.current
    if (!element) return
    const watch = new ResizeObserver(() => setSeen({ top: element.scrollTop, height: element.clientHeight }))
    watch.observe(element)
    return () => watch.disconnect()
  }, [])

  const first = Math.max(0, Math.floor(seen.top / ROW_PX) - MARGIN)
  const last = Math.min(rows, Math.ceil((seen.top + seen.height) / ROW_PX) + MARGIN)
  // biome-ignore lint/correctness/useExhaustiveDependencies: another version has other pages
  useEffect(() => log.look(first, last), [first, last, version])

  const onScroll = (event: UIEvent<HTMLElement>) => {
    const { scrollTop, scrollHeight, clientHeight } = event.currentTarget
    const isAtEnd = scrollHeight - scrollTop - clientHeight < NEAR_PX
    setSeen({ top: scrollTop, height: clientHeight })
    if (isAtEnd !== follow) setFollow(isAtEnd)
    const top = reel.rowsBetween(Math.floor(scrollTop / ROW_PX), Math.floor(scrollTop / ROW_PX) + 1)[0]?.line
    if (lane && top) lane.moment.tell(lane.name, top.at_ms)
  }
  const lead = () => lane?.moment.lead(lane.name)

  return (
    <section
      className="log"
      ref={box}
      onScroll={onScroll}
      onPointerEnter={lead}
      onFocus={lead}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
      tabIndex={0}
      aria-label={lane ? words.app.about(words.logs.label, lane.name) : words.logs.label}
    >
      <div className="log-all" style={{ height: rows * ROW_PX }}>
        <div className="log-seen" style={{ transform: `translateY(${first * ROW_PX}px)` }}>
          {reel.rowsBetween(first, last).map(({ line, part }, index) => (
            <LogRow
              // biome-ignore lint/suspicious/noArrayIndexKey: a row is its place
              key={first + index}
              line={line}
              part={part}
              columns={columns}
              times={times}
              names={names}
            />
          ))}
        </div>
      </div>
    </section>
  )
}

/** What is read does not jump away when earlier lines come in above it. */
function useKeptPlace(box: React.RefObject<HTMLElement | null>, { reel }: Log) {
  const known = useRef({ reel, rows: 0 })
  useLayoutEffect(() => {
    const before = known.current.reel === reel ? known.current.rows : 0
    known.current = { reel, rows: reel.rowsPrepended }
    if (box.current && reel.rowsPrepended > before) box.current.scrollTop += (reel.rowsPrepended - before) * ROW_PX
  })
}

/** Goes to the moment that another lane shows. */
function useLane(box: React.RefObject<HTMLElement | null>, { reel }: Log, lane: Props['lane']) {
  const goTo = useCallback(
    (ms: number) => {
      if (box.current) box.current.scrollTop = reel.rowAtTime(ms) * ROW_PX
    },
    [box, reel],
  )
  useEffect(() => lane?.moment.join(lane.name, goTo), [lane?.moment, lane?.name, goTo])
}

/** How many letters fit into a row; 0 if lines are not wrapped. */
function useColumns(box: React.RefObject<HTMLElement | null>, wrap: boolean, taken: number): number {
  const [columns, setColumns] = useState(0)
  useEffect(() => {
    const element = box.current
    if (!wrap || !element) return setColumns(0)
    const measure = () => {
      const probe = document.createElement('span')
      probe.className = 'log-row'
      probe.textContent = 'x'.repeat(100)
      probe.style.position = 'absolute'
      element.append(probe)
      const letter = (probe.getBoundingClientRect().width - 28) / 100
      probe.remove()
      setColumns(Math.max(20, Math.floor((element.clientWidth - 28) / letter) - taken - 1))
    }
    const watch = new ResizeObserver(measure)
    watch.observe(element)
    return () => watch.disconnect()
  }, [box, wrap, taken])
  return columns
}
