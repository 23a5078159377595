import { Link } from 'wouter'
import { useWords } from '../../words/index.tsx'
import { KINDS, type Kind } from './kinds.ts'

/** The way from a version, such as `mnist@3`, to a new job that is made with it. */
export function TrainWith({ kind, version }: { kind: Kind; version: string }) {
  const { app, [kind]: w } = useWords()
  return (
    <Link className="button tight" href={KINDS[kind].pathToTrain(version)} aria-label={app.about(w.train, version)}>
      {w.train}
    </Link>
  )
}
