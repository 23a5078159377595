import { type ReactNode, useState } from 'react'
import { Button } from '../../ui/Button.tsx'
import { Dialog } from '../../ui/Dialog.tsx'
import { ListTable } from '../../ui/ListTable.tsx'
import { type Column, found } from '../../ui/list.ts'
import { Trouble } from '../../ui/Say.tsx'
import { SearchBox } from '../../ui/SearchBox.tsx'
import { useWords } from '../../words/index.tsx'
import { versionedOf } from './place.ts'

interface Named {
  name: string
  description: string
  latest?: { version: number } | null
}

interface Props<Row> {
  title: string
  /** What is chosen so far: `mnist@3`. */
  value: string
  rows: Row[] | undefined
  error: unknown
  /** What is shown of each, behind its name and its version. */
  columns: Column<Row>[]
  nameTitle: string
  versionTitle: string
  /** All versions of one of them, once they are known; the newest first. */
  useNumbers: (name: string) => number[]
  /** What is shown where there is none. */
  empty: ReactNode
  pick: (value: string) => void
  onClose: () => void
}

/** One thing of several, and one of its versions. */
export function PickVersioned<Row extends Named>({ rows = [], columns, pick, onClose, ...about }: Props<Row>) {
  const { app, pick: w } = useWords()
  const [chosen, choose] = useState(versionedOf(about.value))
  const [text, setText] = useState('')
  const [sort, setSort] = useState('name')
  const usable = rows.filter(it => it.latest != null)
  const label = chosen && `${chosen.name}@${chosen.version}`
  const isThere = usable.some(it => it.name === chosen?.name)
  const all: Column<Row>[] = [
    { key: 'name', title: about.nameTitle, cell: row => row.name, by: row => row.name },
    {
      key: 'version',
      title: about.versionTitle,
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
  ]
  return (
    <Dialog title={about.title} onClose={onClose} wide>
      {about.error != null && <Trouble error={about.error} />}
      {usable.length === 0 && about.error == null ? (
        about.empty
      ) : (
        <>
          <SearchBox label={w.search} text={text} change={setText} />
          <ListTable
            columns={all}
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
