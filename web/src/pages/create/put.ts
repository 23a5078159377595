import { type Draft, type Path, spelt } from './draft.ts'
import type { Problem } from './usePlan.ts'

/** A job file, the way to write it, and what is wrong with each of its fields. */
export interface Put {
  draft: Draft
  setDraft: (draft: Draft) => void
  /** What the compiler says of this very place. */
  said: (path: Path) => string | undefined
  /** The same of a place or of anything in it. */
  saidIn: (path: Path) => string | undefined
}

export function putOf(draft: Draft, setDraft: (draft: Draft) => void, problems: Problem[]): Put {
  const find = (isMeant: (path: string) => boolean) => problems.find(problem => isMeant(problem.path))?.message
  return {
    draft,
    setDraft,
    said: path => find(it => it === spelt(path)),
    saidIn: path => find(it => it === spelt(path) || /^[.[]/.test(behind(it, spelt(path)))),
  }
}

/** What follows a beginning; nothing if it is not the beginning. */
const behind = (text: string, beginning: string) => (text.startsWith(beginning) ? text.slice(beginning.length) : '')
