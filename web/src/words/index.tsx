import { createContext, type ReactNode, useContext, useLayoutEffect, useState } from 'react'
import { en, type Words } from './en.ts'
import { zh } from './zh.ts'

export type Language = 'en' | 'zh'
export const LANGUAGES: Record<Language, Words> = { en, zh }
const KEPT = 'trainmaster.language'

function first(): Language {
  const kept = localStorage.getItem(KEPT)
  if (kept === 'en' || kept === 'zh') return kept
  return navigator.languages.find(it => /^(zh|en)/i.test(it))?.startsWith('zh') ? 'zh' : 'en'
}

interface Speaking {
  language: Language
  words: Words
  speak: (language: Language) => void
}

const Context = createContext<Speaking>({ language: 'en', words: en, speak: () => {} })

export function WordsProvider({ children }: { children: ReactNode }) {
  const [language, setLanguage] = useState(first)
  useLayoutEffect(() => {
    document.documentElement.lang = LANGUAGES[language].locale
  }, [language])
  const speak = (next: Language) => {
    localStorage.setItem(KEPT, next)
    setLanguage(next)
  }
  return <Context value={{ language, words: LANGUAGES[language], speak }}>{children}</Context>
}

/** The server's own words about something, in the language of the page where they exist in it. */
export function useReason(about: { reason: string; reason_zh?: string }): string {
  return (useContext(Context).language === 'zh' && about.reason_zh) || about.reason
}

export const useWords = (): Words => useContext(Context).words
export const useLanguage = (): Speaking => useContext(Context)
