// A training that looks like one: its loss falls and wavers, its accuracy rises, now and then it is evaluated.

const PROGRAM = `
function noise(size) { return (rand() - 0.5) * size }
BEGIN {
  srand(seed)
  for (i = 1; i <= steps; i++) {
    gone = 1 - exp(-i * lr / 6)
    loss = 2.3 - 2.1 * gone + noise(0.35 * (1.1 - gone))
    accuracy = 0.1 + 0.86 * gone + noise(0.06 * (1.2 - gone))
    if (i == nan) loss = "nan"
    printf "step %d loss: %s accuracy: %.4f learning_rate: %.6f\\n", i, loss, accuracy, lr * (1 - i / (steps + 1))
    if (i % 20 == 0) printf "step %d val_loss: %.4f val_accuracy: %.4f\\n", i, 2.35 - 2.0 * gone + noise(0.1), 0.1 + 0.82 * gone + noise(0.02)
    fflush()
    if (pause > 0) system("sleep " pause)
  }
}`

/** A line of shell that prints `steps` lines, `pause` seconds apart; the value of step `nan` is none. */
export function training({ lr = 0.1, steps = 400, pause = 0, seed = 7, nan = 0 } = {}) {
  const given = Object.entries({ lr, steps, pause, seed, nan }).map(([name, value]) => `-v ${name}=${value}`)
  return `awk ${given.join(' ')} '${PROGRAM}'`
}
