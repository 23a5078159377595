// Words for nodes.

export const nodes = {
  title: 'Nodes',
  name: 'Node',
  address: 'Address',
  open: 'open',
  closed: 'closed',
  free: 'Free',
  heldBy: 'Held by',
  nobody: 'nobody',
  empty: 'No nodes',
  emptyHint: 'The server has found nothing to run tasks on; `trainmaster doctor` says more.',
}
