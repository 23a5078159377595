export type Theme = 'light' | 'dark' | 'system'
const KEPT = 'trainmaster.theme'

export function keptTheme(): Theme {
  const kept = localStorage.getItem(KEPT)
  return kept === 'light' || kept === 'dark' ? kept : 'system'
}

/** `before-paint.js` does the same before the first paint. */
export function setTheme(theme: Theme) {
  if (theme === 'system') localStorage.removeItem(KEPT)
  else localStorage.setItem(KEPT, theme)
  const dark = theme === 'dark' || (theme === 'system' && matchMedia('(prefers-color-scheme: dark)').matches)
  document.documentElement.dataset.theme = dark ? 'dark' : 'light'
}
