// What came of a job's curves since they were fetched.
import { type CurveNews, type CurveView, countOf } from './pieces.ts'

/** More than this is not kept of a curve that nobody looks at; whoever looks then fetches it. */
const KEPT_MAX = 50

/** A series within its job. */
export const seriesId = (it: Pick<CurveView, 'task' | 'attempt' | 'source' | 'group' | 'name'>) =>
  JSON.stringify([it.task, it.attempt, it.source, it.group, it.name])

/** A piece that came, with the positions of its points within the series. */
interface Piece {
  from: number
  to: number
  curve: CurveView
}

/** Pieces of curves by series. They are kept until a picture that has them was fetched. */
export class News {
  private readonly pieces = new Map<string, Piece[]>()
  /** When points of a series were last taken back. */
  private readonly takenBack = new Map<string, number>()

  take(news: CurveNews[], now = Date.now()) {
    for (const it of news) {
      const id = seriesId(it)
      if (it.anew) this.takenBack.set(id, now)
      const kept = it.anew ? [] : (this.pieces.get(id) ?? [])
      this.pieces.set(id, [...kept, { from: it.total - countOf(it), to: it.total, curve: it }].slice(-KEPT_MAX))
    }
  }

  /** Whether the series is one of those that are followed. */
  knows(id: string): boolean {
    return this.pieces.has(id)
  }

  /** Every series of a name that anything came of. */
  named(name: string): CurveView[] {
    return [...this.pieces.values()].flatMap(([it]) => (it?.curve.name === name ? [it.curve] : []))
  }

  /**
   * What comes after the first `count` points of a picture that was fetched then. Nothing if it does not fit on seamlessly: the
   * picture has to be fetched anew.
   */
  after(id: string, count: number, fetchedAt: number): CurveView[] | null {
    if ((this.takenBack.get(id) ?? 0) >= fetchedAt) return null
    const left = (this.pieces.get(id) ?? []).filter(it => it.to > count)
    let end = count
    for (const it of left) {
      if (it.from !== end) return null
      end = it.to
    }
    return left.map(it => it.curve)
  }
}
