// Words for what has a name, an owner and numbered versions: datasets and algorithms say these alike.

export const versioned = {
  name: 'Name',
  newest: 'Newest version',
  version: 'Version',
  made: 'Made',
  madeBy: 'Made by',
  description: 'Description',
  noJobs: 'no job yet',
  nothingHint: 'Try other words, or clear the search.',
  newVersion: 'New version',
  newVersionOf: (name: string) => `New version of ${name}`,
  added: (name: string) => `${name} is there`,
  same: (name: string) => `Nothing has changed: this is ${name}`,
  versions: 'Versions',
  owner: 'Owner',
  train: 'Train with this',
  forget: 'Forget',
  forgetVersion: (name: string) => `Forget ${name}`,
  forgetTitle: (name: string) => `Forget ${name}?`,
  forgotten: (name: string) => `${name} is forgotten`,
  noVersions: 'All versions are forgotten',
}
