// The simple form's view of a job file: what each of its fields stands for.
import { type Draft, fieldOf, setField, textOf, written } from './draft.ts'

export const FRAMEWORKS = [
  ['tensorflow', 'TensorFlow'],
  ['keras', 'Keras'],
  ['pytorch', 'PyTorch'],
  ['jax', 'JAX'],
  ['python', 'Python'],
] as const

const LOG_DIR = ['env', 'TENSORBOARD_LOG_DIR']
const SECRET = 'git'
export const LOG_PATH_DEFAULT = '/output/training_logs'

type Map = Record<string, unknown>
const isMap = (value: unknown): value is Map => typeof value === 'object' && value !== null && !Array.isArray(value)

// -- roles: `ps` and `worker`, or one role alone

export function rolesOf(draft: Draft): string[] {
  const roles = fieldOf(draft, ['roles'])
  return isMap(roles) ? Object.keys(roles) : []
}

/** The role that computes: `worker`, or the only one there is. */
export function mainRole(draft: Draft): string {
  const roles = rolesOf(draft)
  return roles.includes('worker') ? 'worker' : (roles.find(role => role !== 'ps') ?? 'worker')
}

export const isDistributed = (draft: Draft): boolean => rolesOf(draft).includes('ps')

export function setDistributed(draft: Draft, on: boolean): Draft {
  const main = mainRole(draft)
  const workers = setField(draft, ['roles', main, 'tasks'], on ? 2 : null)
  if (!on) return setField(workers, ['roles', 'ps'], null)
  return setField(workers, ['roles', 'ps'], { tasks: 1, command: textOf(draft, ['roles', main, 'command']) })
}

/** A command as a line for the shell, also if it was written as a list of words. */
export function commandOf(draft: Draft, role: string): string {
  const command = fieldOf(draft, ['roles', role, 'command'])
  return Array.isArray(command) ? command.map(quoted).join(' ') : textOf(draft, ['roles', role, 'command'])
}

const quoted = (word: unknown) =>
  /^[\w@%+=:,./-]+$/.test(String(word)) ? String(word) : `'${String(word).replaceAll("'", "'\\''")}'`

/** One command for every role: they tell themselves apart by what the platform tells them. */
export function setCommand(draft: Draft, command: string): Draft {
  const main = setField(draft, ['roles', mainRole(draft), 'command'], command)
  return isDistributed(draft) ? setField(main, ['roles', 'ps', 'command'], command) : main
}

/** What a role has for each of its tasks, for all roles alike. */
export function setForEach(draft: Draft, key: 'cpus' | 'memory', value: unknown): Draft {
  return rolesOf(draft).reduce((all, role) => setField(all, ['roles', role, key], value), draft)
}

// -- framework or image

export const frameworkOf = (draft: Draft): string =>
  fieldOf(draft, ['image']) !== undefined ? 'image' : textOf(draft, ['framework']).split('@')[0] || ''

export function setFramework(draft: Draft, framework: string): Draft {
  const plain = setField(setField(draft, ['framework'], null), ['image'], null)
  if (framework !== 'image') return setField(plain, ['framework'], framework)
  return keptEmpty(plain, 'image')
}

/** A field that is not yet written stays in the file, so that its line does too. */
function keptEmpty(draft: Draft, key: string): Draft {
  const document = draft.document.clone() as Draft['document']
  document.set(key, '')
  return written(document)
}

export const setName = (draft: Draft, name: string): Draft =>
  name === '' ? keptEmpty(draft, 'name') : setField(draft, ['name'], name)

export const setImage = (draft: Draft, image: string): Draft =>
  image === '' ? keptEmpty(draft, 'image') : setField(draft, ['image'], image)

// -- data: one volume or directory that is read from and written back to

export const volumeOf = (draft: Draft): string => {
  const input = textOf(draft, ['input'])
  return input === '' ? '' : input.startsWith('/') ? '/' : (input.split(':')[0] ?? '')
}

export function setVolume(draft: Draft, volume: string): Draft {
  if (volume === '/') return setField(setField(draft, ['input'], '/'), ['output'], null)
  return setField(setField(draft, ['input'], volume && `${volume}:`), ['output'], volume)
}

// -- code

export const gitOf = (draft: Draft): string => {
  const code = fieldOf(draft, ['code'])
  return isMap(code) ? String(code.git ?? '') : typeof code === 'string' ? (code.split('#')[0] ?? '') : ''
}

export const refOf = (draft: Draft): string => {
  const code = fieldOf(draft, ['code'])
  return isMap(code) ? String(code.ref ?? '') : typeof code === 'string' ? (code.split('#')[1] ?? '') : ''
}

