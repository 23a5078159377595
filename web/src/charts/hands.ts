// What the reader does to a chart with hand or keys.
import type { KeyboardEvent, PointerEvent } from 'react'
import type { Cursor } from './cursor.ts'
import type { Range } from './line.ts'
import { type Picture, placeAt, type Series } from './picture.ts'
import { neighbour, snap } from './point.ts'
import type { Drag } from './pointer.ts'

/** Less than this is a click, and no choice. */
const DRAG_MIN_PX = 6
const PAGE = 0.1

interface Held {
  picture: Picture | null
  series: Series[]
  cursor: Cursor
  whole: Range | null
  onRange: ((range: Range | null) => void) | undefined
}

interface Hand extends Held {
  drag: Drag | null
  setDrag: (drag: Drag | null) => void
  setHandPx: (px: number | null) => void
  setActive: (active: boolean) => void
}

/** Pointing moves the cross-hair, dragging chooses a part of the axis, a double click takes it back. */
export function handOn({ picture, series, cursor, drag, setDrag, setHandPx, setActive, onRange }: Hand) {
  const where = (event: PointerEvent) => {
    const box = event.currentTarget.getBoundingClientRect()
    return { px: event.clientX - box.left, py: event.clientY - box.top }
  }
  const point = (event: PointerEvent) => {
    if (!picture) return
    const { px, py } = where(event)
    setHandPx(py)
    setActive(true)
    cursor.moveTo(snap(series, placeAt(picture, px), [picture.x.from, picture.x.to]))
  }
  return {
    onPointerDown(event: PointerEvent) {
      if (event.button !== 0 || !onRange) return
      event.currentTarget.setPointerCapture(event.pointerId)
      const { px } = where(event)
      setDrag({ from: px, to: px })
      point(event)
    },
    onPointerMove(event: PointerEvent) {
      if (drag) setDrag({ ...drag, to: where(event).px })
      else point(event)
    },
    onPointerUp() {
      setDrag(null)
      if (!drag || !picture || Math.abs(drag.to - drag.from) < DRAG_MIN_PX) return
      const [a, b] = [placeAt(picture, drag.from), placeAt(picture, drag.to)]
      onRange?.([Math.min(a, b), Math.max(a, b)])
    },
    onPointerCancel: () => setDrag(null),
    onPointerLeave() {
      if (drag) return
      setActive(false)
      cursor.moveTo(null)
    },
    onDoubleClick: () => onRange?.(null),
  }
}

/** Twice as near or as far around a place. As far as there is anything, it is everything. */
export function zoomed([from, to]: Range, middle: number, factor: number, whole: Range | null): Range | null {
  const next: Range = [middle - (middle - from) * factor, middle + (to - middle) * factor]
  return whole && next[0] <= whole[0] && next[1] >= whole[1] ? null : next
}

/** What a key does to the chart; whether it does anything. */
export function press({ key, shiftKey }: KeyboardEvent, { picture, series, cursor, whole, onRange }: Held): boolean {
  if (!picture) return false
  const range: Range = [picture.x.from, picture.x.to]
  const width = range[1] - range[0]
  const go = (to: number | null) => {
    cursor.moveTo(to ?? cursor.x)
    return true
  }
  const leap = (by: number) =>
    go(snap(series, Math.min(range[1], Math.max(range[0], (cursor.x ?? range[0]) + by)), range))
  const zoom = (factor: number) => {
    onRange?.(zoomed(range, cursor.x ?? (range[0] + range[1]) / 2, factor, whole))
    return onRange !== undefined
  }
  switch (key) {
    case 'ArrowRight':
      return shiftKey ? leap(width * PAGE) : go(neighbour(series, cursor.x, 1, range))
    case 'ArrowLeft':
      return shiftKey ? leap(-width * PAGE) : go(neighbour(series, cursor.x, -1, range))
    case 'PageDown':
      return leap(width * PAGE)
    case 'PageUp':
      return leap(-width * PAGE)
    case 'Home':
      return go(neighbour(series, null, 1, range))
    case 'End':
      return go(neighbour(series, null, -1, range))
    case '+':
    case '=':
      return zoom(0.5)
    case '-':
      return zoom(2)
    case '0':
    case 'Backspace':
      onRange?.(null)
      return onRange !== undefined
    case 'Escape':
      cursor.moveTo(null)
      return true
    default:
      return false
  }
}
