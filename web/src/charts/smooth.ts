/**
 * The running mean that TensorBoard draws: each value weighs `1 - weight`, and all before it together the rest. The first values are not
 * pulled to zero, for what is missing before them is divided out. A gap stays a gap and nothing after it suffers.
 */
export function smooth(values: number[], weight: number): number[] {
  if (weight <= 0) return values
  let [mean, left] = [0, 1]
  return values.map(value => {
    if (!Number.isFinite(value)) return value
    mean = mean * weight + (1 - weight) * value
    left *= weight
    return mean / (1 - left)
  })
}
