import { figure } from './figure.ts'
import type { Stand } from './standing.ts'

/** In so many rows a peer may be ahead of us, and in none of these suites. */
const MOST_AHEAD = 3
const NEVER_BEHIND = ['reduce', 'json', 'log']

/** What all claims came to, and what is wrong with them. */
export interface Verification {
  claims: number
  passed: number
  undecided: number
  /** A sentence for each. */
  failures: string[]
}

/** Holds the whole table to what is said of it: each claim, and in how many rows a peer is ahead. */
export function verify(stands: readonly Stand[]): Verification {
  const held = stands.flatMap(({ job, held }) => held.map(claim => ({ job, ...claim })))
  const count = (wanted: string) => held.filter(({ ruling }) => ruling === wanted).length
  const ahead = stands.filter(({ peer }) => peer !== undefined && peer.rounds > 1 && peer.low > 1)
  const behind = ahead.map(({ job, peer }) => `${job} (${peer?.name}, ${figure(peer?.value ?? Number.NaN)})`)
  return {
    claims: held.length,
    passed: count('pass'),
    undecided: count('undecided'),
    failures: [
      ...held.filter(({ ruling }) => ruling === 'fail').map(claim => `${claim.job}: not ${claimed(claim)}`),
      ...held
        .filter(({ ruling }) => ruling === 'unmeasured')
        .map(claim => `${claim.job}: not measured, ${claimed(claim)}`),
      ...(ahead.length > MOST_AHEAD ? [`a peer is ahead in ${ahead.length} rows: ${behind.join(', ')}`] : []),
      ...ahead
        .filter(({ benchmark }) => NEVER_BEHIND.includes(benchmark.split('/')[0] ?? ''))
        .map(({ job }) => `${job}: a peer is ahead`),
      ...ahead
        .filter(({ ahead }) => ahead === undefined)
        .map(({ job }) => `${job}: a peer is ahead, and nothing says why`),
    ],
  }
}

const claims: Record<'peer' | 'floor', string> = { peer: 'of any peer', floor: 'of the floor' }

/** A claim in words. */
export function claimed({ claim, atMost }: Stand['held'][number]): string {
  return claim === 'growth' ? `exponent at most ${atMost}` : `at most ${Number(atMost.toPrecision(3))} ${claims[claim]}`
}
