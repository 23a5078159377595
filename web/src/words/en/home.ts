// Words for the start page.
import { plural } from '../plural.ts'

export const home = {
  title: 'Overview',
  byState: 'Your jobs by state',
  atLeast: (count: number) => `${count}+`,
  cluster: 'Cluster',
  cpus: 'CPUs',
  memory: 'Memory',
  noAccelerators: 'No accelerators on these nodes',
  usedOf: (used: string, total: string) => `${used} of ${total}`,
  recent: 'Recent jobs',
  allJobs: 'All jobs',
  start: 'Start with a framework',
  ownImage: 'Container image',
  ownFile: 'A job file',
  nodesUp: (up: number, all: number) => `${up} of ${plural(all, 'node', 'nodes')} open`,
}
