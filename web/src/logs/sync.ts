// Lanes that lie side by side show the same moment: who is scrolled tells the others when its first row came.

export class Moment {
  private readonly lanes = new Map<string, (ms: number) => void>()
  /** The lane that a hand is on; what the others do is only its echo. */
  private leader = ''

  join(lane: string, goTo: (ms: number) => void): () => void {
    this.lanes.set(lane, goTo)
    return () => this.lanes.delete(lane)
  }

  lead(lane: string) {
    this.leader = lane
  }

  tell(lane: string, ms: number) {
    if (lane !== this.leader) return
    for (const [other, goTo] of this.lanes) {
      if (other !== lane) goTo(ms)
    }
  }
}
