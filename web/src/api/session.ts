// The session's key. The cookie that goes with it is the browser's business and for no script to see.

const KEY = 'trainmaster.session'

let onEnd: () => void = () => {}

export const session = {
  key: (): string | null => localStorage.getItem(KEY),
  begin: (key: string) => localStorage.setItem(KEY, key),
  /** The server no longer knows us, or we left. */
  end() {
    localStorage.removeItem(KEY)
    onEnd()
  },
  whenItEnds(listener: () => void) {
    onEnd = listener
  },
}

export function sessionHeaders(): Record<string, string> {
  const key = session.key()
  return key === null ? {} : { 'x-trainmaster-session': key }
}
