import { useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { addVolume } from '../api/actions.ts'
import type { Volume } from '../api/queries.ts'
import { Button } from '../ui/Button.tsx'
import { Dialog } from '../ui/Dialog.tsx'
import { SelectField, TextField } from '../ui/Field.tsx'
import { Trouble } from '../ui/Say.tsx'
import { useToasts } from '../ui/Toasts.tsx'
import { useWords } from '../words/index.tsx'

type Kind = 's3' | 'local' | 'http'

function volumeOf(kind: Kind, text: (name: string) => string): Volume {
  switch (kind) {
    case 'local':
      return { kind, path: text('path') }
    case 'http':
      return { kind, url: text('url') }
    case 's3':
      return { kind, bucket: text('bucket'), prefix: text('prefix'), endpoint: text('endpoint') || null }
  }
}

export function AddVolume({ onClose }: { onClose: () => void }) {
  const words = useWords()
  const w = words.volumes
  const client = useQueryClient()
  const { tell } = useToasts()
  const [kind, setKind] = useState<Kind>('local')
  const [error, setError] = useState<unknown>(null)
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const form = new FormData(event.currentTarget)
    const text = (name: string) => String(form.get(name) ?? '').trim()
    const keys = text('access_key') && { access_key: text('access_key'), secret_key: text('secret_key') }
    try {
      await addVolume({ name: text('name'), volume: volumeOf(kind, text), ...(keys && { credentials: keys }) })
      tell(w.added(text('name')))
      await client.invalidateQueries({ queryKey: ['volumes'] })
      onClose()
    } catch (caught) {
      setError(caught)
    }
  }
  return (
    <Dialog title={w.add} onClose={onClose}>
      <form className="stack" onSubmit={submit}>
        <TextField label={w.name} name="name" help={w.nameHelp} required />
        <SelectField label={w.kind} value={kind} onChange={event => setKind(event.target.value as Kind)}>
          <option value="local">{w.kinds.local}</option>
          <option value="s3">{w.kinds.s3}</option>
          <option value="http">{w.kinds.http}</option>
        </SelectField>
        {kind === 'local' && <TextField label={w.path} name="path" placeholder="/srv/data" required />}
        {kind === 'http' && <TextField label={w.url} name="url" placeholder="https://example.org/data" required />}
        {kind === 's3' && (
          <>
            <TextField label={w.endpoint} name="endpoint" help={w.endpointHelp} />
            <TextField label={w.bucket} name="bucket" required />
            <TextField label={w.prefix} name="prefix" />
            <TextField label={w.accessKey} name="access_key" />
            <TextField label={w.secretKey} name="secret_key" type="password" autoComplete="new-password" />
          </>
        )}
        {error != null && <Trouble error={error} />}
        <div className="ends">
          <Button onClick={onClose}>{words.app.cancel}</Button>
          <Button look="primary" type="submit">
            {w.addSubmit}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
