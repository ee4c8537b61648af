import type { Fault, FaultName } from './fault-log.ts'

/** What each fault is called where it was caused. */
export const NAMES: { readonly [name in FaultName]: string } = {
  drop: 'Dropped the connection',
  delay: 'Delay',
  'kill-worker': 'Killed the worker',
  'restart-server': 'Killed the server',
}

/** A time that passed, as people say it. */
export const passed = (ms: number): string =>
  ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toLocaleString('en', { maximumFractionDigits: 1 })} s`

/** What was done. */
export const nameOf = ({ name, ms = 0 }: Fault): string =>
  name === 'delay' ? (ms === 0 ? 'Took the delay off' : `Delayed this tab by ${passed(ms)}`) : NAMES[name]

/** What is waited for while a fault is under way. */
const MEANWHILE: { readonly [name in FaultName]: string } = {
  drop: 'waiting until it is connected again',
  delay: 'under way',
  'kill-worker': 'waiting until another is started',
  'restart-server': 'waiting until it is started again',
}

/** What came of a fault, and what is still waited for. */
export function outcomeWords({ name, state, words = '', tookMs, isLeaseHeld = false }: Fault): string {
  if (state === 'refused') return `refused: ${words}`
  const lease = isLeaseHeld ? '; the run goes on once the lease of the killed one has run out' : ''
  if (state === 'under-way') return MEANWHILE[name] + lease
  const came = tookMs === undefined || words === 'nothing was open' ? words : `back after ${passed(tookMs)}, ${words}`
  return came + lease
}

/** Sequences as people read them: neighbours as a range, and no more than a few. */
export function sequencesOf(sequences: readonly number[], most = 12): string {
  const ranges: [number, number][] = []
  for (const sequence of sequences) {
    const last = ranges.at(-1)
    if (last && last[1] + 1 === sequence) last[1] = sequence
    else ranges.push([sequence, sequence])
  }
  const shown = ranges.slice(0, most).map(([from, to]) => (from === to ? `${from}` : `${from}–${to}`))
  return shown.join(', ') + (ranges.length > most ? ` and ${ranges.length - most} more places` : '')
}
