// Words for every page, and of the log-in.

export const app = {
  name: 'Trainmaster',
  skip: 'Skip to content',
  logOut: 'Log out',
  theme: { label: 'Theme', light: 'Light', dark: 'Dark', system: 'As the system' },
  languageLabel: 'Language',
  notFound: 'There is no such page',
  notFoundHint: 'The address may be mistyped, or what it showed is gone.',
  toHome: 'To the start page',
  broken: 'This page has stumbled',
  brokenHint: 'Load it again; the server and your jobs are not touched by this.',
  reload: 'Load again',
  about: (what: string, told: string) => `${what}: ${told}`,
  away: 'The server does not answer',
  awayHint: 'Your jobs go on without it. This page tries again by itself.',
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
  refused: 'The server does not know this token. Look for a missing letter at its ends.',
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
