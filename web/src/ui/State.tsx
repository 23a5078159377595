import type { JobState, TaskState } from '../api/queries.ts'
import { useWords } from '../words/index.tsx'

type Tone = 'busy' | 'good' | 'bad' | 'warn' | 'calm'
type Shape = 'ring' | 'half' | 'disc' | 'check' | 'cross' | 'bar' | 'ask'

/** How each state looks. Its word is in `words`; a shape goes with each colour, for eyes that see no colours. */
const LOOKS: Record<JobState | TaskState, { tone: Tone; shape: Shape }> = {
  queued: { tone: 'calm', shape: 'ring' },
  starting: { tone: 'busy', shape: 'half' },
  running: { tone: 'busy', shape: 'disc' },
  finishing: { tone: 'busy', shape: 'half' },
  stopping: { tone: 'warn', shape: 'half' },
  unknown: { tone: 'warn', shape: 'ask' },
  succeeded: { tone: 'good', shape: 'check' },
  failed: { tone: 'bad', shape: 'cross' },
  stopped: { tone: 'calm', shape: 'bar' },
}

const DRAWN: Record<Shape, string> = {
  ring: 'M5 1.5a3.5 3.5 0 1 1 0 7 3.5 3.5 0 0 1 0-7',
  half: 'M5 1.5a3.5 3.5 0 1 1 0 7 3.5 3.5 0 0 1 0-7M5 1.5v7',
  disc: 'M3 1.8 8.2 5 3 8.2z',
  check: 'M1.8 5.3 4 7.5l4.2-5',
  cross: 'M2 2l6 6M8 2 2 8',
  bar: 'M2 2h6v6H2z',
  ask: 'M3 3.5C3 2 7 2 7 3.7 7 5 5 5 5 6.3M5 8.2v.1',
}

export function State({ state }: { state: JobState | TaskState }) {
  const words = useWords()
  const { tone, shape } = LOOKS[state]
  return (
    <span className={`state tone-${tone}`}>
      <svg
        width="10"
        height="10"
        viewBox="0 0 10 10"
        fill="none"
        stroke="currentColor"
        strokeWidth="1.5"
        aria-hidden="true"
      >
        <path d={DRAWN[shape]} strokeLinecap="round" strokeLinejoin="round" />
      </svg>
      {words.states[state]}
    </span>
  )
}
