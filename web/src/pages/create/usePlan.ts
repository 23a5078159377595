import { useEffect, useState } from 'react'
import { type Origin, planJob } from '../../api/actions.ts'
import { AGAIN_MS } from '../../api/again.ts'
import { ApiError, type ErrorBody, isAway } from '../../api/error.ts'
import type { Planned } from '../../api/queries.ts'

const TYPING_MS = 300

export type Problem = NonNullable<ErrorBody['problems']>[number]

export interface Checked {
  /** The text that was checked; another one is being checked if it differs. */
  of: string | null
  plan: Planned | null
  problems: Problem[]
  /** Anything that is wrong and no problem of the file. */
  error: unknown
}

/** Has the server compile the file whenever the typing pauses: the same compiler that will judge the submission. */
export function usePlan(text: string, origin: Origin): Checked {
  const [checked, setChecked] = useState<Checked>({ of: null, plan: null, problems: [], error: null })
  const about = JSON.stringify(origin)
  useEffect(() => {
    let isOld = false
    const check = async () => {
      const result = await ask(text, JSON.parse(about) as Origin)
      if (isOld) return
      setChecked({ of: text, ...result })
      if (isAway(result.error)) timer = setTimeout(check, AGAIN_MS)
    }
    let timer = setTimeout(check, TYPING_MS)
    return () => {
      isOld = true
      clearTimeout(timer)
    }
  }, [text, about])
  return checked
}

async function ask(text: string, origin: Origin): Promise<Omit<Checked, 'of'>> {
  try {
    return { plan: await planJob(text, origin), problems: [], error: null }
  } catch (error) {
    const problems = error instanceof ApiError ? (error.body.problems ?? []) : []
    return { plan: null, problems, error: problems.length > 0 ? null : error }
  }
}
