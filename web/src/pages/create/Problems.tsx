import { Rich } from '../../ui/Say.tsx'
import { useWords } from '../../words/index.tsx'
import type { Problem } from './useChecked.ts'

/** What is in the way, each with its place in the text and what to do about it. */
export function Problems({ title, wrongs = [], problems }: { title: string; wrongs?: string[]; problems: Problem[] }) {
  const { create: w } = useWords()
  if (problems.length + wrongs.length === 0) return null
  return (
    <div>
      <strong>{title}</strong>
      <ul className="problems">
        {wrongs.map(wrong => (
          <li key={wrong}>{wrong}</li>
        ))}
        {problems.map(problem => (
          <li key={`${problem.path} ${problem.message}`}>
            <code className="inline">{problem.path}</code> <Rich text={problem.message} />
            {problem.line > 0 && <span className="soft small"> ({w.at(problem.line, problem.column)})</span>}
            {problem.hint && (
              <div className="soft">
                <Rich text={problem.hint} />
              </div>
            )}
          </li>
        ))}
      </ul>
    </div>
  )
}
