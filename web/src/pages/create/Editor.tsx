import { autocompletion, type CompletionContext, closeBrackets, completionKeymap } from '@codemirror/autocomplete'
import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands'
import { yaml } from '@codemirror/lang-yaml'
import { HighlightStyle, syntaxHighlighting } from '@codemirror/language'
import { type Diagnostic, lintGutter, setDiagnostics } from '@codemirror/lint'
import { EditorState, type Text } from '@codemirror/state'
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from '@codemirror/view'
import { tags } from '@lezer/highlight'
import { useEffect, useRef } from 'react'
import { useWords } from '../../words/index.tsx'
import { keysAt, pathAtLine, type Schema, valuesAt } from './schema.ts'
import type { Problem } from './usePlan.ts'

interface Props {
  text: string
  change: (text: string) => void
  problems: Problem[]
  label: string
  /** What may stand in it, for completion. */
  schema: unknown
}

const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: 'var(--link)' },
  { tag: [tags.string, tags.special(tags.string)], color: 'var(--good)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--busy)' },
  { tag: tags.comment, color: 'var(--ink-soft)', fontStyle: 'italic' },
])

const looks = EditorView.theme({
  '&': { fontSize: '13px', backgroundColor: 'var(--panel)', color: 'var(--ink)' },
  '.cm-content': { fontFamily: 'var(--mono)', caretColor: 'var(--ink)', minHeight: '360px' },
  '.cm-gutters': { backgroundColor: 'var(--sunk)', color: 'var(--ink-soft)', border: 'none' },
  '.cm-activeLine': { backgroundColor: 'color-mix(in srgb, var(--sunk) 70%, transparent)' },
  '.cm-tooltip': { backgroundColor: 'var(--panel)', border: '1px solid var(--line)', color: 'var(--ink)' },
  '.cm-tooltip-autocomplete ul li[aria-selected]': { backgroundColor: 'var(--accent)', color: 'var(--accent-ink)' },
  '.cm-cursor': { borderLeftColor: 'var(--ink)' },
  '&.cm-focused': { outline: '2px solid var(--focus)', outlineOffset: '-1px' },
  '.cm-selectionBackground, &.cm-focused .cm-selectionBackground': { backgroundColor: 'var(--accent-soft) !important' },
})

/** The page's policy lets styles in by this, and the editor writes its own. */
const nonce = () => document.querySelector<HTMLMetaElement>('meta[name="style-nonce"]')?.content ?? ''

export default function Editor({ text, change, problems, label, schema }: Props) {
  const place = useRef<HTMLDivElement>(null)
  const view = useRef<EditorView | null>(null)
  const onChange = useRef(change)
  onChange.current = change
  const { app } = useWords()
  const known = useRef<Schema>({})
  known.current = (schema as Schema | undefined) ?? {}

  // biome-ignore lint/correctness/useExhaustiveDependencies: made once; what changes goes in below
  useEffect(() => {
    if (!place.current) return
    const tellChange = EditorView.updateListener.of(update => {
      if (update.docChanged) onChange.current(update.state.doc.toString())
    })
    const extensions = [
      EditorView.cspNonce.of(nonce()),
      lineNumbers(),
      lintGutter(),
      history(),
      drawSelection(),
      closeBrackets(),
      highlightActiveLine(),
      yaml(),
      syntaxHighlighting(colours),
      autocompletion({ override: [context => offer(context, known.current)] }),
      keymap.of([...completionKeymap, ...defaultKeymap, ...historyKeymap, indentWithTab]),
      EditorView.contentAttributes.of({ 'aria-label': label, tabindex: '0' }),
      looks,
      tellChange,
    ]
    const made = new EditorView({ parent: place.current, state: EditorState.create({ doc: text, extensions }) })
    view.current = made
    return () => made.destroy()
  }, [])

  // What the form, an import or another page has put there.
  useEffect(() => {
    const now = view.current?.state.doc
    if (now && now.toString() !== text) view.current?.dispatch({ changes: { from: 0, to: now.length, insert: text } })
  }, [text])

  useEffect(() => {
    const editor = view.current
    if (!editor) return
    editor.dispatch(
      setDiagnostics(
        editor.state,
        problems.map(problem => diagnostic(editor.state.doc, problem, app.about)),
      ),
    )
  }, [problems, app])

  return <div className="editor" ref={place} />
}

function diagnostic(text: Text, problem: Problem, about: (what: string, told: string) => string): Diagnostic {
  const line = text.line(Math.min(Math.max(problem.line, 1), text.lines))
  const from = Math.min(line.from + Math.max(problem.column - 1, 0), line.to)
  const message = problem.hint ? about(problem.message, problem.hint) : problem.message
  return { from, to: Math.max(line.to, from), severity: 'error', message: about(problem.path, message) }
}

/** Keys where a key may stand, values behind a colon. */
function offer(context: CompletionContext, schema: Schema) {
  const { doc } = context.state
  const line = doc.lineAt(context.pos)
  const before = line.text.slice(0, context.pos - line.from)
  const lines = doc.toString().split('\n')
  const path = pathAtLine(lines, line.number - 1)
  const behind = /^\s*(?:- )?([\w.-]+):\s+([\w.-]*)$/.exec(before)
  if (behind) {
    const [, key = '', begun = ''] = behind
    return { from: context.pos - begun.length, options: valuesAt(schema, [...path, key]) }
  }
  const word = /^\s*([\w.-]*)$/.exec(before)
  if (!word || (word[1] === '' && !context.explicit)) return null
  const options = keysAt(schema, path).map(it => ({ ...it, apply: `${it.label}: ` }))
  return { from: context.pos - (word[1]?.length ?? 0), options }
}
