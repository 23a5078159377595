import { stringify } from 'yaml'
import { Button } from '../../ui/Button.tsx'
import { TextField } from '../../ui/Field.tsx'
import { useWords } from '../../words/index.tsx'
import { useDoor } from './doors.ts'
import { fieldOf, type Path } from './draft.ts'
import type { Put } from './put.ts'

interface Props {
  put: Put
  label: string
  at: Path
}

/** A field with more to it than a form can show: it is there to be read, and the file to change it. */
export function InFile({ put: { draft, saidIn }, label, at }: Props) {
  const { create: w } = useWords()
  const [, go] = useDoor()
  const found = fieldOf(draft, at)
  const text = typeof found === 'string' ? found : stringify(found, { collectionStyle: 'flow', lineWidth: 0 }).trim()
  const help = (
    <>
      {w.inFile}{' '}
      <Button tight look="plain" onClick={() => go('file')}>
        {w.openFile}
      </Button>
    </>
  )
  return <TextField label={label} readOnly value={text} wrong={saidIn(at)} help={help} />
}
