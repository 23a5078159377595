import { createContext, type ReactNode, useCallback, useContext, useState } from 'react'
import { isAway, tellingOf } from '../api/error.ts'
import { useLanguage } from '../words/index.tsx'
import { Button } from './Button.tsx'
import { Icon } from './Icon.tsx'
import { Rich } from './Say.tsx'

interface Toast {
  id: number
  bad: boolean
  text: string
  hint?: string | null
}

interface Telling {
  tell: (text: string) => void
  tellError: (error: unknown, about?: string) => void
}

const SHOWN_MS = 5_000
const Context = createContext<Telling>({ tell: () => {}, tellError: () => {} })
let last = 0

export function ToastProvider({ children }: { children: ReactNode }) {
  const [toasts, setToasts] = useState<Toast[]>([])
  const { words, language } = useLanguage()
  const drop = useCallback((id: number) => setToasts(all => all.filter(it => it.id !== id)), [])
  const show = useCallback(
    (toast: Omit<Toast, 'id'>) => {
      last += 1
      const id = last
      setToasts(all => [...all.slice(-3), { ...toast, id }])
      // What went wrong stays until it was read.
      if (!toast.bad) setTimeout(() => drop(id), SHOWN_MS)
    },
    [drop],
  )
  const tell = useCallback((text: string) => show({ bad: false, text }), [show])
  const tellError = useCallback(
    (error: unknown, about?: string) => {
      const { message, hint } = isAway(error) ? { message: words.app.away, hint: null } : tellingOf(error, language)
      show({ bad: true, text: about ? words.app.about(about, message) : message, hint })
    },
    [show, words, language],
  )
  return (
    <Context value={{ tell, tellError }}>
      {children}
      <div className="toasts" role="status" aria-live="polite">
        {toasts.map(toast => (
          <div key={toast.id} className={toast.bad ? 'toast bad' : 'toast'}>
            <div>
              <Rich text={toast.text} />
              {toast.hint && (
                <p className="soft small">
                  <Rich text={toast.hint} />
                </p>
              )}
            </div>
            <Button look="plain" tight aria-label={words.app.close} onClick={() => drop(toast.id)}>
              <Icon name="close" size={12} />
            </Button>
          </div>
        ))}
      </div>
    </Context>
  )
}

export const useToasts = () => useContext(Context)
