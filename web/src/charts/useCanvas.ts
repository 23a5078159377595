import { type RefObject, useEffect, useState, useSyncExternalStore } from 'react'
import type { Colours } from './paint.ts'
import type { Box } from './picture.ts'

const TONES = 8

/** The mark of a line beside its name. */
export const swatch = (tone: number) => `swatch tone-${tone % TONES}${tone >= TONES ? ' dashed' : ''}`

const FONT_PX = 11.5

/** How large an element is and how many of the device's pixels make one of ours; both may change at any time. */
export function useBox(ref: RefObject<HTMLElement | null>): Box | null {
  const [box, setBox] = useState<Box | null>(null)
  useEffect(() => {
    const element = ref.current
    if (!element) return
    const look = () => {
      const next = { width: element.clientWidth, height: element.clientHeight, density: devicePixelRatio }
      const isSame = (old: Box | null) =>
        old?.width === next.width && old.height === next.height && old.density === next.density
      setBox(old => (isSame(old) ? old : next))
    }
    look()
    const watch = new ResizeObserver(look)
    watch.observe(element)
    // Zooming the page changes the density and may leave the element as large as it was.
    addEventListener('resize', look)
    return () => {
      watch.disconnect()
      removeEventListener('resize', look)
    }
  }, [ref])
  return box
}

function read(): Colours {
  const style = getComputedStyle(document.documentElement)
  const get = (name: string) => style.getPropertyValue(name).trim()
  return {
    series: Array.from({ length: TONES }, (_, index) => get(`--series-${index}`)),
    grid: get('--line'),
    axis: get('--line-strong'),
    text: get('--ink-soft'),
    ink: get('--ink'),
    ground: get('--panel'),
    limit: get('--bad'),
    choice: get('--accent'),
    font: `${FONT_PX}px ${get('--font')}`,
  }
}

let known: { theme: string | undefined; colours: Colours } | null = null

function current(): Colours {
  const theme = document.documentElement.dataset.theme
  if (known?.theme !== theme || known === null) known = { theme, colours: read() }
  return known.colours
}

function whenThemeChanges(listener: () => void) {
  const watch = new MutationObserver(listener)
  watch.observe(document.documentElement, { attributeFilter: ['data-theme'] })
  return () => watch.disconnect()
}

/** The page's colours, for a canvas knows no style sheet. */
export const useColours = (): Colours => useSyncExternalStore(whenThemeChanges, current)

let ruler: CanvasRenderingContext2D | null = null

/** How wide a text is in the font of charts. */
export function measureIn(font: string): (text: string) => number {
  ruler ??= document.createElement('canvas').getContext('2d')
  return text => {
    if (!ruler) return text.length * FONT_PX
    ruler.font = font
    return ruler.measureText(text).width
  }
}

/** A canvas as fine as the screen, ready to be drawn on. */
export function penOf(canvas: HTMLCanvasElement | null, { width, height, density }: Box) {
  if (!canvas) return null
  const [wide, high] = [Math.round(width * density), Math.round(height * density)]
  // Setting a size wipes the canvas even if it is the same.
  if (canvas.width !== wide) canvas.width = wide
  if (canvas.height !== high) canvas.height = high
  return canvas.getContext('2d')
}
