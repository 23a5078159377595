import { useQuery } from '@tanstack/react-query'
import type { Needs } from '../../api/algorithms.ts'
import * as queries from '../../api/queries.ts'
import { SelectField } from '../../ui/Field.tsx'
import { useWords } from '../../words/index.tsx'
import { canUse, canUseCards, needsNoCard } from './algorithm.ts'
import type { Path } from './draft.ts'
import { InFile } from './InFile.tsx'
import { NumberField } from './NumberField.tsx'
import * as pro from './pro.ts'
import type { Put } from './put.ts'

interface Props {
  put: Put
  role: string
  /** What the algorithm of the job can run on. */
  needs?: Needs
}

/** Which accelerators each task of a role gets, and how many. What the algorithm cannot use is greyed. */
export function Accelerators({ put, role, needs = {} }: Props) {
  const { create: w, pick } = useWords()
  const { draft, setDraft, saidIn } = put
  const at: Path = ['roles', role, 'accelerators']
  const nodes = useQuery(queries.nodes())
  const { kind, count } = pro.acceleratorOf(draft, role)
  const own = needs.accelerators?.filter(it => it !== 'none') ?? []
  const kinds = new Set([...(nodes.data ?? []).flatMap(node => Object.keys(node.capacity.accelerators ?? {})), ...own])
  if (kind) kinds.add(kind)
  if (pro.hasManyKinds(draft, role)) return <InFile put={put} label={w.acceleratorCount} at={at} />
  const none = canUseCards(needs) ? null : pick.noCardAtAll
  const most = needs.accelerators_max
  return (
    <>
      <SelectField
        label={w.acceleratorKind}
        value={kind}
        disabled={none !== null && kind === ''}
        title={none ?? undefined}
        onChange={event => setDraft(pro.setAccelerator(draft, role, event.target.value, Number(count) || 1))}
      >
        <option value="" disabled={own.length > 0}>
          {w.anyKind}
        </option>
        {[...kinds].map(it => (
          <option key={it} value={it} disabled={!canUse(needs, it)}>
            {canUse(needs, it) ? it : pick.cannotUse(it)}
          </option>
        ))}
      </SelectField>
      <NumberField
        label={w.acceleratorCount}
        help={
          none ??
          [!needsNoCard(needs) && pick.needsCard, most != null && pick.cardsMost(most)].filter(Boolean).join(' ')
        }
        least={needsNoCard(needs) ? 0 : 1}
        most={most ?? undefined}
        value={count}
        wrong={saidIn(at)}
        refused={none}
        change={number => setDraft(pro.setAccelerator(draft, role, kind, number ?? 0))}
      />
    </>
  )
}
