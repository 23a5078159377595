import { useWords } from '../../words/index.tsx'
import { fieldOf, setField, textOf } from './draft.ts'
import { FrameworkField } from './FrameworkField.tsx'
import { Group } from './Group.tsx'
import { ProText, TextAt } from './ProText.tsx'
import type { Put } from './put.ts'
import * as simple from './simple.ts'

/** What runs: the code, and what is around it. Logging in to a private repository is a matter of the simple form. */
export function ProCode({ put }: { put: Put }) {
  const { create: w } = useWords()
  return (
    <Group title={w.code}>
      <FrameworkField put={put} />
      <CodePlace put={put} />
      <TextAt put={put} label={w.more.setup} at={['setup']} help={w.more.setupHelp} placeholder="nvidia-smi" />
      <TextAt
        put={put}
        label={w.more.requirements}
        at={['requirements']}
        help={w.more.requirementsHelp}
        placeholder="requirements.txt"
      />
    </Group>
  )
}

/** One and the same field, whatever is being typed into it: another one would lose the cursor. */
function CodePlace({ put }: { put: Put }) {
  const { create: w } = useWords()
  const { draft, said } = put
  const isText = typeof (fieldOf(draft, ['code']) ?? '') === 'string'
  return (
    <ProText
      put={put}
      label={w.more.code}
      at={['code']}
      help={w.more.codeHelp}
      placeholder="https://github.com/team/digits.git#main"
      text={isText ? textOf(draft, ['code']) : simple.gitOf(draft)}
      set={text => (isText ? setField(draft, ['code'], text) : simple.setGit(draft, 'git', text))}
      isMore={!isText && simple.hasOtherCode(draft)}
      wrong={said(['code']) ?? said(['code', 'git'])}
    />
  )
}
