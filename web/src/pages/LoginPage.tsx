import { type FormEvent, useEffect, useRef, useState } from 'react'
import { useLocation } from 'wouter'
import { logIn } from '../api/actions.ts'
import { ApiError, isAway, tellingOf } from '../api/error.ts'
import { ownPath } from '../paths.ts'
import { LanguageSelect } from '../Shell.tsx'
import { Button } from '../ui/Button.tsx'
import { TextField } from '../ui/Field.tsx'
import { Mark } from '../ui/Icon.tsx'
import { Rich } from '../ui/Say.tsx'
import { useLanguage } from '../words/index.tsx'

/** The ticket of a link. It stands behind the `#`, so it was never sent, and it leaves the address at once. */
function takeTicket(): string | null {
  const ticket = new URLSearchParams(location.hash.slice(1)).get('ticket')
  if (ticket !== null) history.replaceState(null, '', location.pathname + location.search)
  return ticket
}

export function LoginPage() {
  const { words, language } = useLanguage()
  const [, go] = useLocation()
  const [wrong, setWrong] = useState<string | null>(null)
  const [ticket] = useState(takeTicket)
  const [isBusy, setBusy] = useState(ticket !== null)
  const began = useRef(false)

  const enter = async (proof: { token: string } | { ticket: string }) => {
    setBusy(true)
    setWrong(null)
    try {
      await logIn(proof)
      go(ownPath(new URLSearchParams(location.search).get('next')), { replace: true })
    } catch (error) {
      const isNo = error instanceof ApiError && error.status === 401
      const no = 'ticket' in proof ? words.login.linkUsed : words.login.refused
      setWrong(isNo ? no : isAway(error) ? words.app.away : tellingOf(error, language).message)
      setBusy(false)
    }
  }

  // biome-ignore lint/correctness/useExhaustiveDependencies: a ticket is good once, so it is used once
  useEffect(() => {
    document.title = `${words.login.title} · ${words.app.name}`
    if (ticket === null || began.current) return
    began.current = true
    enter({ ticket })
  }, [])

  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    enter({ token: String(new FormData(event.currentTarget).get('token')).trim() })
  }

  return (
    <main className="login">
      <div className="panel">
        <div className="row">
          <Mark size={34} />
          <h1>{words.app.name}</h1>
          <div className="language">
            <LanguageSelect />
          </div>
        </div>
        <p className="soft">{words.login.intro}</p>
        <form className="stack" onSubmit={submit}>
          <TextField
            label={words.login.token}
            name="token"
            type="password"
            required
            autoFocus
            autoComplete="current-password"
            wrong={wrong}
            help={<Rich text={words.login.tokenHelp} />}
          />
          <Button look="primary" type="submit" refused={isBusy ? words.login.byLink : null}>
            {isBusy ? words.login.byLink : words.login.submit}
          </Button>
        </form>
      </div>
    </main>
  )
}
