import { SelectField, TextField } from '../../ui/Field.tsx'
import { useWords } from '../../words/index.tsx'
import { textOf } from './draft.ts'
import type { Put } from './put.ts'
import * as simple from './simple.ts'

/** What tasks find around their code: a framework of ours, or an image with its address. */
export function FrameworkField({ put: { draft, setDraft, said } }: { put: Put }) {
  const { create: w } = useWords()
  const framework = simple.frameworkOf(draft)
  const { image: wrong } = simple.wrongOf(draft)
  return (
    <>
      <SelectField
        label={w.framework}
        help={w.frameworkHelp}
        value={framework}
        wrong={said(['framework'])}
        onChange={event => setDraft(simple.setFramework(draft, event.target.value))}
      >
        <option value="">{w.frameworkNone}</option>
        {simple.FRAMEWORKS.map(([value, name]) => (
          <option key={value} value={value}>
            {name}
          </option>
        ))}
        <option value="image">{w.frameworkImage}</option>
      </SelectField>
      {framework === 'image' && (
        <TextField
          label={w.image}
          help={w.imageHelp}
          value={textOf(draft, ['image'])}
          wrong={wrong ? w[wrong] : said(['image'])}
          onChange={event => setDraft(simple.setImage(draft, event.target.value))}
        />
      )}
    </>
  )
}
