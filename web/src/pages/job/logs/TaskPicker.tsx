import { type FocusEvent, useRef, useState } from 'react'
import { Button } from '../../../ui/Button.tsx'
import { SearchInput } from '../../../ui/SearchInput.tsx'
import { useWords } from '../../../words/index.tsx'

/** More than this are found by typing. */
const SHOWN_MAX = 200
const NAMED_MAX = 2

interface Props {
  tasks: string[]
  picked: string[]
  pick: (tasks: string[]) => void
}

/** One task, some, or all of them, which is none picked. */
export function TaskPicker({ tasks, picked, pick }: Props) {
  const words = useWords()
  const box = useRef<HTMLDetailsElement>(null)
  const [text, setText] = useState('')
  const close = () => {
    if (box.current) box.current.open = false
  }
  const onBlur = (event: FocusEvent) => {
    if (!event.currentTarget.contains(event.relatedTarget as Node | null)) close()
  }
  const toggle = (task: string) =>
    pick(
      picked.includes(task) ? picked.filter(it => it !== task) : tasks.filter(it => it === task || picked.includes(it)),
    )
  const found = tasks.filter(task => task.includes(text.trim()))
  const said =
    picked.length === 0
      ? words.logs.all
      : picked.length <= NAMED_MAX
        ? picked.join(', ')
        : words.logs.tasksPicked(picked.length)
  return (
    <details className="picker" ref={box} onBlur={onBlur} onKeyDown={event => event.key === 'Escape' && close()}>
      <summary className="select" aria-label={words.app.about(words.logs.tasks, said)}>
        {said} <span aria-hidden="true">▾</span>
      </summary>
      <div className="picker-box">
        {tasks.length > 8 && <SearchInput label={words.logs.findTask} text={text} change={setText} />}
        {picked.length > 0 && (
          <Button tight look="plain" onClick={() => pick([])}>
            {words.logs.all}
          </Button>
        )}
        <ul>
          {found.slice(0, SHOWN_MAX).map(task => (
            <li key={task}>
              <label className="check">
                <input type="checkbox" checked={picked.includes(task)} onChange={() => toggle(task)} />
                {task}
              </label>
            </li>
          ))}
        </ul>
      </div>
    </details>
  )
}
