import { useQuery } from '@tanstack/react-query'
import * as queries from '../../api/queries.ts'
import { SelectField, TextField } from '../../ui/Field.tsx'
import { useWords } from '../../words/index.tsx'
import { hasMore, setField, textOf } from './draft.ts'
import { Group } from './Group.tsx'
import { InFile } from './InFile.tsx'
import type { Put } from './put.ts'
import * as simple from './simple.ts'

/** One volume or directory that is read from, and what is written goes back to. */
export function SimpleData({ put }: { put: Put }) {
  const { create: w } = useWords()
  const { draft, setDraft, saidIn } = put
  const volumes = useQuery(queries.volumes())
  const volume = simple.volumeOf(draft)
  const wrong = simple.wrongOf(draft)
  const said = saidIn(['input']) ?? saidIn(['output'])
  const names = volumes.data?.map(it => it.name) ?? []
  return (
    <Group title={w.data}>
      {volume === null ? (
        <InFile put={put} label={w.volume} at={['input']} />
      ) : (
        <SelectField
          label={w.volume}
          help={<VolumeHelp put={put} />}
          value={volume}
          wrong={volume === '/' ? null : said}
          onChange={event => setDraft(simple.setVolume(draft, event.target.value))}
        >
          <option value="">{w.volumeNone}</option>
          {[...new Set([...names, ...(volume && volume !== '/' ? [volume] : [])])].map(name => (
            <option key={name}>{name}</option>
          ))}
          <option value="/">{w.volumeDirectory}</option>
        </SelectField>
      )}
      {volume === '/' && (
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

/** Where what is written goes, if that is not where it comes from. */
function VolumeHelp({ put: { draft } }: { put: Put }) {
  const { create: w } = useWords()
  if (simple.ownsOutput(draft)) return w.volumeHelp
  return w.outputElsewhere(hasMore(draft, ['output']) ? textOf(draft, ['output', 'to']) : textOf(draft, ['output']))
}
