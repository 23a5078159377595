// Words for secrets.

export const secrets = {
  title: 'Secrets',
  intro: 'Passwords and keys for your jobs. They go in and never come out again.',
  name: 'Name',
  value: 'Value',
  set: 'Add a secret',
  setSubmit: 'Save',
  changed: 'Last changed',
  remove: 'Remove',
  removeTitle: (name: string) => `Remove ${name}?`,
  removeHint: 'Tasks that have it keep it; those that start later do not get it.',
  removed: (name: string) => `${name} is removed`,
  kept: (name: string) => `${name} is saved`,
  empty: 'No secrets',
  emptyHint: 'Add one, and a job can name it: `secrets: { key: { named: wandb } }`.',
}
