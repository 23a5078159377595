// Words for settings.

export const settings = {
  title: 'Settings',
  you: 'You',
  user: 'User',
  role: 'Role',
  roles: { admin: 'Administrator', user: 'User' } as Record<string, string>,
  server: 'Server',
  version: 'Version',
  look: 'Look',
  cli: 'From a terminal',
  cliHelp: 'Everything here can be done from a terminal as well.',
  quarantined: 'Set aside',
  quarantinedHelp: 'Rows of the database that cannot be read. Nothing is done to them.',
  help: 'Help',
  apiDocument: 'The API’s document (OpenAPI)',
  schema: 'The schema of the job file',
}
