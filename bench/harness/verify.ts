import { figure } from './figure.ts'
import type { StandingResult } from './standing.ts'

/** Maximum number of rows in which a peer may be ahead, and the suites in which no peer may be. */
const MAX_AHEAD = 3
const NEVER_BEHIND = ['reduce', 'json', 'log']

/** Summary of all claims. */
export interface Verification {
  claims: number
  passed: number
  undecided: number
  /** One sentence per failure. */
  failures: string[]
}

/** Checks the table: every claim, and the number of rows in which a peer is ahead. */
export function verify(results: readonly StandingResult[]): Verification {
  const held = results.flatMap(({ job, held }) => held.map(claim => ({ job, ...claim })))
  const count = (wanted: string) => held.filter(({ ruling }) => ruling === wanted).length
  const ahead = results.filter(({ peer }) => peer !== undefined && peer.rounds > 1 && peer.low > 1)
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
      ...(ahead.length > MAX_AHEAD ? [`a peer is ahead in ${ahead.length} rows: ${behind.join(', ')}`] : []),
      ...ahead
        .filter(({ benchmark }) => NEVER_BEHIND.includes(benchmark.split('/')[0] ?? ''))
        .map(({ job }) => `${job}: a peer is ahead`),
      ...ahead.filter(({ ahead }) => ahead === undefined).map(({ job }) => `${job}: a peer is ahead without a reason`),
    ],
  }
}

const claims: Record<'peer' | 'floor', string> = { peer: 'of any peer', floor: 'of the floor' }

/** Formats a claim. */
export function claimed({ claim, atMost }: StandingResult['held'][number]): string {
  return claim === 'growth' ? `exponent at most ${atMost}` : `at most ${Number(atMost.toPrecision(3))} ${claims[claim]}`
}
