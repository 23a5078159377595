import { Link } from 'wouter'
import type { DatasetDetail, DatasetVersionView } from '../../api/datasets.ts'
import { bytes } from '../../format.ts'
import { paths } from '../../paths.ts'
import type { Column } from '../../ui/list.ts'
import type { Words } from '../../words/en.ts'
import { useWords } from '../../words/index.tsx'
import { placeOf } from '../pick/place.ts'
import { Versions } from '../versioned/Versions.tsx'

interface Props {
  of: DatasetDetail
  /** The one whose files are looked at. */
  shown: number | undefined
  forget: (version: number) => void
}

export function DatasetVersions(props: Props) {
  return <Versions {...props} kind="datasets" columns={columnsIn(useWords())} />
}

const columnsIn = ({ datasets: w, locale }: Words): Column<DatasetVersionView>[] => [
  { key: 'place', title: w.place, isLong: true, cell: it => <PlaceLink at={it.at} /> },
  {
    key: 'files',
    title: w.files,
    isNumber: true,
    cell: it => <span title={`${w.fingerprint}: ${it.fingerprint}`}>{it.files.toLocaleString(locale)}</span>,
  },
  { key: 'size', title: w.size, isNumber: true, cell: it => bytes(it.bytes) },
  { key: 'note', title: w.note, isLong: true, cell: it => it.note },
]

/** Where it is; in a volume one can look at it. */
function PlaceLink({ at }: { at: string }) {
  const place = at.includes(':') ? placeOf(at) : null
  return <div className="mono">{place ? <Link href={paths.volume(place.volume, place.path)}>{at}</Link> : at}</div>
}
