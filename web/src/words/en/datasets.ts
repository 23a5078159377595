// Words for datasets.
import { versioned } from './versioned.ts'

export const datasets = {
  ...versioned,
  title: 'Datasets',
  intro:
    'Data with a name and numbered versions. A job that reads `mnist@3` reads exactly what was there, or does not begin.',
  nameHelp: 'Letters, digits and hyphens, such as mnist.',
  place: 'Place',
  placeHelp: 'A folder or file in a volume. Nothing is copied: the version notes what is there now.',
  files: 'Files',
  filesOf: (name: string) => `Files of ${name}`,
  size: 'Size',
  descriptionHelp: 'What this dataset is, for everyone who looks for one.',
  note: 'Note',
  noteHelp: 'What is special about this version.',
  jobs: 'Read by',
  search: 'Search datasets',
  nothing: 'No dataset matches',
  add: 'Add a dataset',
  addSubmit: 'Add',
  adding: 'Looking through the files…',
  newVersionSubmit: 'Make version',
  count: 'Versions',
  fingerprint: 'Fingerprint',
  forgetVersionHint:
    'The files stay where they are, and jobs that were submitted with it go on. No new job can name this version.',
  forgetAll: 'Forget dataset',
  forgetAllHint: 'All versions are forgotten. The files stay where they are, and jobs that were submitted go on.',
  noVersionsHint: 'Make a new one; numbers are never used twice.',
  empty: 'No datasets yet',
  emptyHint:
    'A dataset gives a folder of a volume a name, and pins what is in it as version 1, 2, 3 … Jobs then read exactly that.',
  notThere: 'There is no such dataset',
  toAll: 'All datasets',
}
