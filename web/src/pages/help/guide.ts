// The guide, as it stands in the repository. Each page is a file of its own that is loaded when it is opened.
import type { Language } from '../../words/index.tsx'

type Load = () => Promise<string>
type Pages = Record<string, Load>

const DOCS: Record<Language, Pages> = {
  en: import.meta.glob('../../../../docs/*.md', { query: '?raw', import: 'default' }) as Pages,
  zh: import.meta.glob('../../../../docs/zh-CN/*.md', { query: '?raw', import: 'default' }) as Pages,
}
const READMES: Record<Language, Load> = {
  en: async () => (await import('../../../../README.md?raw')).default,
  zh: async () => (await import('../../../../README.zh-CN.md?raw')).default,
}

export const README = 'readme'

/** Every page, by the name of its file, which is the same in every language. */
export const PAGES: string[] = [README, ...Object.keys(DOCS.en).map(nameOf)]

function nameOf(path: string): string {
  return path.replace(/^.*\//, '').replace(/\.md$/, '')
}

/** The page's text in a language; none if there is no such page. */
export function pageOf(name: string, language: Language): Load | undefined {
  if (name === README) return READMES[language]
  return Object.entries(DOCS[language]).find(([path]) => nameOf(path) === name)?.[1]
}
