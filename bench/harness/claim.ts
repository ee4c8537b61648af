import type { Row } from './rounds.ts'
import { exponent } from './statistics.ts'
import type { Claim } from './suite.ts'

/** A claim, measured. `met` is absent where there is no bound. */
export interface Verdict {
  text: string
  value: number
  /** The least and the most of the rounds taken one by one. */
  range?: { min: number; max: number }
  bound?: string
  met?: boolean
}

/** Holds a claim against the rows; nothing can be said where a contender failed. */
export function judge(claim: Claim, rows: Row[]): Verdict | undefined {
  const row = (name: string): Row => {
    const found = rows.find(candidate => candidate.name === name)
    if (!found) throw new Error(`a claim names '${name}', and no contender has that name`)
    return found
  }
  switch (claim.kind) {
    case 'ratio': {
      const [of, to] = [row(claim.of), row(claim.to)]
      if (of.error || to.error) return undefined
      const text = `${of.name} / ${to.name}`
      const rounds = of.samples.map((sample, i) => sample.cpu / of.items / ((to.samples[i]?.cpu ?? 0) / to.items))
      const range = { min: Math.min(...rounds), max: Math.max(...rounds) }
      return { text, value: of.perItem / to.perItem, range, ...bounded(of.perItem / to.perItem, claim.atMost, '') }
    }
    case 'exponent': {
      const [small, large] = [row(claim.small), row(claim.large)]
      if (small.error || large.error) return undefined
      const value = exponent(small, large)
      const text = `growth exponent, ${small.name} to ${large.name}`
      const under = claim.under
      return { text, value, ...(under === undefined ? {} : { bound: `under ${under}`, met: value < under }) }
    }
    case 'cost': {
      const of = row(claim.of)
      if (of.error) return undefined
      return { text: `${of.name}, ns an item`, value: of.perItem, ...bounded(of.perItem, claim.atMost, ' ns') }
    }
  }
}

function bounded(value: number, atMost: number | undefined, unit: string): { bound?: string; met?: boolean } {
  return atMost === undefined ? {} : { bound: `at most ${atMost}${unit}`, met: value <= atMost }
}
