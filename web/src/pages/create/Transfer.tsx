import { useEffect, useRef, useState } from 'react'
import { Button } from '../../ui/Button.tsx'
import { Icon } from '../../ui/Icon.tsx'
import { useWords } from '../../words/index.tsx'

/** Takes a file that is dropped anywhere on the page. Answers whether one is held over it. */
export function useDrop(take: (file: File | undefined) => void): boolean {
  const [isOver, setOver] = useState(false)
  const latest = useRef(take)
  latest.current = take
  useEffect(() => {
    const over = (event: DragEvent) => {
      event.preventDefault()
      setOver(true)
    }
    const leave = (event: DragEvent) => event.relatedTarget === null && setOver(false)
    const drop = (event: DragEvent) => {
      event.preventDefault()
      setOver(false)
      latest.current(event.dataTransfer?.files[0])
    }
    window.addEventListener('dragover', over)
    window.addEventListener('dragleave', leave)
    window.addEventListener('drop', drop)
    return () => {
      window.removeEventListener('dragover', over)
      window.removeEventListener('dragleave', leave)
      window.removeEventListener('drop', drop)
    }
  }, [])
  return isOver
}

export function Transfer({ take, save }: { take: (file: File | undefined) => void; save: () => void }) {
  const words = useWords()
  const input = useRef<HTMLInputElement>(null)
  return (
    <>
      <input
        ref={input}
        type="file"
        hidden
        accept=".yaml,.yml,.json,.txt"
        aria-label={words.create.import}
        onChange={event => {
          take(event.target.files?.[0])
          event.target.value = ''
        }}
      />
      <Button title={words.create.drop} onClick={() => input.current?.click()}>
        <Icon name="file" />
        {words.create.import}
      </Button>
      <Button onClick={save}>
        <Icon name="down" />
        {words.create.export}
      </Button>
    </>
  )
}
