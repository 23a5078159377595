import { useQuery } from '@tanstack/react-query'
import { useEffect } from 'react'
import { ask, download } from '../api/client.ts'
import { ApiError, tellingOf } from '../api/error.ts'
import type { FileView } from '../api/queries.ts'
import * as queries from '../api/queries.ts'
import { bytes } from '../format.ts'
import { Button } from '../ui/Button.tsx'
import { CodeBlock } from '../ui/CodeBlock.tsx'
import { Icon } from '../ui/Icon.tsx'
import { Empty, Trouble } from '../ui/Say.tsx'
import { Ago } from '../ui/Time.tsx'
import { useToasts } from '../ui/Toasts.tsx'
import { useSearchParams } from '../useSearchParams.ts'
import { useLanguage, useWords } from '../words/index.tsx'
import { nameOf } from './pick/place.ts'

const PREVIEW_BYTES_MAX = 512 * 1024
const IMAGE_BYTES_MAX = 20 * 1024 * 1024
const IMAGES: Record<string, string> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
}

interface Props {
  /** What a path stands behind: `data:` or `digits@2:/output/`. */
  root: string
  title: string
  /** Where nothing is there yet; otherwise the server says why. */
  emptyHint?: string
  /** What else stands in the address. */
  beside?: Record<string, string>
}

/** A place's files, one directory at a time. Which one stands in the address. */
export function FileBrowser({ root, title, emptyHint, beside = {} }: Props) {
  const { words, language } = useLanguage()
  const [search, setSearch] = useSearchParams()
  const path = search.get('path') ?? ''
  const file = search.get('file')
  const open = (next: Record<string, string>) => setSearch(new URLSearchParams({ ...beside, ...next }))
  const listed = useQuery({ ...queries.files(root + path), enabled: file === null })
  const isNone = listed.error instanceof ApiError && listed.error.status === 404 && path === ''
  return (
    <>
      <Crumbs title={title} path={file ?? path} open={next => open(next ? { path: next } : {})} />
      {file !== null ? (
        <Preview at={root + file} name={file} />
      ) : (
        <>
          {listed.error && !isNone && <Trouble error={listed.error} />}
          {(isNone || listed.data?.length === 0) && (
            <Empty
              icon="folder"
              title={words.files.empty}
              hint={emptyHint ?? (listed.error ? tellingOf(listed.error, language).message : '')}
            />
          )}
          {listed.data && listed.data.length > 0 && (
            <FileTable
              files={listed.data}
              root={root}
              openFolder={next => open({ path: next })}
              openFile={next => open({ file: next })}
            />
          )}
        </>
      )}
    </>
  )
}

/** The way from the root of a place to where one is. */
export function Crumbs({ title, path, open }: { title: string; path: string; open: (path: string) => void }) {
  const words = useWords()
  const parts = path.split('/').filter(Boolean)
  return (
    <nav className="crumbs" aria-label={words.files.path}>
      <button type="button" className="button plain tight" onClick={() => open('')}>
        {title}
      </button>
      {parts.map((part, index) => {
        const whole = parts.slice(0, index + 1).join('/')
        return (
          <span key={whole}>
            /
            <button
              type="button"
              className="button plain tight"
              aria-current={index === parts.length - 1 ? 'page' : undefined}
              onClick={() => open(whole)}
            >
              {part}
            </button>
          </span>
        )
      })}
    </nav>
  )
}

const contentPath = (at: string) => `/api/v1/files/content?at=${encodeURIComponent(at)}`

interface TableProps {
  files: FileView[]
  root: string
  openFolder: (path: string) => void
  openFile: (path: string) => void
}

function FileTable({ files, root, openFolder, openFile }: TableProps) {
  const words = useWords()
  const { tellError } = useToasts()
  const sorted = [...files].sort(
    (a, b) => Number(a.kind === 'file') - Number(b.kind === 'file') || a.path.localeCompare(b.path),
  )
  return (
    <div className="table-box">
      <table>
        <thead>
          <tr>
            <th>{words.files.name}</th>
            <th className="number">{words.files.size}</th>
            <th>{words.files.changed}</th>
            <th>
              <span className="unseen">{words.files.download}</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {sorted.map(file => (
            <tr key={file.path}>
              <th scope="row">
                <button
                  type="button"
                  className="button plain tight file-name"
                  disabled={file.kind === 'special'}
                  onClick={() =>
                    file.kind === 'directory' ? openFolder(file.path.replace(/\/$/, '')) : openFile(file.path)
                  }
                >
                  <Icon name={file.kind === 'directory' ? 'folder' : 'file'} />
                  {nameOf(file.path)}
                </button>
              </th>
              <td className="number nowrap">
                {file.kind === 'file' ? bytes(file.size) : file.kind === 'directory' ? '' : words.files.special}
              </td>
              <td>{file.kind === 'file' && file.modified_ms > 0 && <Ago at={file.modified_ms} />}</td>
              <td className="row-ends">
                {file.kind === 'file' && (
                  <Button
                    look="plain"
                    tight
                    aria-label={`${words.files.download} ${nameOf(file.path)}`}
                    onClick={() => download(contentPath(root + file.path)).catch(tellError)}
                  >
                    <Icon name="down" />
                  </Button>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

type Shown = { text: string } | { image: string } | { words: 'tooLarge' | 'binary' }

/** Text and pictures; everything else is only for downloading, and nothing is ever run. */
async function look(at: string, name: string): Promise<Shown> {
  const kind = IMAGES[name.split('.').at(-1)?.toLowerCase() ?? '']
  const most = kind ? IMAGE_BYTES_MAX : PREVIEW_BYTES_MAX
  const response = await ask(contentPath(at), { headers: { Range: `bytes=0-${most}` } })
  const body = new Uint8Array(await response.arrayBuffer())
  if (kind && body.length > most) return { words: 'tooLarge' }
  if (kind) return { image: URL.createObjectURL(new Blob([body], { type: kind })) }
  if (body.subarray(0, 4096).includes(0)) return { words: 'binary' }
  const text = new TextDecoder().decode(body.subarray(0, most))
  return { text: body.length > most ? `${text}\n…` : pretty(text, name) }
}

function pretty(text: string, name: string): string {
  if (!name.endsWith('.json')) return text
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}

function Preview({ at, name }: { at: string; name: string }) {
  const words = useWords()
  const { tellError } = useToasts()
  const { data: shown, error } = useQuery({
    queryKey: ['content', at],
    queryFn: () => look(at, name),
    gcTime: 0,
    staleTime: Number.POSITIVE_INFINITY,
    structuralSharing: false,
  })
  useEffect(() => {
    if (shown && 'image' in shown) return () => URL.revokeObjectURL(shown.image)
  }, [shown])
  return (
    <div className="body stack">
      <div>
        <Button onClick={() => download(contentPath(at)).catch(tellError)}>
          <Icon name="down" />
          {words.files.download}
        </Button>
      </div>
      {error && <Trouble error={error} />}
      {shown && 'words' in shown && <p className="note">{words.files[shown.words]}</p>}
      {shown && 'image' in shown && <img className="preview" src={shown.image} alt={nameOf(name)} />}
      {shown && 'text' in shown && <CodeBlock label={nameOf(name)} text={shown.text} />}
    </div>
  )
}
