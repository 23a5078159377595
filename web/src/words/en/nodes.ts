// Words for nodes.

export const nodes = {
  title: 'Nodes',
  open: 'open',
  closed: 'closed',
  heldBy: 'Used by',
  nobody: 'no jobs',
  empty: 'No nodes',
  emptyHint: 'The server has found nothing to run tasks on; `trainmaster doctor` says more.',
}
