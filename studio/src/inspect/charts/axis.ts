/** Round durations in ms. */
const DURATIONS = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500],
  ...[1, 2, 5, 10, 15, 30].map(seconds => seconds * 1000),
  ...[1, 2, 5, 10, 15, 30].map(minutes => minutes * 60_000),
]

/** About `count` axis ticks of round durations, from 0 to at least `maxMs`. */
export function durationTicks(maxMs: number, count = 4): number[] {
  const step = DURATIONS.find(duration => duration * count >= maxMs) ?? Math.ceil(maxMs / count / 3_600_000) * 3_600_000
  return Array.from({ length: Math.max(2, Math.ceil(maxMs / step) + 1) }, (_, i) => i * step)
}

/** About `count` axis ticks of round numbers, from 0 to at least `max`. */
export const numberTicks = (max: number, count = 4): number[] => ticksOf(max, count, () => true)

/** About `count` axis ticks of integers, from 0 to at least `max`. */
export const countTicks = (max: number, count = 4): number[] => ticksOf(max, count, Number.isInteger)

function ticksOf(max: number, count: number, isStep: (size: number) => boolean): number[] {
  if (!(max > 0)) return [0, 1]
  const rough = max / count
  const ten = 10 ** Math.floor(Math.log10(rough))
  const sizes = [1, 2, 2.5, 5, 10].map(times => Number((times * ten).toPrecision(12)))
  const step = sizes.find(size => size * count >= max * 0.999 && isStep(size)) ?? Math.max(1, 10 * ten)
  const ticks = [0]
  for (let i = 1; (ticks.at(-1) ?? 0) < max * 0.999; i++) ticks.push(Number((i * step).toPrecision(12)))
  return ticks
}

const withDigits = (digits: number) => new Intl.NumberFormat('en', { maximumFractionDigits: digits })
const [integers, oneDigit, twoDigits] = [withDigits(0), withDigits(1), withDigits(2)]

/** Formats a number with at most three significant decimals. */
export function numberOf(value: number): string {
  const size = Math.abs(value)
  return (size >= 100 ? integers : size >= 10 ? oneDigit : twoDigits).format(value)
}

/** Formats a duration. */
export function durationOf(ms: number): string {
  if (ms < 1000) return `${integers.format(ms)} ms`
  if (ms < 60_000) return `${twoDigits.format(ms / 1000)} s`
  const seconds = Math.round(ms / 1000)
  const rest = seconds % 60 === 0 ? '' : ` ${seconds % 60} s`
  return `${Math.floor(seconds / 60)} min${rest}`
}
