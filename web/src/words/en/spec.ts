// Words for the files and variables of a job.

export const spec = {
  file: 'Job file',
  fileHelp: 'As the server understood it, with every secret masked.',
  environment: 'Environment of a task',
  environmentHelp: 'What the task finds in its variables; what it was given to find its peers is among them.',
  notPlaced: 'It has no place yet: words in <> stand where addresses and ports will be.',
  task: 'Task',
  variable: 'Variable',
  value: 'Value',
  filter: 'Filter variables',
  download: 'Download',
  arguments: 'Behind the command',
}
