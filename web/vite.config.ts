import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

// No inline script, style or data address: the page's policy takes none of them.
export default defineConfig({
  plugins: [react()],
  build: { target: 'es2022', assetsInlineLimit: 0, modulePreload: { polyfill: false }, cssCodeSplit: false },
})
