// A browser has six lines to a server, for all of its tabs together. A tab that nobody sees gives its own back.

const isShown = () => document.visibilityState === 'visible'

/** Calls at once and whenever the page is shown or hidden, until `over` goes off. */
function watch(over: AbortSignal, look: () => void) {
  document.addEventListener('visibilitychange', look, { signal: over })
  look()
}

/** Comes when the page is shown, or when nobody waits for it any more. */
function untilShown(signal: AbortSignal): Promise<void> {
  const over = new AbortController()
  return new Promise<void>(resolve => {
    signal.addEventListener('abort', () => resolve(), { signal: over.signal })
    watch(over.signal, () => (signal.aborted || isShown()) && resolve())
  }).finally(() => over.abort())
}

/**
 * Does something as soon as the page is shown. What it is handed goes off with `signal`, and when the page is hidden.
 */
export async function whileShown<T>(signal: AbortSignal, act: (seen: AbortSignal) => Promise<T>): Promise<T> {
  await untilShown(signal)
  const [over, hidden] = [new AbortController(), new AbortController()]
  watch(over.signal, () => isShown() || hidden.abort())
  try {
    return await act(AbortSignal.any([signal, hidden.signal]))
  } finally {
    over.abort()
  }
}
