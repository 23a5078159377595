import type { Figure, TaskUsage } from '../../../usage/panels.ts'
import { useLanguage } from '../../../words/index.tsx'

/** How each figure was come by, in the server's words. Tasks of a job are counted alike, so one of them tells. */
export function Counted({ tasks }: { tasks: TaskUsage[] }) {
  const { words, language } = useLanguage()
  const counted = Object.entries(tasks[0]?.counted ?? {})
  if (counted.length === 0) return null
  return (
    <details className="small">
      <summary className="soft">{words.usage.counted}</summary>
      <dl className="counted">
        {counted.map(([figure, { how, how_zh }]) => (
          <div key={figure}>
            <dt>{words.usage.figures[figure as Figure]}</dt>
            <dd className="soft">{language === 'zh' ? how_zh : how}</dd>
          </div>
        ))}
      </dl>
    </details>
  )
}
