// Job files that are being written in this tab, each under what it began with. They outlive a reload and end with the log-out.

const PREFIX = 'trainmaster.draft'
/** Whoever begins more of them than this has forgotten the first. */
const DRAFTS_MAX = 20

const placeOf = (key: string) => (key === '' ? PREFIX : `${PREFIX}:${key}`)
const places = () => Object.keys(sessionStorage).filter(it => it === PREFIX || it.startsWith(`${PREFIX}:`))

export const readDraft = (key: string): string | null => sessionStorage.getItem(placeOf(key))

export function keepDraft(key: string, text: string) {
  const others = places().filter(it => it !== placeOf(key))
  for (const place of others.slice(DRAFTS_MAX - 1)) sessionStorage.removeItem(place)
  sessionStorage.setItem(placeOf(key), text)
}

export const forgetDraft = (key: string) => sessionStorage.removeItem(placeOf(key))

export function forgetDrafts() {
  for (const place of places()) sessionStorage.removeItem(place)
}
