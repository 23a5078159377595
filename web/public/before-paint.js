// Before the first paint, so that nobody who likes it dark sees a white flash.
const kept = localStorage.getItem('trainmaster.theme')
const dark = kept === 'dark' || (kept !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches)
document.documentElement.dataset.theme = dark ? 'dark' : 'light'
