import { useRef, useState } from 'react'
import { useLocation } from 'wouter'
import { newKey, type Origin, submitJob } from '../../api/actions.ts'
import { isAway, tellingOf } from '../../api/error.ts'
import { label } from '../../api/queries.ts'
import { paths } from '../../paths.ts'
import { Button } from '../../ui/Button.tsx'
import { Trouble } from '../../ui/Say.tsx'
import { useToasts } from '../../ui/Toasts.tsx'
import { useLanguage } from '../../words/index.tsx'
import { ConfirmSubmit } from './ConfirmSubmit.tsx'
import { type Draft, isOurs } from './draft.ts'
import { PlanView } from './PlanView.tsx'
import { Problems } from './Problems.tsx'
import { emptyPaths, wrongOf } from './simple.ts'
import type { Checked } from './usePlan.ts'

interface Props {
  draft: Draft
  checked: Checked
  origin: Origin
  forget: () => void
  /** Goes on with the same job as a file of ours. */
  convert: () => void
}

/** What the server makes of the file so far, and the way to submit it. */
export function Check({ draft, checked, origin, forget, convert }: Props) {
  const { words, language } = useLanguage()
  const w = words.create
  const [, go] = useLocation()
  const { tell } = useToasts()
  const keyFor = useKey()
  const [confirming, setConfirming] = useState(false)
  const isChecking = checked.of !== draft.text
  const wrongs = isOurs(draft) ? Object.values(wrongOf(draft)).map(it => w[it]) : []
  const empty = isOurs(draft) ? emptyPaths(draft) : []
  const problems = checked.problems.filter(it => !empty.includes(it.path))
  const trouble = isAway(checked.error) ? words.app.away : tellingOf(checked.error, language).message
  const blocked = isChecking ? w.checking : (wrongs[0] ?? problems[0]?.message ?? (checked.plan ? null : trouble))

  const submit = async () => {
    const job = await submitJob(draft.text, keyFor(JSON.stringify([draft.text, origin])), origin)
    forget()
    tell(w.submitted(label(job)))
    go(paths.job(job.id))
  }

  return (
    <aside className="panel check-panel" aria-label={w.plan}>
      <header>
        <h2>{w.plan}</h2>
        <span className="soft small" role="status">
          {isChecking
            ? w.checking
            : problems.length + wrongs.length === 0
              ? w.noProblems
              : w.problems(problems.length + wrongs.length)}
        </span>
      </header>
      <div className="body stack">
        {checked.error != null && <Trouble error={checked.error} />}
        <Problems title={w.blocked} wrongs={wrongs} problems={problems} />
        {origin.from !== undefined && draft.text.includes('******') && <p className="note small">{w.masked}</p>}
        {checked.plan && <PlanView planned={checked.plan} />}
        {checked.plan?.ours && (
          <Button title={w.foreign.convertHint} onClick={convert}>
            {w.foreign.convert}
          </Button>
        )}
        <Button look="primary" refused={blocked} onClick={() => setConfirming(true)}>
          {w.check}
        </Button>
      </div>
      {confirming && checked.plan && (
        <ConfirmSubmit planned={checked.plan} submit={submit} onClose={() => setConfirming(false)} />
      )}
    </aside>
  )
}

/** A key for each thing that is submitted. The same again has the same one: if an answer was lost, there is still one job. */
function useKey() {
  const last = useRef({ of: '', key: '' })
  return (what: string) => {
    if (last.current.of !== what) last.current = { of: what, key: newKey() }
    return last.current.key
  }
}
