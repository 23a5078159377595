// Words for the files and variables of a job.

export const spec = {
  file: 'Job file',
  fileHelp: 'As the server understood it, with every secret masked.',
  environment: 'Environment of a task',
  environmentHelp: 'The variables the task is started with, including how to reach its peers.',
  notPlaced: 'Not placed yet: words in <> stand for addresses and ports to come.',
  task: 'Task',
  variable: 'Variable',
  value: 'Value',
  filter: 'Filter variables',
  download: 'Download',
  arguments: 'Appended to the command',
}
