import { Link } from 'wouter'
import type { JobDetail } from '../../api/queries.ts'
import { paths } from '../../paths.ts'
import { Fact } from '../../ui/Fact.tsx'
import { useWords } from '../../words/index.tsx'
import { algorithmIn, datasetsIn } from './madeWith.ts'

/** The algorithm that a job was made from and the datasets it reads, each of which leads to it. */
export function MadeWith({ job: { spec } }: { job: JobDetail }) {
  const { pick: w } = useWords()
  const algorithm = algorithmIn(spec)
  const datasets = datasetsIn(spec)
  return (
    <>
      {algorithm && (
        <Fact name={w.madeFrom}>
          <Link href={paths.algorithm(algorithm.name, algorithm.version)}>
            {algorithm.name}@{algorithm.version}
          </Link>
        </Fact>
      )}
      {datasets.length > 0 && (
        <Fact name={w.reads}>
          {datasets.map(it => (
            <div key={`${it.name}@${it.version}`}>
              <Link href={paths.dataset(it.name, it.version)}>
                {it.name}@{it.version}
              </Link>
            </div>
          ))}
        </Fact>
      )}
    </>
  )
}
