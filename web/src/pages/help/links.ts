import { paths } from '../../paths.ts'

export type Target = { inside: string } | { outside: string } | { file: string } | null

/** A heading's name in an address, as code hosts make it. */
const slug = (text: string) =>
  text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replace(/\s/g, '-')

/**
 * The name by which a heading is linked to. Where a page says it beside the heading, as the Chinese pages do with the
 * name of their English twin, one address opens the same section in every language.
 */
export const anchor = (heading: string) =>
  /<a id="([\w-]+)"><\/a>/.exec(heading)?.[1] ?? slug(heading.replace(/`/g, ''))

/** Where a link of the guide leads. Files of the repository that are not in the program lead nowhere. */
export function target(href: string, pages: string[]): Target {
  if (/^https?:\/\//.test(href)) return { outside: href }
  if (href.startsWith('#')) return { inside: href }
  if (/(^|\/)openapi\.json$/.test(href)) return { file: '/api/v1/openapi.json' }
  const [path = '', section = ''] = href.split('#')
  if (/^README(\.zh-CN)?\.md$/.test(path)) return { inside: paths.help('readme', section) }
  const name = /^(?:\.\/|docs\/(?:zh-CN\/)?)?([\w-]+)\.md$/.exec(path)?.[1]
  return name && pages.includes(name) ? { inside: paths.help(name, section) } : null
}
