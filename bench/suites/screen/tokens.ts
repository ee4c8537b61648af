import type { Benchmark } from '../../harness/suite.ts'
import { NOTES, OURS, pageContenders, peerClaims, TRIAL } from './pages.ts'

/** Latency from a token of the model to the frame that shows it, for a slow, a fast and an extremely fast model. */
export function tokenBenchmarks(quick: boolean): Benchmark[] {
  return [
    tokens(50, quick ? 50 : 200, quick),
    tokens(500, quick ? 500 : 1500, quick),
    tokens(5000, quick ? 1000 : 5000, quick),
  ]
}

function tokens(rate: number, count: number, quick: boolean): Benchmark {
  return {
    name: `tokens-${rate}`,
    title: `time from the model’s token to the frame that shows it, ${rate.toLocaleString('en')} tokens a second`,
    item: 'token',
    unit: 'latency',
    reference: OURS,
    rounds: quick ? 1 : 3,
    trial: TRIAL,
    contenders: pageContenders('latency', count, Math.min(rate, 500), { answers: 1, paceMs: 1000 / rate, mounted: 0 }),
    claims: peerClaims(['ratio', 'tail']),
    notes: NOTES,
  }
}
