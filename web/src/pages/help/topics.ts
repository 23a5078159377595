import { paths } from '../../paths.ts'

/** Which page of the guide, and which section of it, is about what an address shows. The first that fits counts. */
const TOPICS: [RegExp, string, string?][] = [
  [/^\/jobs\/[^/]+\/logs/, 'logs'],
  [/^\/jobs\/[^/]+\/(curves|metrics)/, 'metrics'],
  [/^\/jobs\/[^/]+\/resources/, 'usage'],
  [/^\/jobs\/[^/]+\/files/, 'volumes', 'files'],
  [/^\/jobs\/[^/]+\/versions/, 'compare', 'lineage'],
  [/^\/jobs\/[^/]+\/spec/, 'job-file'],
  [/^\/jobs\/[^/]+\/why/, 'endings'],
  [/^\/compare/, 'compare'],
  [/^\/create/, 'job-file'],
  [/^\/datasets/, 'datasets'],
  [/^\/algorithms/, 'algorithms'],
  [/^\/nodes/, 'usage'],
  [/^\/volumes/, 'volumes'],
  [/^\/secrets/, 'secrets'],
  [/^\/(jobs|settings|$)/, 'console'],
]

/** Where the guide speaks of a page of the console; none for the guide itself. */
export function topicOf(address: string): string | null {
  const topic = TOPICS.find(([pattern]) => pattern.test(address))
  return topic ? paths.help(topic[1], topic[2]) : null
}
