import { isNode } from 'yaml'
import type { AlgorithmVersionView } from '../../api/algorithms.ts'
import type { Words } from '../../words/en.ts'
import { draftOf, setField, textOf } from '../create/draft.ts'

/** What somebody begins with who writes their first algorithm, with remarks in their language. */
export const templateIn = ({ template: w }: Words['algorithms']): string => `name: my-algorithm
description: ""
framework: pytorch
code: https://github.com/team/repository.git#main
command: python3 train.py

# ${w.reads}
inputs:
  data:
    argument: --data_url
    accepts: [dataset, place]

# ${w.writes}
outputs:
  train:
    argument: --train_url

# ${w.params}
params:
  lr: { type: number, default: 0.1, min: 0.0001, max: 1 }
  epochs: { type: integer, default: 10, min: 1 }
  optimizer: { type: text, default: adam, choices: [adam, sgd] }

# ${w.custom}
custom_params: false

# ${w.needs}
# needs: { accelerators: [none, A100], accelerators_max: 8, tasks_max: 1 }
`

/**
 * What the next version begins with: the newest as it was written. Where its code was a folder of somebody's machine,
 * which was uploaded, it names what was uploaded: the server cannot look into the folder.
 */
export function textToChange({ text, document }: Pick<AlgorithmVersionView, 'text' | 'document'>): string {
  const draft = draftOf(text)
  const upload = uploadOf(document.code)
  if (!upload || draft.document.errors.length > 0 || textOf(draft, ['code', 'upload']) === upload) return text
  const code = draft.document.createNode({ upload }, { flow: true })
  const written = draft.document.get('code', true)
  if (isNode(written)) code.comment = written.comment
  return setField(draft, ['code'], code).text
}

function uploadOf(code: unknown): string | null {
  const upload = typeof code === 'object' && code !== null && 'upload' in code ? code.upload : null
  return typeof upload === 'string' ? upload : null
}
