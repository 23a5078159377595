import { useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { removeSecret, setSecret } from '../api/actions.ts'
import * as queries from '../api/queries.ts'
import { Page } from '../Shell.tsx'
import { Button } from '../ui/Button.tsx'
import { Confirm } from '../ui/Confirm.tsx'
import { Dialog } from '../ui/Dialog.tsx'
import { TextField } from '../ui/Field.tsx'
import { Empty, Trouble } from '../ui/Say.tsx'
import { Ago } from '../ui/Time.tsx'
import { useToasts } from '../ui/Toasts.tsx'
import { useWords } from '../words/index.tsx'

export default function SecretsPage() {
  const words = useWords()
  const client = useQueryClient()
  const { tell, tellError } = useToasts()
  const secrets = useQuery(queries.secrets())
  const [setting, begin] = useState(false)
  const [removing, ask] = useState<string | null>(null)
  const remove = async (name: string) => {
    try {
      await removeSecret(name)
      tell(words.secrets.removed(name))
      await client.invalidateQueries({ queryKey: ['secrets'] })
    } catch (error) {
      tellError(error)
    }
  }
  return (
    <Page
      title={words.secrets.title}
      ends={
        <Button look="primary" onClick={() => begin(true)}>
          {words.secrets.set}
        </Button>
      }
    >
      <p className="soft">{words.secrets.intro}</p>
      {secrets.error && <Trouble error={secrets.error} />}
      <section className="panel" aria-label={words.secrets.title}>
        {secrets.data?.length === 0 && (
          <Empty icon="secrets" title={words.secrets.empty} hint={words.secrets.emptyHint} />
        )}
        {secrets.data && secrets.data.length > 0 && (
          <div className="table-box">
            <table>
              <thead>
                <tr>
                  <th>{words.secrets.name}</th>
                  <th>{words.secrets.changed}</th>
                  <th>
                    <span className="unseen">{words.app.more}</span>
                  </th>
                </tr>
              </thead>
              <tbody>
                {secrets.data.map(secret => (
                  <tr key={secret.name}>
                    <th scope="row" className="mono">
                      {secret.name}
                    </th>
                    <td>
                      <Ago at={secret.updated_at_ms} />
                    </td>
                    <td className="row-ends">
                      <Button tight look="danger" onClick={() => ask(secret.name)}>
                        {words.secrets.remove}
                      </Button>
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
      </section>
      {setting && <SetSecret onClose={() => begin(false)} />}
      {removing !== null && (
        <Confirm
          title={words.secrets.removeTitle(removing)}
          hint={words.secrets.removeHint}
          yes={words.secrets.remove}
          onYes={() => remove(removing)}
          onClose={() => ask(null)}
        />
      )}
    </Page>
  )
}

function SetSecret({ onClose }: { onClose: () => void }) {
  const words = useWords()
  const client = useQueryClient()
  const { tell } = useToasts()
  const [error, setError] = useState<unknown>(null)
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const form = new FormData(event.currentTarget)
    const name = String(form.get('name')).trim()
    try {
      await setSecret(name, String(form.get('value')))
      tell(words.secrets.kept(name))
      await client.invalidateQueries({ queryKey: ['secrets'] })
      onClose()
    } catch (caught) {
      setError(caught)
    }
  }
  return (
    <Dialog title={words.secrets.set} onClose={onClose}>
      <form className="stack" onSubmit={submit}>
        <TextField label={words.secrets.name} name="name" placeholder="wandb" required />
        <TextField label={words.secrets.value} name="value" type="password" autoComplete="new-password" required />
        {error != null && <Trouble error={error} />}
        <div className="ends">
          <Button onClick={onClose}>{words.app.cancel}</Button>
          <Button look="primary" type="submit">
            {words.secrets.setSubmit}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
