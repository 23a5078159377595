// Words for settings.

export const settings = {
  title: 'Settings',
  you: 'You',
  user: 'User',
  role: 'Role',
  roles: { admin: 'Administrator', user: 'User' } as Record<string, string>,
  version: 'Version',
  look: 'Appearance',
  cli: 'From a terminal',
  cliHelp: 'Everything here can be done from a terminal as well.',
  quarantined: 'Quarantined records',
  quarantinedHelp: 'Rows of the database that cannot be read. They are left as they are.',
  apiDocument: 'The API’s document (OpenAPI)',
  schema: 'The schema of the job file',
}
