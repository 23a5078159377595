interface Props<Sort extends string> {
  label: string
  /** What the list is sorted by after one click, and after another. */
  up: Sort
  down: Sort
  sort: Sort
  setSort: (sort: Sort) => void
  isNumber?: boolean
}

/** The head of a column that the rows can be sorted by. */
export function SortHead<Sort extends string>({ label, up, down, sort, setSort, isNumber }: Props<Sort>) {
  const direction = sort === up ? 'ascending' : sort === down ? 'descending' : undefined
  return (
    <th aria-sort={direction} className={isNumber ? 'number' : undefined}>
      <button type="button" className="sort" onClick={() => setSort(sort === up ? down : up)}>
        {label}
        <span aria-hidden="true">{direction === 'ascending' ? '↑' : direction === 'descending' ? '↓' : '↕'}</span>
      </button>
    </th>
  )
}
