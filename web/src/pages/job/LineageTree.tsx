import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import type { LineageNode } from '../../api/compare.ts'
import * as compare from '../../api/compare.ts'
import type { JobDetail } from '../../api/queries.ts'
import { paths } from '../../paths.ts'
import { Icon, type IconName } from '../../ui/Icon.tsx'
import { Trouble } from '../../ui/Say.tsx'
import { State } from '../../ui/State.tsx'
import { useLanguage, useWords } from '../../words/index.tsx'
import { versionedOf } from '../pick/place.ts'
import { type Branch, branches, type Way } from './lineage.ts'

const ICONS: Record<LineageNode['kind'], IconName> = {
  job: 'jobs',
  data: 'volumes',
  code: 'file',
  environment: 'box',
  output: 'folder',
}

/** What went into the job, and what its results went into. */
export function LineageTree({ job }: { job: JobDetail }) {
  const words = useWords()
  const { data, error } = useQuery(compare.lineage(job.id))
  return (
    <section className="panel" aria-label={words.lineage.title}>
      <header>
        <h2>{words.lineage.title}</h2>
      </header>
      {error && <Trouble error={error} />}
      {data && (
        <div className="body lineage">
          <Side title={words.lineage.madeOf} way="back" all={branches(data, 'back')} />
          <Side title={words.lineage.wentInto} way="forward" all={branches(data, 'forward')} />
        </div>
      )}
    </section>
  )
}

function Side({ title, way, all }: { title: string; way: Way; all: Branch[] }) {
  const words = useWords()
  return (
    <section aria-label={title}>
      <h3>{title}</h3>
      {all.length === 0 ? <p className="soft">{words.lineage.nothing}</p> : <Tree all={all} way={way} />}
    </section>
  )
}

function Tree({ all, way }: { all: Branch[]; way: Way }) {
  return (
    <ul className="tree">
      {all.map(it => (
        <li key={`${it.how} ${it.node.id}`}>
          <Leaf branch={it} way={way} />
          {it.branches.length > 0 && <Tree all={it.branches} way={way} />}
        </li>
      ))}
    </ul>
  )
}

/** What has a page of its own leads there. */
function Label({ node, text }: { node: LineageNode; text: string }) {
  const to = pageOf(node)
  return to ? <Link href={to}>{text}</Link> : <span className="mono">{text}</span>
}

/** A job, a dataset that stands before its place (`mnist@3 (data:mnist)`), or an algorithm (`algorithm mlp@2`). */
function pageOf({ kind, id, state, label }: LineageNode): string | null {
  if (kind === 'job') return state ? paths.job(id.replace(/^job:/, ''), 'versions') : null
  const dataset = kind === 'data' ? versionedOf(label.split(' ')[0] ?? '') : null
  if (dataset) return paths.dataset(dataset.name, dataset.version)
  const algorithm = kind === 'code' ? versionedOf(/^algorithm (.+)$/.exec(label)?.[1] ?? '') : null
  return algorithm && paths.algorithm(algorithm.name, algorithm.version)
}

function Leaf({ branch: { node, how, isAgain }, way }: { branch: Branch; way: Way }) {
  const { words, language } = useLanguage()
  const say = (en: string, zh?: string) => (language === 'zh' && zh) || en
  const label = say(node.label, node.label_zh)
  const print = node.fingerprint?.slice(0, 12)
  // Of a job its state says enough; of other things the print tells one from the next.
  const detail = node.state ? '' : say(node.detail ?? '', node.detail_zh) || print
  return (
    <div className="leaf">
      <Icon name={ICONS[node.kind]} />
      <span className="soft small">{words.lineage[way][how] ?? how}</span>
      <Label node={node} text={label} />
      {node.state && <State state={node.state} />}
      {detail && <span className="soft small">{detail}</span>}
      {isAgain && <span className="soft small">({words.lineage.again})</span>}
    </div>
  )
}
