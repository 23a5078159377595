// A name for the job of somebody who has not thought of one: what its algorithm, its code, its image or its framework is called.
import { type Draft, textOf } from './draft.ts'
import { frameworkOf, gitOf } from './simple.ts'

const OTHERWISE = 'train'
const CHARACTERS_MAX = 64

/** The last part of an address, without what such addresses end with: `mnist` of `https://example.org/ann/mnist.git`. */
function lastPart(address: string): string {
  const path = /^https?:\/\/[^/]+\/(.+)/.exec(address)?.[1] ?? ''
  return (path.replace(/\/+$/, '').split('/').at(-1) ?? '').replace(/\.git$/, '')
}

/** `train` of `registry.example.org/team/train:1.2`. */
const imageName = (image: string) => (image.split('/').at(-1) ?? '').replace(/[:@].*$/, '')

/** As a name may be: letters, digits and hyphens, with a letter or a digit at each end. */
const fitting = (text: string) =>
  text
    .replace(/[^A-Za-z0-9]+/g, '-')
    .slice(0, CHARACTERS_MAX - 4)
    .replace(/^-+|-+$/g, '')

/** After another job, if there is one it is a copy of. */
export function suggestedName(draft: Draft, taken: ReadonlySet<string>, after = ''): string {
  const framework = frameworkOf(draft)
  const around = framework === 'image' ? imageName(textOf(draft, ['image'])) : framework
  const algorithm = textOf(draft, ['algorithm']).replace(/@.*$/, '')
  const base = fitting(after) || fitting(algorithm) || fitting(lastPart(gitOf(draft))) || fitting(around) || OTHERWISE
  let name = base
  for (let number = 2; taken.has(name); number++) name = `${base}-${number}`
  return name
}
