import { Link } from 'wouter'
import { ApiError, tellingOf } from '../../api/error.ts'
import { paths } from '../../paths.ts'
import { Page } from '../../Shell.tsx'
import { Empty, Trouble } from '../../ui/Say.tsx'
import { useLanguage } from '../../words/index.tsx'
import type { Kind } from './kinds.ts'

interface Props {
  kind: Kind
  name: string
  error: Error
  again: () => void
}

/** The page of one that is not there, or that the server did not tell of. */
export function NotShown({ kind, name, error, again }: Props) {
  const { words, language } = useLanguage()
  const w = words[kind]
  const isGone = error instanceof ApiError && error.status === 404
  return (
    <Page title={name}>
      {isGone && (
        <Empty icon={kind} title={w.notThere} hint={tellingOf(error, language).message}>
          <Link className="button" href={paths[kind]}>
            {w.toAll}
          </Link>
        </Empty>
      )}
      {!isGone && <Trouble error={error} again={again} />}
    </Page>
  )
}
