import { lexer, type Token, type Tokens } from 'marked'
import { createElement, Fragment, type ReactNode, useMemo } from 'react'
import { Link } from 'wouter'
import { CodeBlock } from '../../ui/CodeBlock.tsx'
import { Scrolls } from '../../ui/Scrolls.tsx'
import { PAGES } from './guide.ts'
import { anchor, target } from './links.ts'

/** What the pages of the guide are made of, as elements: nothing in them ever becomes markup by itself. */
export function Markdown({ text }: { text: string }) {
  const tokens = useMemo(() => lexer(text), [text])
  return <Parts all={tokens} />
}

function Parts({ all }: { all: Token[] | undefined }) {
  // biome-ignore lint/suspicious/noArrayIndexKey: the parts of one text never change places
  return (all ?? []).map((token, at) => <Fragment key={at}>{element(token)}</Fragment>)
}

/** Of a kind that the guide does not use, the text is shown as it is written. */
function element(token: Token): ReactNode {
  switch (token.type) {
    case 'space':
      return null
    case 'heading':
      return <Heading token={token as Tokens.Heading} />
    case 'paragraph':
      return (
        <p>
          <Parts all={token.tokens} />
        </p>
      )
    case 'code':
      return <CodeBlock label={firstLine(token.text)} text={token.text} />
    case 'list':
      return <List token={token as Tokens.List} />
    case 'table':
      return <Table token={token as Tokens.Table} />
    case 'blockquote':
      return (
        <blockquote>
          <Parts all={token.tokens} />
        </blockquote>
      )
    case 'hr':
      return <hr />
    default:
      return inline(token)
  }
}

function inline(token: Token): ReactNode {
  switch (token.type) {
    case 'text':
      return 'tokens' in token && token.tokens ? <Parts all={token.tokens} /> : token.text
    case 'escape':
      return token.text
    case 'codespan':
      return <code className="inline">{token.text}</code>
    case 'strong':
      return (
        <strong>
          <Parts all={token.tokens} />
        </strong>
      )
    case 'em':
      return (
        <em>
          <Parts all={token.tokens} />
        </em>
      )
    case 'br':
      return <br />
    case 'link':
      return <Reference token={token as Tokens.Link} />
    // Pictures are not in the program; what they show is told.
    case 'image':
      return <em>{token.text}</em>
    default:
      return token.raw
  }
}

const firstLine = (text: string) => text.split('\n')[0] ?? ''

function Heading({ token }: { token: Tokens.Heading }) {
  // Its name in an address is not for reading.
  const shown = token.tokens.filter(it => it.type !== 'html')
  return createElement(`h${token.depth}`, { id: anchor(token.text) }, <Parts all={shown} />)
}

function Reference({ token }: { token: Tokens.Link }) {
  const to = target(token.href, PAGES)
  const text = <Parts all={token.tokens} />
  if (to === null) return <span className="nowhere">{text}</span>
  if ('inside' in to) return <Link href={to.inside}>{text}</Link>
  if ('file' in to) return <a href={to.file}>{text}</a>
  return (
    <a href={to.outside} target="_blank" rel="noopener noreferrer">
      {text}
    </a>
  )
}

function List({ token }: { token: Tokens.List }) {
  const items = token.items.map(item => (
    <li key={item.raw}>
      <Parts all={item.tokens} />
    </li>
  ))
  return token.ordered ? <ol>{items}</ol> : <ul>{items}</ul>
}

function Table({ token }: { token: Tokens.Table }) {
  const side = (cell: Tokens.TableCell) => (cell.align === 'right' ? 'number' : undefined)
  const hasHead = token.header.some(cell => cell.text !== '')
  const cells = hasHead ? token.header : (token.rows[0] ?? [])
  return (
    <Scrolls label={cells.map(cell => cell.text).join(', ')}>
      <table>
        {hasHead && (
          <thead>
            <tr>
              {token.header.map((cell, at) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: columns never change places
                <th key={at} className={side(cell)}>
                  <Parts all={cell.tokens} />
                </th>
              ))}
            </tr>
          </thead>
        )}
        <tbody>
          {token.rows.map((row, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: rows never change places
            <tr key={at}>
              {row.map((cell, column) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: columns never change places
                <td key={column} className={side(cell)}>
                  <Parts all={cell.tokens} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </Scrolls>
  )
}
