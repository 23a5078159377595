import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { download } from '../api/client.ts'
import * as queries from '../api/queries.ts'
import { LanguageSelect, Page } from '../Shell.tsx'
import { keptTheme, setTheme, type Theme } from '../theme.ts'
import { Button } from '../ui/Button.tsx'
import { CodeBlock } from '../ui/CodeBlock.tsx'
import { SelectField } from '../ui/Field.tsx'
import { Trouble } from '../ui/Say.tsx'
import { useWords } from '../words/index.tsx'

export default function SettingsPage() {
  const words = useWords()
  const about = useQuery(queries.about())
  const [theme, show] = useState(keptTheme)
  const choose = (next: Theme) => {
    setTheme(next)
    show(next)
  }
  return (
    <Page title={words.settings.title}>
      {about.error && <Trouble error={about.error} />}
      <section className="panel">
        <header>
          <h2>{words.settings.look}</h2>
        </header>
        <div className="body form-grid">
          <SelectField
            label={words.app.theme.label}
            value={theme}
            onChange={event => choose(event.target.value as Theme)}
          >
            <option value="system">{words.app.theme.system}</option>
            <option value="light">{words.app.theme.light}</option>
            <option value="dark">{words.app.theme.dark}</option>
          </SelectField>
          <div className="field">
            <span className="label">{words.app.languageLabel}</span>
            <LanguageSelect />
          </div>
        </div>
      </section>
      <section className="panel">
        <header>
          <h2>{words.settings.you}</h2>
        </header>
        <dl className="body facts">
          <Fact name={words.settings.user} value={about.data?.user} />
          <Fact name={words.settings.role} value={words.settings.roles[about.data?.role ?? ''] ?? about.data?.role} />
          <Fact name={words.settings.version} value={about.data?.version} />
        </dl>
      </section>
      <section className="panel">
        <header>
          <h2>{words.settings.cli}</h2>
        </header>
        <div className="body stack">
          <p className="soft">{words.settings.cliHelp}</p>
          <CodeBlock
            label={words.settings.cli}
            text={`trainmaster login ${location.origin}\ntrainmaster list\ntrainmaster --help`}
          />
          <div className="row">
            <Button onClick={() => download('/api/v1/openapi.json')}>{words.settings.apiDocument}</Button>
            <Button onClick={() => download('/api/v1/schema')}>{words.settings.schema}</Button>
          </div>
        </div>
      </section>
      {about.data && about.data.quarantined.length > 0 && (
        <section className="panel">
          <header>
            <h2>{words.settings.quarantined}</h2>
          </header>
          <div className="body stack">
            <p className="soft">{words.settings.quarantinedHelp}</p>
            <ul>
              {about.data.quarantined.map(row => (
                <li key={row} className="mono">
                  {row}
                </li>
              ))}
            </ul>
          </div>
        </section>
      )}
    </Page>
  )
}

function Fact({ name, value }: { name: string; value: string | undefined }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value ?? '–'}</dd>
    </div>
  )
}
