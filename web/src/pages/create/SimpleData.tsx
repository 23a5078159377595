import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import * as queries from '../../api/queries.ts'
import { SelectField, TextField } from '../../ui/Field.tsx'
import { useWords } from '../../words/index.tsx'
import { hasMore, setField, textOf } from './draft.ts'
import { Group } from './Group.tsx'
import { InFile } from './InFile.tsx'
import { PlaceAt } from './PlaceAt.tsx'
import type { Put } from './put.ts'
import * as simple from './simple.ts'

/** Stands in the list for everything that the list does not have. */
const FREE = '@'

/** One volume or directory that is read from, and what is written goes back to. */
export function SimpleData({ put }: { put: Put }) {
  const { create: w, pick } = useWords()
  const { draft, setDraft, saidIn } = put
  const volumes = useQuery(queries.volumes())
  const volume = simple.volumeOf(draft)
  // Once somebody has chosen to type or pick a place, it stays so, also while what is typed looks like a volume.
  const [isFree, setFree] = useState(volume === null)
  const wrong = simple.wrongOf(draft)
  const said = saidIn(['input']) ?? saidIn(['output'])
  const names = volumes.data?.map(it => it.name) ?? []
  return (
    <Group title={w.data}>
      {hasMore(draft, ['input']) ? (
        <InFile put={put} label={w.volume} at={['input']} />
      ) : (
        <SelectField
          label={w.volume}
          help={isFree ? pick.freeHelp : <VolumeHelp put={put} />}
          value={isFree ? FREE : (volume ?? FREE)}
          wrong={isFree || volume === '/' ? null : said}
          onChange={event => {
            const next = event.target.value
            setFree(next === FREE)
            if (next !== FREE) setDraft(simple.setVolume(draft, next))
          }}
        >
          <option value="">{w.volumeNone}</option>
          {[...new Set([...names, ...(volume && volume !== '/' ? [volume] : [])])].map(name => (
            <option key={name}>{name}</option>
          ))}
          <option value={FREE}>{pick.free}</option>
          <option value="/">{w.volumeDirectory}</option>
        </SelectField>
      )}
      {(isFree || volume === null) && !hasMore(draft, ['input']) && <Places put={put} />}
      {volume === '/' && !isFree && (
        <TextField
          label={w.directory}
          help={w.directoryHelp}
          value={textOf(draft, ['input'])}
          wrong={wrong.directory ? w[wrong.directory] : said}
          onChange={event =>
            setDraft(setField(draft, ['input'], event.target.value.startsWith('/') ? event.target.value : '/'))
          }
        />
      )}
    </Group>
  )
}

/** A dataset, or any place that can be read, and another one for what is written. */
function Places({ put }: { put: Put }) {
  const { create: w, pick } = useWords()
  return (
    <>
      <div className="whole">
        <PlaceAt
          put={put}
          label={pick.input}
          at={['input']}
          help={pick.inputHelp}
          placeholder={pick.inputPlaceholder}
        />
      </div>
      <div className="whole">
        <PlaceAt
          put={put}
          label={pick.output}
          at={['output']}
          help={w.outputHelp}
          placeholder="results:run1"
          isOutput
        />
      </div>
    </>
  )
}

/** Where what is written goes, if that is not where it comes from. */
function VolumeHelp({ put: { draft } }: { put: Put }) {
  const { create: w } = useWords()
  if (simple.ownsOutput(draft)) return w.volumeHelp
  return w.outputElsewhere(hasMore(draft, ['output']) ? textOf(draft, ['output', 'to']) : textOf(draft, ['output']))
}
