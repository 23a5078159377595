import type { ComponentProps } from 'react'
import { SearchInput } from './SearchInput.tsx'

/** Stands above a list that is searched by words alone. */
export function SearchBox(props: ComponentProps<typeof SearchInput>) {
  return (
    <search className="filters">
      <SearchInput {...props} />
    </search>
  )
}
