// Words for why a job is as it is.

export const why = {
  now: 'Why it is in this state',
  needs: 'What it needs',
  nodes: 'Free on each node',
  before: 'Jobs ahead of it',
  role: 'Role',
  each: 'Each',
  free: 'Free',
  heldBy: 'Used by',
  fits: 'enough',
  tooLittle: 'not enough',
  closed: 'closed',
}
