import { Page } from '../Shell.tsx'
import { useWords } from '../words/index.tsx'
import { FileBrowser } from './FileBrowser.tsx'

export default function VolumePage({ volume }: { volume: string }) {
  const words = useWords()
  return (
    <Page title={volume}>
      <section className="panel" aria-label={words.job.tabs.files}>
        <FileBrowser root={`${volume}:`} title={volume} />
      </section>
    </Page>
  )
}
