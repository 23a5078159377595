// Words for every page, and of the log-in.

export const app = {
  name: 'Trainmaster',
  skip: 'Skip to content',
  logOut: 'Log out',
  theme: { label: 'Theme', light: 'Light', dark: 'Dark', system: 'Same as system' },
  languageLabel: 'Language',
  notFound: 'There is no such page',
  notFoundHint: 'The address may be mistyped, or what it showed is gone.',
  toHome: 'Go to overview',
  broken: 'Something went wrong',
  brokenHint: 'Reload the page; the server and your jobs are not affected.',
  reload: 'Reload',
  about: (what: string, told: string) => `${what}: ${told}`,
  away: 'Cannot reach the server',
  awayHint: 'Your jobs keep running. This page retries by itself.',
  cancel: 'Cancel',
  close: 'Close',
  copy: 'Copy',
  copied: 'Copied',
  more: 'More',
  none: 'none',
  loading: 'Loading…',
  hint: 'What to do:',
}

export const nav = {
  main: 'Main',
  home: 'Overview',
  jobs: 'Jobs',
  create: 'New job',
  nodes: 'Nodes',
  volumes: 'Volumes',
  datasets: 'Datasets',
  algorithms: 'Algorithms',
  secrets: 'Secrets',
  settings: 'Settings',
  help: 'Help',
}

export const login = {
  title: 'Log in',
  intro: 'Train models on your machines: submit, watch, find out why.',
  token: 'Token',
  tokenHelp: 'On the server’s machine, `trainmaster console` prints a link that needs no token.',
  submit: 'Log in',
  byLink: 'Logging you in…',
  linkUsed: 'This link was used already, or is too old. `trainmaster console` prints a new one.',
  refused: 'The server does not know this token. Check whether a character is missing at either end.',
}

export const states = {
  queued: 'Queued',
  starting: 'Starting',
  running: 'Running',
  finishing: 'Finishing',
  stopping: 'Stopping',
  unknown: 'Unknown',
  succeeded: 'Succeeded',
  failed: 'Failed',
  stopped: 'Stopped',
}
