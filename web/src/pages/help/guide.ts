// The guide, as it stands in the repository. Each page is a file of its own that is loaded when it is opened.
import type { Language } from '../../words/index.tsx'

type Load = () => Promise<string>

const DOCS = import.meta.glob('../../../../docs/*.md', { query: '?raw', import: 'default' }) as Record<string, Load>
const READMES: Record<Language, Load> = {
  en: async () => (await import('../../../../README.md?raw')).default,
  zh: async () => (await import('../../../../README.zh-CN.md?raw')).default,
}

export const README = 'readme'
/** Pages that say everything in both languages. */
const OF_ALL: ReadonlySet<string> = new Set(['endings'])

/** Every page, by the name of its file. */
export const PAGES: string[] = [README, ...Object.keys(DOCS).map(nameOf)]

function nameOf(path: string): string {
  return path.replace(/^.*\//, '').replace(/\.md$/, '')
}

/** The page's text and the language it is in; none if there is no such page. */
export function pageOf(name: string, language: Language): { load: Load; lang: Language } | null {
  if (name === README) return { load: READMES[language], lang: language }
  const load = Object.entries(DOCS).find(([path]) => nameOf(path) === name)?.[1]
  return load ? { load, lang: OF_ALL.has(name) ? language : 'en' } : null
}
