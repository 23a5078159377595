import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { App } from './App.tsx'
import { followSystem } from './theme.ts'
import './ui/tokens.css'
import './ui/base.css'
import './ui/parts.css'
import './ui/shell.css'
import './charts/charts.css'
import './pages/pages.css'
import './pages/job/curves.css'

const root = document.getElementById('root')
if (!root) throw new Error('index.html has an element with the id `root`')
followSystem()
createRoot(root).render(
  <StrictMode>
    <App />
  </StrictMode>,
)
