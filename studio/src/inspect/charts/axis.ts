/** Round durations in ms. */
const DURATIONS = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500],
  ...[1, 2, 5, 10, 15, 30].map(seconds => seconds * 1000),
  ...[1, 2, 5, 10, 15, 30].map(minutes => minutes * 60_000),
]

/** Axis ticks of round durations, from 0 to at least `mostMs`. */
export function durationsUpTo(mostMs: number, about = 4): number[] {
  const step = DURATIONS.find(one => one * about >= mostMs) ?? Math.ceil(mostMs / about / 3_600_000) * 3_600_000
  return Array.from({ length: Math.max(2, Math.ceil(mostMs / step) + 1) }, (_, i) => i * step)
}

/** Axis ticks of round numbers, from 0 to at least `most`. */
export const ticksUpTo = (max: number, about = 4): number[] => ticksOf(max, about, () => true)

/** Axis ticks of integers. */
export const countsUpTo = (max: number, about = 4): number[] => ticksOf(max, about, Number.isInteger)

function ticksOf(max: number, about: number, isStep: (size: number) => boolean): number[] {
  if (!(max > 0)) return [0, 1]
  const rough = max / about
  const ten = 10 ** Math.floor(Math.log10(rough))
  const sizes = [1, 2, 2.5, 5, 10].map(times => Number((times * ten).toPrecision(12)))
  const step = sizes.find(size => size * about >= max * 0.999 && isStep(size)) ?? Math.max(1, 10 * ten)
  const ticks = [0]
  for (let i = 1; (ticks.at(-1) ?? 0) < max * 0.999; i++) ticks.push(Number((i * step).toPrecision(12)))
  return ticks
}

const few = (digits: number) => new Intl.NumberFormat('en', { maximumFractionDigits: digits })
const [none, one, two] = [few(0), few(1), few(2)]

/** Formats a number with at most three significant decimals. */
export function numberOf(value: number): string {
  const size = Math.abs(value)
  return (size >= 100 ? none : size >= 10 ? one : two).format(value)
}

/** Formats a duration. */
export function durationOf(ms: number): string {
  if (ms < 1000) return `${none.format(ms)} ms`
  if (ms < 60_000) return `${two.format(ms / 1000)} s`
  const seconds = Math.round(ms / 1000)
  const rest = seconds % 60 === 0 ? '' : ` ${seconds % 60} s`
  return `${Math.floor(seconds / 60)} min${rest}`
}
