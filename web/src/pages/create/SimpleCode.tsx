import { Check, TextArea, TextField } from '../../ui/Field.tsx'
import { useWords } from '../../words/index.tsx'
import { hasMore, textOf } from './draft.ts'
import { Group } from './Group.tsx'
import { InFile } from './InFile.tsx'
import type { Put } from './put.ts'
import * as simple from './simple.ts'

/** The repository, and what runs in it. */
export function SimpleCode({ put }: { put: Put }) {
  const { create: w } = useWords()
  const { draft, setDraft, said } = put
  const main = simple.mainRole(draft)
  const command = simple.commandOf(draft, main)
  return (
    <Group title={w.code}>
      {simple.hasOtherCode(draft) ? <InFile put={put} label={w.more.code} at={['code']} /> : <Repository put={put} />}
      <div className="whole">
        <TextArea
          label={w.command}
          help={w.commandHelp}
          placeholder="python3 train.py --log_dir /output/training_logs"
          rows={3}
          value={command}
          wrong={command === '' ? null : said(['roles', main, 'command'])}
          onChange={event => setDraft(simple.setCommand(draft, event.target.value))}
        />
      </div>
    </Group>
  )
}

function Repository({ put }: { put: Put }) {
  const { create: w } = useWords()
  const { draft, setDraft, said } = put
  const wrong = simple.wrongOf(draft)
  const isPrivate = simple.isPrivate(draft)
  const git = simple.gitOf(draft)
  return (
    <>
      <TextField
        label={w.git}
        help={w.gitHelp}
        placeholder="https://github.com/team/digits.git"
        value={git}
        wrong={wrong.git ? w[wrong.git] : git && (said(['code']) ?? said(['code', 'git']))}
        onChange={event => setDraft(simple.setGit(draft, 'git', event.target.value))}
      />
      <TextField
        label={w.ref}
        placeholder="main"
        value={simple.refOf(draft)}
        wrong={said(['code', 'ref'])}
        onChange={event => setDraft(simple.setGit(draft, 'ref', event.target.value))}
      />
      <Check
        label={w.private}
        checked={isPrivate}
        onChange={event => setDraft(simple.setPrivate(draft, event.target.checked))}
      />
      {isPrivate && <LogIn put={put} />}
    </>
  )
}

function LogIn({ put }: { put: Put }) {
  const { create: w } = useWords()
  const { draft, setDraft, said, saidIn } = put
  const wrong = simple.wrongOf(draft)
  const password = simple.passwordPath(draft)
  return (
    <>
      <TextField
        label={w.user}
        value={textOf(draft, ['code', 'user'])}
        wrong={wrong.user ? w[wrong.user] : said(['code', 'user'])}
        onChange={event => setDraft(simple.setUser(draft, event.target.value))}
      />
      {hasMore(draft, password) ? (
        <InFile put={put} label={w.password} at={password} />
      ) : (
        <TextField
          label={w.password}
          type="password"
          autoComplete="new-password"
          help={w.passwordHelp}
          value={simple.passwordOf(draft)}
          wrong={wrong.password ? w[wrong.password] : (said(['code', 'password']) ?? saidIn(password))}
          onChange={event => setDraft(simple.setPassword(draft, event.target.value))}
        />
      )}
    </>
  )
}
