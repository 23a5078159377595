import type { Algorithm } from '../../api/algorithms.ts'
import { Button } from '../../ui/Button.tsx'
import { Wrong } from '../../ui/Field.tsx'
import { useWords } from '../../words/index.tsx'
import { takes } from '../algorithms/told.ts'
import { customParams, setCustomParams, strangeChannels } from './algorithm.ts'
import { type Path, setField } from './draft.ts'
import { Group } from './Group.tsx'
import { ParamField } from './ParamField.tsx'
import { PlaceAt } from './PlaceAt.tsx'
import type { Put } from './put.ts'
import { RowsField } from './RowsField.tsx'
import { SecretFields } from './SecretFields.tsx'
import { useAlgorithm } from './useAlgorithm.ts'

/** Everything that the algorithm of a job leaves to the job to say. */
export function AlgorithmForm({ put }: { put: Put }) {
  const document = useAlgorithm(put.draft)
  if (!document) return null
  return (
    <>
      <Inputs put={put} document={document} />
      <Outputs put={put} document={document} />
      <Params put={put} document={document} />
      <SecretFields put={put} document={document} />
    </>
  )
}

interface Props {
  put: Put
  document: Algorithm
}

function Inputs({ put, document }: Props) {
  const { pick: w } = useWords()
  const inputs = Object.entries(document.inputs ?? {})
  const strange = strangeChannels(put.draft, 'inputs', document)
  return (
    <Group title={w.inputs}>
      {inputs.length === 0 && <p className="soft whole">{w.noInputs}</p>}
      {inputs.map(([name, input]) => (
        <div key={name} className="whole">
          <PlaceAt
            put={put}
            label={name}
            at={['inputs', name]}
            help={about(input.description, input.required !== false && w.required)}
            placeholder={takes(input, 'dataset') ? 'mnist@3' : 'data:mnist'}
            noDataset={takes(input, 'dataset') ? null : w.noDataset}
            noPlace={takes(input, 'place') ? null : w.noPlace}
          />
        </div>
      ))}
      {strange.map(name => (
        <Strange key={name} put={put} name={name} at={['inputs', name]} />
      ))}
    </Group>
  )
}

function Outputs({ put, document }: Props) {
  const { pick: w } = useWords()
  const outputs = Object.entries(document.outputs ?? {})
  const strange = strangeChannels(put.draft, 'outputs', document)
  return (
    <Group title={w.outputs}>
      {outputs.length === 0 && <p className="soft whole">{w.noOutputs}</p>}
      {outputs.map(([name, output]) => (
        <div key={name} className="whole">
          <PlaceAt
            put={put}
            label={name}
            at={['outputs', name]}
            help={about(output.description, output.required !== false && w.required, w.outputHelp)}
            placeholder="results:run1"
            isOutput
          />
        </div>
      ))}
      {strange.map(name => (
        <Strange key={name} put={put} name={name} at={['outputs', name]} />
      ))}
    </Group>
  )
}

const about = (...parts: (string | false | null | undefined)[]): string => parts.filter(Boolean).join(' · ')

/** Something the job names and this algorithm does not have, from another one perhaps. */
function Strange({ put, name, at }: { put: Put; name: string; at: Path }) {
  const { pick: w } = useWords()
  return (
    <div className="field whole">
      <span className="label">{name}</span>
      <Wrong text={put.saidIn(at) ?? w.unknownChannel} />
      <div>
        <Button tight onClick={() => put.setDraft(setField(put.draft, at, null))}>
          {w.removeField(name)}
        </Button>
      </div>
    </div>
  )
}

function Params({ put, document }: Props) {
  const { pick: w } = useWords()
  const { draft, setDraft, said } = put
  const params = Object.entries(document.params ?? {})
  const custom = customParams(draft, document)
  const wrong = custom.flatMap(([name = '']) => said(['params', name]) ?? [])[0]
  return (
    <Group title={w.params}>
      {params.length === 0 && <p className="soft whole">{w.noParams}</p>}
      {params.map(([name, param]) => (
        <ParamField key={name} put={put} name={name} param={param} />
      ))}
      {document.custom_params || custom.length > 0 ? (
        <RowsField
          key={document.name}
          label={w.custom}
          fields={[w.customName, w.customValue]}
          rows={custom}
          change={rows => setDraft(setCustomParams(draft, document, rows))}
          wrong={wrong}
        />
      ) : (
        <p className="soft small whole">{w.noCustom}</p>
      )}
    </Group>
  )
}
