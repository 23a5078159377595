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
  show()
}

function show() {
  const theme = keptTheme()
  const dark = theme === 'dark' || (theme === 'system' && system().matches)
  document.documentElement.dataset.theme = dark ? 'dark' : 'light'
}

const system = () => matchMedia('(prefers-color-scheme: dark)')

/** At dusk a system may turn dark, and the page with it. */
export const followSystem = () => system().addEventListener('change', show)
