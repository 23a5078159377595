import { useMemo } from 'react'
import { type Axis, numbers, sizes } from '../charts/axes.ts'
import { useWords } from '../words/index.tsx'
import type { PanelKey } from './panels.ts'

const figure = (value: number) => String(Number(value.toPrecision(3)))

/** How the values of each chart are written. */
export function useAmounts(): Record<PanelKey, Axis> {
  const { usage } = useWords()
  return useMemo(() => {
    const cores: Axis = { ...numbers, exact: value => usage.cores(figure(value)) }
    const rate = sizes(usage.perSecond)
    const devices: Axis = { ...numbers, exact: figure }
    return {
      cpu: cores,
      memory: sizes(),
      disk: rate,
      network: rate,
      acceleratorUse: devices,
      acceleratorMemory: sizes(),
    }
  }, [usage])
}
