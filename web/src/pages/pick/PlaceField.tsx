import { useState } from 'react'
import { Button } from '../../ui/Button.tsx'
import { TextField } from '../../ui/Field.tsx'
import { Icon } from '../../ui/Icon.tsx'
import { useWords } from '../../words/index.tsx'
import { PickDataset } from './PickDataset.tsx'
import { PickPlace } from './PickPlace.tsx'
import { placeOf } from './place.ts'

interface Picking {
  label: string
  value: string
  change: (value: string) => void
  /** Why no dataset can be chosen here; nothing where one can, and false where nobody would look for one. */
  noDataset?: string | null | false
  /** Why no place can be chosen here. */
  noPlace?: string | null
  /** Whether something is to be written there, and not read; in a dataset nothing can be. */
  isOutput?: boolean
  /** Whether there is only room for drawings. */
  isTight?: boolean
}

interface Props extends Picking {
  help?: string | undefined
  wrong?: string | null | undefined
  placeholder?: string | undefined
  required?: boolean
}

/** Where data is: typed, or picked from the datasets and the volumes there are. */
export function PlaceField({ noDataset, noPlace, isOutput, ...around }: Props) {
  const { label, value, change } = around
  const buttons = <PickButtons {...{ label, value, change, noDataset, noPlace, isOutput }} />
  return <TextField {...around} onChange={event => change(event.target.value)} beside={buttons} />
}

/** The windows that data can be picked in. */
export function PickButtons({ noDataset = null, noPlace = null, isOutput = false, isTight, ...rest }: Picking) {
  const { app, pick: w } = useWords()
  const [open, setOpen] = useState<'dataset' | 'place' | null>(null)
  const { label, value, change } = rest
  const close = () => setOpen(null)
  const pick = (next: string) => {
    change(next)
    close()
  }
  return (
    <>
      {noDataset !== false && !isOutput && (
        <Button
          aria-label={app.about(label, w.dataset)}
          title={w.dataset}
          refused={noDataset}
          onClick={() => setOpen('dataset')}
        >
          {isTight ? <Icon name="datasets" /> : w.dataset}
        </Button>
      )}
      <Button aria-label={app.about(label, w.place)} title={w.place} refused={noPlace} onClick={() => setOpen('place')}>
        {isTight ? <Icon name="folder" /> : w.place}
      </Button>
      {open === 'dataset' && <PickDataset value={value} pick={pick} onClose={close} />}
      {open === 'place' && <PickPlace value={placeOf(value)} isOutput={isOutput} pick={pick} onClose={close} />}
    </>
  )
}
