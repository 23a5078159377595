// What of a draft may be kept in the browser.
import { isMap, isScalar, parseDocument } from 'yaml'

/** What the server puts in the place of a secret that it keeps. */
const MASK = '******'
const TEMPLATE = /^\{\{.*\}\}$/

/** The same file with every secret emptied; none if it cannot be told where they stand in it. */
export function withoutSecrets(text: string): string | null {
  const document = parseDocument(text)
  if (document.errors.length > 0) return /secret|password|token/i.test(text) ? null : text
  const places = secretPlaces(document.get('secrets'))
  if (!TEMPLATE.test(String(document.getIn(['code', 'password']) ?? '{{}}'))) places.push(['code', 'password'])
  if (places.length === 0) return text
  for (const path of places) document.setIn(path, '')
  return document.toString({ lineWidth: 0, flowCollectionPadding: false })
}

function secretPlaces(secrets: unknown): string[][] {
  if (!isMap(secrets)) return []
  return secrets.items.flatMap(({ key, value }) => {
    const path = ['secrets', String(isScalar(key) ? key.value : key)]
    if (isMap(value)) return value.has('value') ? [[...path, 'value']] : []
    return isScalar(value) && value.value !== MASK ? [path] : []
  })
}
