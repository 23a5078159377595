// The simple form's view of a job file: what each of its fields stands for.
import { type Draft, fieldOf, hasMore, type Path, setField, spelt, textOf, usesAlgorithm, written } from './draft.ts'

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

/** One command for every role: they tell themselves apart by what the platform tells them. One that has its own keeps it. */
export function setCommand(draft: Draft, command: string): Draft {
  const shared = isDistributed(draft) && commandOf(draft, 'ps') === commandOf(draft, mainRole(draft))
  const main = setField(draft, ['roles', mainRole(draft), 'command'], command)
  return shared ? setField(main, ['roles', 'ps', 'command'], command) : main
}

/** What a role has for each of its tasks, for all roles that have it alike. */
export function setForEach(draft: Draft, key: 'cpus' | 'memory', value: unknown): Draft {
  const of = (role: string) => fieldOf(draft, ['roles', role, key])
  const alike = rolesOf(draft).filter(role => of(role) === of(mainRole(draft)))
  return alike.reduce((all, role) => setField(all, ['roles', role, key], value), draft)
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

/** A volume by its name, `/` for a directory, nothing for nothing; null for what this form cannot show. */
export const volumeOf = (draft: Draft): string | null => {
  if (hasMore(draft, ['input'])) return null
  const input = textOf(draft, ['input'])
  if (input === '' || input.startsWith('/')) return input.slice(0, 1)
  return /^[^:/@]+:?$/.test(input) ? input.replace(':', '') : null
}

/** Whether what tasks write goes to where this form has put it, or nowhere. */
export const ownsOutput = (draft: Draft): boolean =>
  !hasMore(draft, ['output']) && ['', volumeOf(draft)].includes(textOf(draft, ['output']))

/** An output that was written elsewhere stays as it is. */
export function setVolume(draft: Draft, volume: string): Draft {
  const read = setField(draft, ['input'], volume === '/' ? '/' : volume && `${volume}:`)
  return ownsOutput(draft) ? setField(read, ['output'], volume === '/' ? null : volume) : read
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
  const now: Map = { ...codeOf(draft), [key]: value }
  if (now.ref === '') delete now.ref
  const isNothing = !now.git && Object.keys(now).every(it => it === 'git')
  return setField(draft, ['code'], isNothing ? null : now)
}

export const isPrivate = (draft: Draft): boolean => {
  const code = fieldOf(draft, ['code'])
  return isMap(code) && ('user' in code || 'password' in code)
}

export function setPrivate(draft: Draft, on: boolean): Draft {
  const { user: _user, password: _password, ...rest } = codeOf(draft)
  const code = on ? { ...rest, user: '', password: `{{ secrets.${SECRET} }}` } : rest
  const written = setField(draft, ['code'], code)
  return on ? written : setField(written, ['secrets', secretOf(draft)], null)
}

/** The code as a map, also if it was written as a text. */
function codeOf(draft: Draft): Map {
  const code = fieldOf(draft, ['code'])
  if (isMap(code)) return code
  const ref = refOf(draft)
  return { git: gitOf(draft), ...(ref && { ref }) }
}

export const setUser = (draft: Draft, user: string): Draft =>
  setField(draft, ['code'], { ...(fieldOf(draft, ['code']) as Map), user })

/** By which name the password stands among the secrets. */
const secretOf = (draft: Draft): string =>
  /^\{\{\s*secrets\.([\w-]+)\s*\}\}$/.exec(textOf(draft, ['code', 'password']))?.[1] ?? SECRET

export const passwordPath = (draft: Draft): Path => ['secrets', secretOf(draft)]
export const passwordOf = (draft: Draft): string => textOf(draft, passwordPath(draft))

export function setPassword(draft: Draft, password: string): Draft {
  const name = secretOf(draft)
  const told = setField(draft, ['code', 'password'], `{{ secrets.${name} }}`)
  return setField(told, ['secrets', name], password)
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

const acceleratorsIn = (draft: Draft, role: string) => fieldOf(draft, ['roles', role, 'accelerators'])

/** How many of all types together. */
export const acceleratorsOf = (draft: Draft): string => {
  const found = acceleratorsIn(draft, mainRole(draft))
  if (!isMap(found)) return String(found ?? 0)
  return String(Object.values(found).reduce((sum: number, count) => sum + Number(count), 0))
}

/** Their type stays what it was. */
export function setAccelerators(draft: Draft, count: number | null, role = mainRole(draft)): Draft {
  const found = acceleratorsIn(draft, role)
  const [kind] = isMap(found) ? Object.keys(found) : []
  const value = count === 0 || count === null ? null : kind === undefined ? count : { [kind]: count }
  return setField(draft, ['roles', role, 'accelerators'], value)
}

export type Wrong =
  | 'nameNeeded'
  | 'commandNeeded'
  | 'imageNeeded'
  | 'directoryAbsolute'
  | 'gitHttp'
  | 'userNeeded'
  | 'passwordNeeded'
  | 'logPathAbsolute'
type Field = 'name' | 'command' | 'image' | 'directory' | 'git' | 'user' | 'password' | 'logPath'

/** The roles that have nothing to run yet. */
const commandless = (draft: Draft): string[] =>
  usesAlgorithm(draft)
    ? []
    : rolesOf(draft).filter(role => ['', undefined, null].includes(fieldOf(draft, ['roles', role, 'command']) as null))

/** What is not filled in yet: of these the form itself says that they are needed, once. */
export const emptyPaths = (draft: Draft): string[] => [
  ...(textOf(draft, ['name']) === '' ? ['name'] : []),
  ...commandless(draft).map(role => spelt(['roles', role, 'command'])),
  ...(isPasswordMissing(draft) ? ['code.password'] : []),
]

const isPasswordMissing = (draft: Draft): boolean =>
  isPrivate(draft) && !hasMore(draft, passwordPath(draft)) && passwordOf(draft) === ''

/** What the form can tell before the server is asked, by field. */
export function wrongOf(draft: Draft): Partial<Record<Field, Wrong>> {
  const git = gitOf(draft)
  const input = textOf(draft, ['input'])
  return {
    ...(textOf(draft, ['name']) === '' && { name: 'nameNeeded' as const }),
    ...(commandless(draft).length > 0 && { command: 'commandNeeded' as const }),
    ...(frameworkOf(draft) === 'image' && textOf(draft, ['image']) === '' && { image: 'imageNeeded' as const }),
    ...(input === '/' && { directory: 'directoryAbsolute' as const }),
    ...(git !== '' && !hasOtherCode(draft) && !/^https?:\/\/./.test(git) && { git: 'gitHttp' as const }),
    ...(fieldOf(draft, ['code', 'user']) === '' && { user: 'userNeeded' as const }),
    ...(isPasswordMissing(draft) && { password: 'passwordNeeded' as const }),
    ...(hasTensorboard(draft) && !logPathOf(draft).startsWith('/output') && { logPath: 'logPathAbsolute' as const }),
  }
}
