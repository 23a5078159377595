// Words for why a job is as it is.

export const why = {
  now: 'Why it is as it is',
  next: 'What you can do',
  needs: 'What it needs',
  nodes: 'What the nodes have free',
  before: 'Jobs before it',
  role: 'Role',
  each: 'Each',
  free: 'Free',
  of: 'of',
  heldBy: 'Held by',
  fits: 'fits',
  tooLittle: 'too little',
  closed: 'closed',
}
