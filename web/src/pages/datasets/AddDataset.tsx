import { useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { useLocation } from 'wouter'
import type { DatasetDetail } from '../../api/datasets.ts'
import * as sets from '../../api/datasets.ts'
import { paths } from '../../paths.ts'
import { Button } from '../../ui/Button.tsx'
import { Dialog } from '../../ui/Dialog.tsx'
import { TextField } from '../../ui/Field.tsx'
import { Trouble } from '../../ui/Say.tsx'
import { useToasts } from '../../ui/Toasts.tsx'
import { useWords } from '../../words/index.tsx'
import { PlaceField } from '../pick/PlaceField.tsx'

interface Props {
  /** The dataset that gets another version; without one a new dataset is made. */
  of?: DatasetDetail
  onClose: () => void
}

export function AddDataset({ of, onClose }: Props) {
  const words = useWords()
  const w = words.datasets
  const client = useQueryClient()
  const { tell } = useToasts()
  const [, go] = useLocation()
  const [at, setAt] = useState(of?.latest?.at ?? '')
  const [description, setDescription] = useState<string>()
  const [isBusy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>(null)
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    if (isBusy) return
    const form = new FormData(event.currentTarget)
    const text = (key: string) => String(form.get(key) ?? '').trim()
    setBusy(true)
    setError(null)
    const described = description?.trim()
    try {
      const before = of?.latest?.version
      const made = await sets.addDataset({
        name: of?.name ?? text('name'),
        at: at.trim(),
        // What is not sent stays; an empty one takes the place of what was there.
        ...(described !== undefined && described !== (of?.description ?? '') && { description: described }),
        note: text('note'),
      })
      await client.invalidateQueries({ queryKey: ['datasets'] })
      tell(made.version === before ? w.same(sets.versionName(made)) : w.added(sets.versionName(made)))
      onClose()
      go(paths.dataset(made.dataset))
    } catch (caught) {
      setError(caught)
      setBusy(false)
    }
  }
  return (
    <Dialog title={of ? w.newVersionOf(of.name) : w.add} onClose={onClose}>
      <form className="stack" onSubmit={submit}>
        {!of && <TextField label={w.name} name="name" help={w.nameHelp} required autoFocus />}
        <PlaceField
          label={w.place}
          help={w.placeHelp}
          placeholder="data:mnist/train"
          required
          value={at}
          change={setAt}
          noDataset={false}
        />
        <TextField
          label={w.description}
          help={w.descriptionHelp}
          defaultValue={of?.description}
          onChange={event => setDescription(event.target.value)}
        />
        <TextField label={w.note} name="note" help={w.noteHelp} />
        {error != null && <Trouble error={error} />}
        <div className="ends">
          <Button onClick={onClose}>{words.app.cancel}</Button>
          <Button look="primary" type="submit" refused={isBusy ? w.adding : null}>
            {isBusy ? w.adding : of ? w.newVersionSubmit : w.addSubmit}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
