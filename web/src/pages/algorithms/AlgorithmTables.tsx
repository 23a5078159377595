import type { Input, Output, Param } from '../../api/algorithms.ts'
import { useWords } from '../../words/index.tsx'
import { acceptedBy, asWritten, limitsOf, tellings } from './told.ts'

/** What it reads, or what it writes. */
export function ChannelTable({ channels, isInput }: { channels: Record<string, Input & Output>; isInput?: boolean }) {
  const { algorithms: w } = useWords()
  return (
    <table className="list">
      <thead>
        <tr>
          <th>{w.channel}</th>
          {isInput && <th>{w.accepts}</th>}
          <th>{w.required}</th>
          <th>{w.told}</th>
          <th>{w.description}</th>
        </tr>
      </thead>
      <tbody>
        {Object.entries(channels).map(([name, channel]) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            {isInput && <td>{acceptedBy(channel, w)}</td>}
            <td>{channel.required ? w.yes : w.no}</td>
            <td className="mono nowrap">{tellings(channel).join(' ') || '–'}</td>
            <td className="about">{channel.description}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

/** Every parameter, with all that its value is held to. */
export function ParamTable({ params }: { params: Record<string, Param> }) {
  const { algorithms: w } = useWords()
  return (
    <table className="list">
      <thead>
        <tr>
          <th>{w.name}</th>
          <th>{w.type}</th>
          <th>{w.default}</th>
          <th>{w.limits}</th>
          <th>{w.argument}</th>
          <th>{w.description}</th>
        </tr>
      </thead>
      <tbody>
        {Object.entries(params).map(([name, param]) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td className="nowrap">{w.types[param.type] ?? param.type}</td>
            <td className="mono">{asWritten(param.default)}</td>
            <td>{limitsOf(param, w) || '–'}</td>
            <td className="mono nowrap">{param.argument === 'none' ? '–' : (param.argument ?? `--${name}`)}</td>
            <td className="about">{param.description}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
