import './views.css'

interface Props<Name extends string> {
  label: string
  /** Each with what it is called. */
  all: (readonly [Name, string])[]
  here: Name
  choose: (name: Name) => void
}

/** Several views of one thing, of which one is shown. */
export function Views<Name extends string>({ label, all, here, choose }: Props<Name>) {
  return (
    <fieldset className="views">
      <legend className="unseen">{label}</legend>
      {all.map(([name, word]) => (
        <button key={name} type="button" aria-pressed={name === here} onClick={() => choose(name)}>
          {word}
        </button>
      ))}
    </fieldset>
  )
}
