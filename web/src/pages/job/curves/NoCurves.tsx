import { Empty } from '../../../ui/Say.tsx'
import { useWords } from '../../../words/index.tsx'

const SAMPLES = {
  print: 'step 250: train loss 1.75, val loss 1.80',
  events: 'SummaryWriter("/output/logs")',
  lines: '{"step": 250, "loss": 1.75, "accuracy": 0.61}',
  rules: "metrics: { rules: ['loss is (?P<loss>\\S+)'] }",
} as const

/** Says how numbers become curves, where there are none. */
export function NoCurves({ isOver, isReading }: { isOver: boolean; isReading: boolean }) {
  const { curves } = useWords()
  if (isReading) return <Empty icon="curve" title={curves.reading} />
  return (
    <Empty icon="curve" title={isOver ? curves.emptyOver : curves.empty} hint={curves.emptyHint}>
      <dl className="ways">
        {Object.entries(SAMPLES).map(([key, sample]) => (
          <div key={key}>
            <dt>{curves.ways[key as keyof typeof SAMPLES]}</dt>
            <dd>
              <code>{sample}</code>
            </dd>
          </div>
        ))}
      </dl>
    </Empty>
  )
}
