import { formatFigure } from './format.ts'
import type { Ruling } from './interval.ts'
import type { StandingResult } from './standing.ts'

/** Maximum number of rows in which a peer may be ahead, and suites in which no peer may be ahead. */
const MAX_ROWS_AHEAD = 3
const SUITES_WITHOUT_PEER_AHEAD = ['reduce', 'json', 'log']

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
  const claims = results.flatMap(({ job, claims }) => claims.map(claim => ({ job, ...claim })))
  const count = (expected: Ruling) => claims.filter(({ ruling }) => ruling === expected).length
  const rowsAhead = results.filter(({ peer }) => peer !== undefined && peer.rounds > 1 && peer.low > 1)
  const names = rowsAhead.map(({ job, peer }) => `${job} (${peer?.name}, ${formatFigure(peer?.value ?? Number.NaN)})`)
  return {
    claims: claims.length,
    passed: count('pass'),
    undecided: count('undecided'),
    failures: [
      ...claims.filter(({ ruling }) => ruling === 'fail').map(claim => `${claim.job}: not ${claimText(claim)}`),
      ...claims
        .filter(({ ruling }) => ruling === 'unmeasured')
        .map(claim => `${claim.job}: not measured, ${claimText(claim)}`),
      ...(rowsAhead.length > MAX_ROWS_AHEAD
        ? [`a peer is ahead in ${rowsAhead.length} rows: ${names.join(', ')}`]
        : []),
      ...rowsAhead
        .filter(({ benchmark }) => SUITES_WITHOUT_PEER_AHEAD.includes(benchmark.split('/')[0] ?? ''))
        .map(({ job }) => `${job}: a peer is ahead`),
      ...rowsAhead
        .filter(({ aheadReason }) => aheadReason === undefined)
        .map(({ job }) => `${job}: a peer is ahead without a reason`),
    ],
  }
}

const comparedWith: Record<'peer' | 'floor', string> = { peer: 'of any peer', floor: 'of the floor' }

/** Formats a claim. */
export function claimText({ claim, atMost }: StandingResult['claims'][number]): string {
  return claim === 'growth'
    ? `exponent at most ${atMost}`
    : `at most ${Number(atMost.toPrecision(3))} ${comparedWith[claim]}`
}
