import { useEffect, useRef, useState } from 'react'
import { AGAIN_MS } from '../../api/again.ts'
import { ApiError, type ErrorBody, isAway } from '../../api/error.ts'

const TYPING_MS = 300

export type Problem = NonNullable<ErrorBody['problems']>[number]

export interface Checked<Made> {
  /** The text that was checked; another one is being checked if it differs. */
  of: string | null
  made: Made | null
  problems: Problem[]
  /** Anything that is wrong and no problem of the file. */
  error: unknown
}

/** Has the server look at a text whenever the typing pauses, or when what is said about it is something else. */
export function useChecked<Made>(text: string, about: string, check: () => Promise<Made>): Checked<Made> {
  const [checked, setChecked] = useState<Checked<Made>>({ of: null, made: null, problems: [], error: null })
  const latest = useRef(check)
  latest.current = check
  // biome-ignore lint/correctness/useExhaustiveDependencies: another text or another origin is another question
  useEffect(() => {
    let isOld = false
    const ask = async () => {
      const result = await answer(latest.current)
      if (isOld) return
      setChecked({ of: text, ...result })
      if (isAway(result.error)) timer = setTimeout(ask, AGAIN_MS)
    }
    let timer = setTimeout(ask, TYPING_MS)
    return () => {
      isOld = true
      clearTimeout(timer)
    }
  }, [text, about])
  return checked
}

async function answer<Made>(check: () => Promise<Made>): Promise<Omit<Checked<Made>, 'of'>> {
  try {
    return { made: await check(), problems: [], error: null }
  } catch (error) {
    const problems = error instanceof ApiError ? (error.body.problems ?? []) : []
    return { made: null, problems, error: problems.length > 0 ? null : error }
  }
}
