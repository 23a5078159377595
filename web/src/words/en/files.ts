// Words for files.

export const files = {
  name: 'Name',
  size: 'Size',
  changed: 'Modified',
  empty: 'Nothing here yet',
  emptyHint: 'What tasks write to /output appears here, while they run.',
  download: 'Download',
  downloadAll: 'Download everything (tar)',
  tooLarge: 'Too large to show here; download it instead.',
  binary: 'This is not a text file; download it instead.',
  path: 'Path',
  special: 'link or device; not shown',
}
