import { type RefObject, useEffect, useMemo, useRef, useState } from 'react'
import { type Axis, numbers, spans, steps, times } from '../../../charts/axes.ts'
import { Chart } from '../../../charts/Chart.tsx'
import { ChartTable } from '../../../charts/ChartTable.tsx'
import type { Range } from '../../../charts/line.ts'
import type { Series } from '../../../charts/picture.ts'
import { smooth } from '../../../charts/smooth.ts'
import { type CurveJob, useCurves } from '../../../curves/useCurves.ts'
import { Button } from '../../../ui/Button.tsx'
import { Icon } from '../../../ui/Icon.tsx'
import { Trouble } from '../../../ui/Say.tsx'
import { useWords } from '../../../words/index.tsx'
import type { CurveChoices } from './choices.ts'
import { Legend } from './Legend.tsx'
import { type ChartLine, linesOf, type Metric } from './metrics.ts'

/** A piece for about each pixel, of a chart among others and of a large one. */
const BUCKETS = { normal: 500, tall: 1_200 }
const NO_JOBS: CurveJob[] = []

interface Props {
  metric: Metric
  jobs: CurveJob[]
  tones: Map<string, number>
  choices: CurveChoices
  onZoom: (range: Range | null) => void
  onEnlarge: (metric: string | null) => void
}

/** Whether an element is on the screen or about to be. */
function useIsNear(ref: RefObject<HTMLElement | null>): boolean {
  const [isNear, setNear] = useState(false)
  useEffect(() => {
    if (!ref.current) return
    const watch = new IntersectionObserver(([entry]) => setNear(entry?.isIntersecting ?? false), {
      rootMargin: '300px',
    })
    watch.observe(ref.current)
    return () => watch.disconnect()
  }, [ref])
  return isNear
}

function useAxis(kind: CurveChoices['x']): Axis {
  const { locale, units, curves } = useWords()
  return useMemo(() => {
    const axes = { step: steps(locale, curves.xs.step), time: times(locale), span: spans(units) }
    return axes[kind]
  }, [kind, locale, units, curves])
}

function useDrawn({ metric, jobs, choices }: Props, lines: ChartLine[], hidden: ReadonlySet<string>) {
  const { x, range, task, group, smoothing } = choices
  const buckets = BUCKETS[choices.metric === metric.name ? 'tall' : 'normal']
  const { curves, ...rest } = useCurves(jobs, { name: metric.name, x, range, task, group, buckets })
  const series = useMemo(() => {
    const byKey = new Map(lines.map(it => [it.key, it]))
    return curves.flatMap(({ key, line }): Series[] => {
      const known = byKey.get(key)
      if (!known || hidden.has(key)) return []
      const smoothed = smoothing > 0 ? { smoothed: smooth(line.y, smoothing) } : {}
      return [{ key, label: known.label, tone: known.tone, line, ...smoothed }]
    })
  }, [curves, lines, hidden, smoothing])
  return { series, ...rest }
}

/** All curves of one metric, with what they come to. It asks for nothing before it is looked at. */
export function CurveCard(props: Props) {
  const { curves: words, charts } = useWords()
  const { metric, jobs, tones, choices, onZoom, onEnlarge } = props
  const card = useRef<HTMLElement>(null)
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set())
  const isNear = useIsNear(card)
  const isLarge = choices.metric === metric.name
  const size = isLarge ? 'tall' : 'normal'
  const axis = useAxis(choices.x)
  const lines = useMemo(() => linesOf(metric, tones, words.noGroup), [metric, tones, words])
  const drawn = useDrawn({ ...props, jobs: isNear ? jobs : NO_JOBS }, lines, hidden)
  const { series, leftOut, error } = drawn
  const { range } = choices
  return (
    <section className="panel curve-card" aria-label={metric.name} ref={card}>
      <header>
        <h3 className="clip" title={metric.name}>
          {metric.name}
        </h3>
        <div className="row">
          {range && (
            <Button tight onClick={() => onZoom(null)}>
              {charts.back}
            </Button>
          )}
          <Button
            tight
            look="plain"
            aria-label={isLarge ? words.all : words.enlarge(metric.name)}
            title={isLarge ? words.all : words.enlarge(metric.name)}
            onClick={() => onEnlarge(isLarge ? null : metric.name)}
          >
            {isLarge ? words.all : <Icon name="wide" />}
          </Button>
        </div>
      </header>
      <div className="body">
        {error && <Trouble error={error} />}
        {isNear && !drawn.isLoading ? (
          <Chart
            label={metric.name}
            series={series}
            x={axis}
            y={numbers}
            log={choices.log}
            range={range}
            onRange={onZoom}
            size={size}
          />
        ) : (
          <div className={`chart chart-${size}`} />
        )}
        <Legend metric={metric} lines={lines} hidden={hidden} onHidden={setHidden} />
        {leftOut > 0 && <p className="soft small">{words.leftOut(leftOut)}</p>}
        {isLarge && <ChartTable label={metric.name} series={series} x={axis} y={numbers} range={range} />}
      </div>
    </section>
  )
}
