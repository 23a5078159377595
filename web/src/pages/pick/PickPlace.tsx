import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { ApiError } from '../../api/error.ts'
import type { FileView } from '../../api/queries.ts'
import * as queries from '../../api/queries.ts'
import { bytes } from '../../format.ts'
import { Button } from '../../ui/Button.tsx'
import { Dialog } from '../../ui/Dialog.tsx'
import { SelectField, TextField } from '../../ui/Field.tsx'
import { Icon } from '../../ui/Icon.tsx'
import { Empty, Trouble } from '../../ui/Say.tsx'
import { useWords } from '../../words/index.tsx'
import { Crumbs } from '../FileBrowser.tsx'
import { nameOf, type Place, placeOf } from './place.ts'
import './pick.css'

interface Props {
  value: Place | null
  /** Whether something is to be written there, and not read: then it is a folder, and best an empty one. */
  isOutput: boolean
  pick: (value: string) => void
  onClose: () => void
}

/** A volume and a folder in it. */
export function PickPlace({ value, isOutput, pick, onClose }: Props) {
  const { app, pick: w } = useWords()
  const { data: volumes, error } = useQuery(queries.volumes())
  const names = volumes?.map(it => it.name) ?? []
  const [volume, setVolume] = useState(value?.volume ?? '')
  const here = names.includes(volume) ? volume : (names[0] ?? '')
  const [folder, open] = useState(value?.path ?? '')
  const [typed, type] = useState<string | null>(null)
  const text = typed ?? `${here}:${folder}`
  const go = (path: string) => {
    open(path)
    type(null)
  }
  return (
    <Dialog title={w.placeTitle} onClose={onClose} wide>
      {error && <Trouble error={error} />}
      {volumes?.length === 0 && <Empty icon="volumes" title={w.noVolumes} hint={w.noVolumesHint} />}
      {names.length > 0 && (
        <>
          <SelectField
            label={w.volume}
            value={here}
            onChange={event => {
              setVolume(event.target.value)
              go('')
            }}
          >
            {names.map(name => (
              <option key={name}>{name}</option>
            ))}
          </SelectField>
          <div className="panel picked-folder">
            <Crumbs title={here} path={folder} open={go} />
            <Folder
              key={`${here}:${folder}`}
              at={`${here}:${folder}`}
              isOutput={isOutput}
              open={go}
              pick={path => type(`${here}:${path}`)}
            />
          </div>
          <TextField
            label={w.folder}
            help={isOutput ? w.folderHelp : w.fileHelp}
            value={text}
            onChange={event => type(event.target.value)}
            onKeyDown={event => {
              // Otherwise the form around this would be sent.
              if (event.key === 'Enter') event.preventDefault()
            }}
          />
        </>
      )}
      <div className="ends">
        <Button onClick={onClose}>{app.cancel}</Button>
        <Button look="primary" refused={placeOf(text) ? null : w.pickFirst} onClick={() => pick(text)}>
          {w.picked}
        </Button>
      </div>
    </Dialog>
  )
}

interface FolderProps {
  at: string
  isOutput: boolean
  open: (path: string) => void
  pick: (path: string) => void
}

/** What is in it. Of a folder that is to be written to, the files are only there to be seen. */
function Folder({ at, isOutput, open, pick }: FolderProps) {
  const { pick: w, app } = useWords()
  const { data, error } = useQuery(queries.files(at))
  if (error instanceof ApiError && error.status === 404 && isOutput) return <p className="soft body">{w.newFolder}</p>
  if (error) return <Trouble error={error} />
  if (!data) return <p className="soft body">{app.loading}</p>
  if (data.length === 0) return <p className="soft body">{w.emptyFolder}</p>
  const folders = data.filter(it => it.kind === 'directory')
  const files = data.filter(it => it.kind === 'file')
  return (
    <>
      {isOutput && <p className="note small">{w.fullFolder}</p>}
      <ul>
        {[...folders, ...files].map(file => (
          <li key={file.path}>
            <Entry file={file} isOff={isOutput && file.kind === 'file'} open={open} pick={pick} />
          </li>
        ))}
      </ul>
    </>
  )
}

interface EntryProps {
  file: FileView
  isOff: boolean
  open: (path: string) => void
  pick: (path: string) => void
}

function Entry({ file, isOff, open, pick }: EntryProps) {
  const isFolder = file.kind === 'directory'
  const name = (
    <>
      <Icon name={isFolder ? 'folder' : 'file'} />
      {nameOf(file.path)}
    </>
  )
  return (
    <>
      {isOff ? (
        <span className="soft row only-seen">{name}</span>
      ) : (
        <button
          type="button"
          className="button plain tight file-name"
          onClick={() => (isFolder ? open(file.path.replace(/\/$/, '')) : pick(file.path))}
        >
          {name}
        </button>
      )}
      {file.kind === 'file' && <span className="soft small">{bytes(file.size)}</span>}
    </>
  )
}
