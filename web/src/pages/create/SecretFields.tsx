import { useQuery } from '@tanstack/react-query'
import type { Algorithm } from '../../api/algorithms.ts'
import * as queries from '../../api/queries.ts'
import { SelectField, TextField } from '../../ui/Field.tsx'
import { useWords } from '../../words/index.tsx'
import { secretsIn } from './algorithm.ts'
import { fieldOf, type Path, setField, textOf } from './draft.ts'
import { Group } from './Group.tsx'
import type { Put } from './put.ts'

/** The secrets that an algorithm names and every job has to bring; nothing where it names none. */
export function SecretFields({ put, document }: { put: Put; document: Algorithm }) {
  const { pick: w } = useWords()
  const names = secretsIn(document)
  if (names.length === 0) return null
  return (
    <Group title={w.secrets}>
      {names.map(name => (
        <SecretField key={name} put={put} name={name} />
      ))}
    </Group>
  )
}

/** One that the server keeps, by its name, or what is typed here. */
function SecretField({ put, name }: { put: Put; name: string }) {
  const { app, pick: w } = useWords()
  const { draft, setDraft, saidIn } = put
  const { data: kept } = useQuery(queries.secrets())
  const at: Path = ['secrets', name]
  const found = fieldOf(draft, at)
  const named = textOf(draft, [...at, 'named'])
  const names = new Set([...(kept ?? []).map(it => it.name), ...(named ? [named] : [])])
  return (
    <>
      <SelectField
        label={name}
        help={w.secretHelp}
        wrong={saidIn(at)}
        value={named}
        onChange={event => setDraft(setField(draft, at, event.target.value && { named: event.target.value }))}
      >
        <option value="">{w.secretTyped}</option>
        {[...names].map(it => (
          <option key={it}>{it}</option>
        ))}
      </SelectField>
      {named === '' && (
        <TextField
          label={app.about(name, w.secretValue)}
          type="password"
          autoComplete="new-password"
          value={typeof found === 'string' ? found : textOf(draft, [...at, 'value'])}
          onChange={event => setDraft(setField(draft, at, event.target.value))}
        />
      )}
    </>
  )
}
