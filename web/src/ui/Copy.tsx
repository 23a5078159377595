import { useState } from 'react'
import { useWords } from '../words/index.tsx'
import { Button } from './Button.tsx'

export function Copy({ text }: { text: string }) {
  const words = useWords()
  const [done, setDone] = useState(false)
  const copy = async () => {
    await navigator.clipboard.writeText(text)
    setDone(true)
    setTimeout(() => setDone(false), 1500)
  }
  return (
    <Button tight onClick={copy}>
      {done ? words.app.copied : words.app.copy}
    </Button>
  )
}
