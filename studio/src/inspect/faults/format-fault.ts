import type { Fault, FaultName } from './fault-log.ts'

/** Name of each fault. */
export const FAULT_NAMES: { readonly [name in FaultName]: string } = {
  drop: 'Dropped connection',
  delay: 'Delay',
  'kill-worker': 'Killed worker',
  'restart-server': 'Restarted server',
}

/** Formats a duration. */
export const formatMs = (ms: number): string =>
  ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toLocaleString('en', { maximumFractionDigits: 1 })} s`

/** The label of a fault. */
export const faultName = ({ name, ms = 0 }: Fault): string =>
  name === 'delay' ? (ms === 0 ? 'Removed the delay' : `Delayed this tab by ${formatMs(ms)}`) : FAULT_NAMES[name]

/** Status of an open fault. */
const OPEN_STATUS: { readonly [name in FaultName]: string } = {
  drop: 'reconnecting',
  delay: 'applying',
  'kill-worker': 'waiting for a new worker',
  'restart-server': 'waiting for a new server',
}

/** The outcome of a fault, or its status while it is open. */
export function faultOutcome({ name, state, outcome = '', tookMs, isLeaseHeld = false }: Fault): string {
  if (state === 'rejected') return `rejected: ${outcome}`
  const lease = isLeaseHeld ? '; the run continues when the lease of the killed worker expires' : ''
  if (state === 'open') return OPEN_STATUS[name] + lease
  const hasTime = tookMs !== undefined && outcome !== 'no open stream'
  return (hasTime ? `recovered in ${formatMs(tookMs)}, ${outcome}` : outcome) + lease
}

/** Formats sequences with ranges, such as `4–6, 9`, up to a number of ranges. */
export function formatSequences(sequences: readonly number[], max = 12): string {
  const ranges: [number, number][] = []
  for (const sequence of sequences) {
    const last = ranges.at(-1)
    if (last && last[1] + 1 === sequence) last[1] = sequence
    else ranges.push([sequence, sequence])
  }
  const texts = ranges.slice(0, max).map(([from, to]) => (from === to ? `${from}` : `${from}–${to}`))
  return texts.join(', ') + (ranges.length > max ? ` and ${ranges.length - max} more` : '')
}
