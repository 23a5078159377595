// Server-sent events out of a stream of text.

export interface ServerEvent {
  id: string
  kind: string
  data: string
}

/** Cuts a stream of text into events. Feed it pieces of any length. */
export class EventCutter {
  private rest = ''

  feed(text: string): ServerEvent[] {
    const parts = (this.rest + text).split('\n\n')
    this.rest = parts.pop() ?? ''
    return parts.map(parse).filter(event => event.data !== '')
  }
}

function parse(block: string): ServerEvent {
  const event = { id: '', kind: 'message', data: '' }
  for (const line of block.split('\n')) {
    const [name, value] = [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).replace(/^ /, '')]
    if (name === 'id') event.id = value
    else if (name === 'event') event.kind = value
    else if (name === 'data') event.data += event.data === '' ? value : `\n${value}`
  }
  return event
}
