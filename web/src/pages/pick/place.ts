// How things that are picked are spelt: `mnist@3`, `data:mnist/train`.

export interface Versioned {
  name: string
  version: string
}

/** A name with a version behind it; nothing for everything else, such as a path or an address. */
export function versionedOf(text: string): Versioned | null {
  const found = /^([A-Za-z0-9._~-]+)@([1-9]\d*|latest)$/.exec(text)
  return found ? { name: found[1] ?? '', version: found[2] ?? '' } : null
}

export interface Place {
  volume: string
  path: string
}

/** A path in a volume; nothing for everything else. A slash at its end says nothing more. */
export function placeOf(text: string): Place | null {
  const found = /^([A-Za-z0-9._~-]+)(?::(?!\/\/)(.*))?$/.exec(text)
  if (!found) return null
  return { volume: found[1] ?? '', path: (found[2] ?? '').replace(/^\/+|\/+$/g, '') }
}

/** The last part of a path. */
export const nameOf = (path: string): string => path.replace(/\/$/, '').split('/').at(-1) ?? path
