// Words for files.

export const files = {
  output: 'Output',
  name: 'Name',
  size: 'Size',
  changed: 'Changed',
  empty: 'Nothing here yet',
  emptyHint: 'What tasks write to /output appears here, while they run.',
  download: 'Download',
  downloadAll: 'Download everything (tar)',
  preview: 'Preview',
  tooLarge: 'Too large to show here; download it instead.',
  binary: 'This is no text; download it instead.',
  top: 'Top',
  path: 'Path',
  directory: 'directory',
  back: 'Back to the list',
  special: 'link or device; not shown',
}
