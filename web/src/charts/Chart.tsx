import { type KeyboardEvent, type RefObject, useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from 'react'
import { useWords } from '../words/index.tsx'
import type { Axis } from './axes.ts'
import { Cursor, usePlace } from './cursor.ts'
import { handOn, press } from './hands.ts'
import type { Range } from './line.ts'
import { paint } from './paint.ts'
import { type Limit, layOut, type Picture, type Series, wholeRange } from './picture.ts'
import { type Point, pointsAt } from './point.ts'
import { type Drag, paintPointer } from './pointer.ts'
import { Readout } from './Readout.tsx'
import { tell } from './tell.ts'
import { measureIn, penOf, useBox, useColours } from './useCanvas.ts'

export interface ChartProps {
  /** What is drawn, for whoever does not see it. */
  label: string
  series: Series[]
  x: Axis
  y: Axis
  log?: boolean
  fromZero?: boolean
  /** The part of the x axis that was chosen; none shows everything. */
  range?: Range | null
  /** Everything there is, where that is more than the lines reach over. */
  whole?: Range | null
  onRange?: (range: Range | null) => void
  limits?: Limit[]
  labelPx?: number
  /** Shared by charts whose cross-hairs go together. */
  cursor?: Cursor
  size?: 'small' | 'normal' | 'tall'
}

const NO_LIMITS: Limit[] = []
/** A series that has nothing so near to the cross-hair says nothing. */
const REACH_PX = 30

/** Curves on a canvas. It knows its series and axes, and neither where they come from nor what page it is on. */
export function Chart(props: ChartProps) {
  const { charts } = useWords()
  const { series, log = false, range = null, whole = null } = props
  const box = useRef<HTMLDivElement>(null)
  const window = range ?? whole ?? wholeRange(series)
  const isEmpty = window === null || series.every(it => it.line.x.length === 0 && !it.line.odd?.length)
  const has = (value: number) => Number.isFinite(value) && (!log || value > 0)
  const isBelow = log && !isEmpty && !series.some(it => it.line.y.some(has))
  return (
    <div className={`chart chart-${props.size ?? 'normal'}`} ref={box}>
      {window && !isEmpty && <Drawn {...props} window={window} box={box} />}
      {isEmpty && <p className="chart-note soft">{charts.empty}</p>}
      {isBelow && <p className="chart-note soft">{charts.notAboveZero}</p>}
    </div>
  )
}

type DrawnProps = ChartProps & { window: Range; box: RefObject<HTMLDivElement | null> }

function Drawn({ window, box, ...props }: DrawnProps) {
  const { charts } = useWords()
  const { label, series, x, y, log = false, fromZero = false, limits = NO_LIMITS, labelPx = 0, onRange } = props
  const own = useRef(new Cursor())
  const cursor = props.cursor ?? own.current
  const base = useRef<HTMLCanvasElement>(null)
  const over = useRef<HTMLCanvasElement>(null)
  const [drag, setDrag] = useState<Drag | null>(null)
  const [handPx, setHandPx] = useState<number | null>(null)
  const [active, setActive] = useState(false)
  const help = useId()
  const size = useBox(box)
  const colours = useColours()
  const at = usePlace(cursor)
  const [from, to] = window
  const sheet = useMemo(
    () => ({ series, x, y, log, fromZero, limits, labelPx, range: [from, to] as Range }),
    [series, x, y, log, fromZero, limits, labelPx, from, to],
  )
  const picture = useMemo(() => size && layOut(sheet, size, measureIn(colours.font)), [sheet, size, colours])
  const points = useMemo(() => (picture && at !== null ? around(series, at, picture) : []), [picture, series, at])

  useLayoutEffect(() => {
    const pen = picture && penOf(base.current, picture)
    if (pen) paint(pen, sheet, picture, colours)
  }, [sheet, picture, colours])
  useLayoutEffect(() => {
    const pen = picture && penOf(over.current, picture)
    if (pen) paintPointer(pen, picture, colours, { at, points, drag })
  }, [picture, colours, at, points, drag])
  useEffect(() => () => cursor.moveTo(null), [cursor])

  const held = { picture, series, cursor, whole: props.whole ?? null, onRange }
  const hand = handOn({ ...held, drag, setDrag, setHandPx, setActive })
  const onKeyDown = (event: KeyboardEvent) => {
    if (!press(event, held)) return
    event.preventDefault()
    setHandPx(null)
    setActive(true)
  }
  const here = at ?? from
  return (
    <>
      <div
        className="chart-area"
        role="slider"
        tabIndex={0}
        aria-label={label}
        aria-describedby={help}
        aria-valuemin={from}
        aria-valuemax={to}
        aria-valuenow={Math.min(to, Math.max(from, here))}
        aria-valuetext={at === null ? charts.count(series.length) : tell(at, points, { x, y })}
        onKeyDown={onKeyDown}
        onBlur={() => {
          setActive(false)
          cursor.moveTo(null)
        }}
        {...hand}
      >
        <canvas ref={base} />
        <canvas ref={over} />
        {active && picture && at !== null && points.length > 0 && !drag && (
          <Readout at={at} points={points} picture={picture} axes={{ x, y }} handPx={handPx} />
        )}
      </div>
      <span className="unseen" id={help}>
        {onRange ? charts.helpZoom : charts.help}
      </span>
    </>
  )
}

function around(series: Series[], at: number, picture: Picture): Point[] {
  const { from, to } = picture.x
  const reach = ((to - from) * REACH_PX) / Math.max(1, picture.right - picture.left)
  return pointsAt(series, at, [from, to], reach)
}