/** Whether the code comes from somewhere else, which this form leaves alone. */
export const hasOtherCode = (draft: Draft): boolean => {
  const code = fieldOf(draft, ['code'])
  return isMap(code) ? !('git' in code) : typeof code === 'string' && !/^https?:|^$/.test(code)
}

export function setGit(draft: Draft, key: 'git' | 'ref', value: string): Draft {
  const code = fieldOf(draft, ['code'])
  const now: Map = isMap(code) ? { ...code } : { git: gitOf(draft), ref: refOf(draft) }
  now[key] = value
  if (now.ref === '') delete now.ref
  const isNothing = !now.git && Object.keys(now).every(it => it === 'git')
  return setField(draft, ['code'], isNothing ? null : now)
}

export const isPrivate = (draft: Draft): boolean => {
  const code = fieldOf(draft, ['code'])
  return isMap(code) && ('user' in code || 'password' in code)
}

export function setPrivate(draft: Draft, on: boolean): Draft {
  const { user: _user, password: _password, ...rest } = (fieldOf(draft, ['code']) as Map) ?? {}
  const code = on ? { git: gitOf(draft), ...rest, user: '', password: `{{ secrets.${SECRET} }}` } : rest
  const written = writeWhole(draft, 'code', code)
  return on ? written : setField(written, ['secrets', SECRET], null)
}

export const setUser = (draft: Draft, user: string): Draft =>
  writeWhole(draft, 'code', { ...(fieldOf(draft, ['code']) as Map), user })

export const passwordOf = (draft: Draft): string => textOf(draft, ['secrets', SECRET])
export const setPassword = (draft: Draft, password: string): Draft => setField(draft, ['secrets', SECRET], password)

/** As `setField`, where a map with empty texts in it has something to say all the same. */
function writeWhole(draft: Draft, key: string, value: Map): Draft {
  return setField(draft, [key], value)
}

// -- monitoring

export const hasTensorboard = (draft: Draft): boolean => fieldOf(draft, LOG_DIR) !== undefined
export const logPathOf = (draft: Draft): string => textOf(draft, LOG_DIR)

export function setLogPath(draft: Draft, path: string | null): Draft {
  if (path === null) return setField(draft, LOG_DIR, null)
  const document = draft.document.clone() as Draft['document']
  document.setIn(LOG_DIR, path)
  return written(document)
}

// -- accelerators

/** A number of any type; what is written by type is for the file to show. */
export const acceleratorsOf = (draft: Draft): string => {
  const found = fieldOf(draft, ['roles', mainRole(draft), 'accelerators'])
  if (!isMap(found)) return textOf(draft, ['roles', mainRole(draft), 'accelerators']) || '0'
  return String(Object.values(found).reduce((sum: number, count) => sum + Number(count), 0))
}

export const setAccelerators = (draft: Draft, count: string): Draft =>
  setField(draft, ['roles', mainRole(draft), 'accelerators'], Number(count) > 0 ? Number(count) : null)

export type Wrong = 'nameNeeded' | 'commandNeeded' | 'imageNeeded' | 'directoryAbsolute' | 'gitHttp' | 'logPathAbsolute'

/** The roles that have nothing to run yet. */
const commandless = (draft: Draft): string[] =>
  rolesOf(draft).filter(role => ['', undefined, null].includes(fieldOf(draft, ['roles', role, 'command']) as null))

/** What is not filled in yet: of these the form itself says that they are needed, once. */
export const emptyPaths = (draft: Draft): string[] => [
  ...(textOf(draft, ['name']) === '' ? ['name'] : []),
  ...commandless(draft).map(role => `roles.${role}.command`),
]

/** What the form can tell before the server is asked, by field. */
export function wrongOf(
  draft: Draft,
): Partial<Record<'name' | 'command' | 'image' | 'directory' | 'git' | 'logPath', Wrong>> {
  const git = gitOf(draft)
  const input = textOf(draft, ['input'])
  return {
    ...(textOf(draft, ['name']) === '' && { name: 'nameNeeded' as const }),
    ...(commandless(draft).length > 0 && { command: 'commandNeeded' as const }),
    ...(frameworkOf(draft) === 'image' && textOf(draft, ['image']) === '' && { image: 'imageNeeded' as const }),
    ...(input === '/' && { directory: 'directoryAbsolute' as const }),
    ...(git !== '' && !hasOtherCode(draft) && !/^https?:\/\/./.test(git) && { git: 'gitHttp' as const }),
    ...(hasTensorboard(draft) && !logPathOf(draft).startsWith('/output') && { logPath: 'logPathAbsolute' as const }),
  }
}
