// The only place that spells an address of the console.

export type JobTab = 'overview' | 'logs' | 'curves' | 'resources' | 'services' | 'files' | 'versions' | 'spec' | 'why'

const encode = encodeURIComponent

export const paths = {
  home: '/',
  login: '/login',
  jobs: '/jobs',
  create: '/create',
  datasets: '/datasets',
  algorithms: '/algorithms',
  nodes: '/nodes',
  volumes: '/volumes',
  secrets: '/secrets',
  settings: '/settings',
  compareAll: '/compare',
  helpAll: '/help',
  job: (job: string, tab: JobTab = 'overview') => `/jobs/${encode(job)}${tab === 'overview' ? '' : `/${tab}`}`,
  logsOf: (job: string, task: string) => `/jobs/${encode(job)}/logs?task=${encode(task)}`,
  compare: (jobs: string[]) => `/compare?jobs=${jobs.map(encode).join(',')}`,
  help: (page: string, section = '') => `/help/${encode(page)}${section && `#${encode(section)}`}`,
  jobsIn: (states: string, owner: string) => `/jobs?state=${encode(states)}&owner=${encode(owner)}`,
  jobsTagged: (tag: string) => `/jobs?tag=${encode(tag)}`,
  createFrom: (job: string, way?: 'clone' | 'continue') => `/create?from=${encode(job)}${way ? `&as=${way}` : ''}`,
  createWith: (framework: string) => `/create?framework=${encode(framework)}`,
  createFromAlgorithm: (algorithm: string) => `/create?algorithm=${encode(algorithm)}`,
  createReading: (input: string) => `/create?input=${encode(input)}`,
  dataset: (name: string, version = '') => `/datasets/${encode(name)}${version && `?version=${encode(version)}`}`,
  algorithm: (name: string, version = '') => `/algorithms/${encode(name)}${version && `?version=${encode(version)}`}`,
  writeAlgorithm: (name = '') => (name ? `/algorithms/${encode(name)}?write=1` : '/algorithms?write=1'),
  volume: (name: string, path = '') => `/volumes/${encode(name)}${path && `?path=${encode(path)}`}`,
}

/** Where to go after logging in: a path of our own, whatever somebody has put into the address. */
export function ownPath(text: string | null): string {
  if (!text?.startsWith('/') || text.startsWith('//') || /[\\\s]/.test(text) || text.startsWith('/login'))
    return paths.home
  return text
}
