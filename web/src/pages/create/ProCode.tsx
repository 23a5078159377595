import { TextField } from '../../ui/Field.tsx'
import { useWords } from '../../words/index.tsx'
import { textOf } from './draft.ts'
import { FrameworkField } from './FrameworkField.tsx'
import { type Put, TextAt } from './ProText.tsx'
import * as simple from './simple.ts'

/** What runs: the code, and what is around it. Logging in to a private repository is a matter of the simple form. */
export function ProCode({ put }: { put: Put }) {
  const { create: w } = useWords()
  const { draft, setDraft } = put
  const isPlace = simple.hasOtherCode(draft) && textOf(draft, ['code']) !== ''
  return (
    <fieldset className="panel">
      <legend>{w.code}</legend>
      <div className="body form-grid">
        <FrameworkField {...put} />
        {isPlace || simple.gitOf(draft) === '' ? (
          <TextAt put={put} label={w.more.code} at={['code']} help={w.more.codeHelp} placeholder="team:digits" />
        ) : (
          <TextField
            label={w.git}
            help={w.gitHelp}
            value={simple.gitOf(draft)}
            onChange={event => setDraft(simple.setGit(draft, 'git', event.target.value))}
          />
        )}
        <TextAt put={put} label={w.more.setup} at={['setup']} help={w.more.setupHelp} placeholder="nvidia-smi" />
        <TextAt
          put={put}
          label={w.more.requirements}
          at={['requirements']}
          help={w.more.requirementsHelp}
          placeholder="requirements.txt"
        />
      </div>
    </fieldset>
  )
}
