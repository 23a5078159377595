import type { ReactNode } from 'react'
import type { AlgorithmVersionView } from '../../api/algorithms.ts'
import { versionName } from '../../api/algorithms.ts'
import { CodeBlock } from '../../ui/CodeBlock.tsx'
import { Copy } from '../../ui/Copy.tsx'
import { Fact } from '../../ui/Fact.tsx'
import { Scrolls } from '../../ui/Scrolls.tsx'
import { useWords } from '../../words/index.tsx'
import { ChannelTable, ParamTable } from './AlgorithmTables.tsx'
import { around, codeOf, commandOf, runsOn } from './told.ts'

/** All that one version says. */
export function AlgorithmDocument({ version }: { version: AlgorithmVersionView }) {
  const { algorithms: w } = useWords()
  const { document } = version
  const params = Object.keys(document.params ?? {})
  return (
    <>
      <section className="panel" aria-label={versionName(version)}>
        <header>
          <h2>{versionName(version)}</h2>
        </header>
        <dl className="body facts">
          <Fact name={document.image ? w.image : w.framework}>{around(document) || w.noFramework}</Fact>
          <Fact name={w.runsOn}>{runsOn(document, w).join(' · ')}</Fact>
          {codeOf(document) && (
            <Fact name={w.code}>
              <span className="mono">{codeOf(document)}</span>
            </Fact>
          )}
          <Fact name={w.command}>
            <code className="inline">{commandOf(document)}</code>
          </Fact>
        </dl>
      </section>
      <Part title={w.inputs} none={w.noInputs} count={Object.keys(document.inputs ?? {}).length}>
        <ChannelTable channels={document.inputs ?? {}} isInput />
      </Part>
      <Part title={w.outputs} none={w.noOutputs} count={Object.keys(document.outputs ?? {}).length}>
        <ChannelTable channels={document.outputs ?? {}} />
      </Part>
      <Part title={w.params} none={w.noParams} count={params.length}>
        <ParamTable params={document.params ?? {}} />
      </Part>
      <p className="soft small">{document.custom_params ? w.customParams : w.noCustomParams}</p>
      <section className="panel" aria-label={w.document}>
        <header>
          <h2>{w.document}</h2>
          <Copy text={version.text} />
        </header>
        <div className="body">
          <CodeBlock label={w.document} text={version.text} />
        </div>
      </section>
    </>
  )
}

interface PartProps {
  title: string
  /** What is said when there is nothing of it. */
  none: string
  count: number
  children: ReactNode
}

function Part({ title, none, count, children }: PartProps) {
  return (
    <section className="panel">
      <header>
        <h2>{title}</h2>
      </header>
      {count === 0 ? <p className="body soft">{none}</p> : <Scrolls label={title}>{children}</Scrolls>}
    </section>
  )
}
