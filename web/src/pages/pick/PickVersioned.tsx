import type { UseQueryResult } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'wouter'
import { Button } from '../../ui/Button.tsx'
import { Dialog } from '../../ui/Dialog.tsx'
import { ListTable } from '../../ui/ListTable.tsx'
import { type Column, found } from '../../ui/list.ts'
import { Empty, Trouble } from '../../ui/Say.tsx'
import { SearchBox } from '../../ui/SearchBox.tsx'
import { useWords } from '../../words/index.tsx'
import { descriptionIn, madeIn } from '../versioned/columns.tsx'
import { KINDS, type Kind, type Versioned } from '../versioned/kinds.ts'
import { versionedOf } from './place.ts'

export interface Picking {
  /** What is chosen so far: `mnist@3`. */
  value: string
  pick: (value: string) => void
  onClose: () => void
}

interface Props<Row> extends Picking {
  kind: Kind
  all: UseQueryResult<Row[]>
  /** What is shown of each, behind its version and before its description. */
  columns: Column<Row>[]
  /** All versions of one of them, once they are known; the newest first. */
  useNumbers: (name: string) => number[]
}

/** One thing of several, and one of its versions. */
export function PickVersioned<Row extends Versioned>({ kind, all, columns, pick, onClose, ...about }: Props<Row>) {
  const { app, pick: w, [kind]: own } = useWords()
  const [chosen, choose] = useState(versionedOf(about.value))
  const [text, setText] = useState('')
  const [sort, setSort] = useState('name')
  const usable = (all.data ?? []).filter(it => it.latest != null)
  const label = chosen && `${chosen.name}@${chosen.version}`
  const isThere = usable.some(it => it.name === chosen?.name)
  const shown: Column<Row>[] = [
    { key: 'name', title: own.name, cell: row => row.name, by: row => row.name },
    {
      key: 'version',
      title: own.version,
      cell: row =>
        row.name === chosen?.name ? (
          <VersionChoice
            name={row.name}
            latest={row.latest?.version ?? 0}
            useNumbers={about.useNumbers}
            version={chosen.version}
            choose={version => choose({ name: row.name, version })}
          />
        ) : (
          row.latest?.version
        ),
    },
    ...columns,
    descriptionIn(own),
    madeIn(own),
  ]
  return (
    <Dialog title={w[kind].title} onClose={onClose} wide>
      {all.error && <Trouble error={all.error} />}
      {usable.length === 0 && !all.error ? (
        all.data && <NoneYet kind={kind} />
      ) : (
        <>
          <SearchBox label={w.search} text={text} change={setText} />
          <ListTable
            columns={shown}
            rows={found(usable, text, row => `${row.name} ${row.description}`)}
            keyOf={row => row.name}
            sorting={{ sort, setSort }}
            isSelected={row => row.name === chosen?.name}
            picking={{
              label: row => w.choose(row.name),
              pick: row => choose({ name: row.name, version: String(row.latest?.version) }),
            }}
          />
        </>
      )}
      <div className="ends">
        <Button onClick={onClose}>{app.cancel}</Button>
        <Button look="primary" refused={isThere ? null : w.pickFirst} onClick={() => label && pick(label)}>
          {w.picked}
        </Button>
      </div>
    </Dialog>
  )
}

/** Of something that there is none of, nothing can be picked. */
function NoneYet({ kind }: { kind: Kind }) {
  const { pick: w, [kind]: own } = useWords()
  return (
    <Empty icon={kind} title={own.empty} hint={w[kind].emptyHint}>
      <Link className="button" href={KINDS[kind].pathToMake}>
        {w[kind].toMake}
      </Link>
    </Empty>
  )
}

interface ChoiceProps {
  name: string
  latest: number
  version: string
  useNumbers: (name: string) => number[]
  choose: (version: string) => void
}

function VersionChoice({ name, latest, version, useNumbers, choose }: ChoiceProps) {
  const { pick: w } = useWords()
  const known = useNumbers(name)
  const numbers = known.length > 0 ? known : [latest]
  const isGone = version !== 'latest' && !numbers.includes(Number(version))
  return (
    <select
      className="select"
      aria-label={w.versionOf(name)}
      value={version}
      onChange={event => choose(event.target.value)}
    >
      <option value="latest">{w.latest(latest)}</option>
      {isGone && <option>{version}</option>}
      {numbers.map(number => (
        <option key={number}>{number}</option>
      ))}
    </select>
  )
}
