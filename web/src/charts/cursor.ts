import { useSyncExternalStore } from 'react'

/** Where the reader points to. Charts that share one point to the same place; moving it draws no page anew. */
export class Cursor {
  x: number | null = null
  private readonly listeners = new Set<() => void>()

  moveTo(x: number | null) {
    if (x === this.x) return
    this.x = x
    for (const listener of this.listeners) listener()
  }

  readonly subscribe = (listener: () => void) => {
    this.listeners.add(listener)
    return () => {
      this.listeners.delete(listener)
    }
  }

  readonly get = () => this.x
}

export const usePlace = (cursor: Cursor): number | null => useSyncExternalStore(cursor.subscribe, cursor.get)
