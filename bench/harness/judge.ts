import { perItem, type Row } from './run-rounds.ts'
import { exponent } from './statistics.ts'
import type { Claim, Unit } from './suite.ts'

/** Unit in which the cost of an item is printed. */
const UNITS: Record<Unit, string> = { cpu: 'ns', wall: 'ns', latency: 'ms', bytes: 'bytes', times: 'times' }

/** A measured claim. `met` is absent if the claim has no bound. */
export interface Verdict {
  text: string
  value: number
  /** Minimum and maximum over single rounds. */
  range?: { min: number; max: number }
  bound?: string
  met?: boolean
}

/** Evaluates a claim. Returns `undefined` if one of its contenders failed. */
export function judge(claim: Claim, rows: Row[]): Verdict | undefined {
  const row = (name: string): Row => {
    const found = rows.find(candidate => candidate.name === name)
    if (!found)
      throw new Error(
        `claim names unknown contender '${name}', expected one of: ${rows.map(({ name }) => name).join(', ')}`,
      )
    return found
  }
  switch (claim.kind) {
    case 'ratio': {
      const [of, to] = [row(claim.of), row(claim.to)]
      if (of.error || to.error) return undefined
      return { text: `${of.name} / ${to.name}`, ...quotient(of, to), ...atMost(of.perItem / to.perItem, claim.atMost) }
    }
    case 'tail': {
      const [of, to] = [row(claim.of), row(claim.to)]
      if (of.error || to.error) return undefined
      const value = (of.p99?.median ?? Number.NaN) / (to.p99?.median ?? Number.NaN)
      return { text: `p99 of ${of.name} / ${to.name}`, value, ...atMost(value, claim.atMost) }
    }
    case 'rate': {
      const [of, to] = [row(claim.of), row(claim.to)]
      if (of.error || to.error) return undefined
      // A rate is the inverse of the time per item.
      const rate = quotient(to, of)
      return { text: `speed of ${of.name} / ${to.name}`, ...rate, ...atLeast(rate.value, claim.atLeast) }
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
      const unit = UNITS[of.unit]
      return { text: `${of.name}, ${unit} an item`, value: of.perItem, ...atMost(of.perItem, claim.atMost, ` ${unit}`) }
    }
    case 'speed': {
      const of = row(claim.of)
      if (of.error) return undefined
      const value = 1e9 / of.perItem
      return { text: `${of.name}, items a second`, value, ...atLeast(value, claim.atLeast) }
    }
  }
}

/** Quotient of the medians, and the range of the quotients of single rounds. */
function quotient(over: Row, under: Row): { value: number; range: { min: number; max: number } } {
  const each = ({ samples, unit, items }: Row) => samples.map(sample => perItem(sample, unit, items))
  const denominators = each(under)
  const rounds = each(over).map((value, i) => value / (denominators[i] ?? Number.NaN))
  return { value: over.perItem / under.perItem, range: { min: Math.min(...rounds), max: Math.max(...rounds) } }
}

function atMost(value: number, max: number | undefined, unit = ''): { bound?: string; met?: boolean } {
  return max === undefined ? {} : { bound: `at most ${max}${unit}`, met: value <= max }
}

function atLeast(value: number, min: number | undefined): { bound?: string; met?: boolean } {
  return min === undefined ? {} : { bound: `at least ${min.toLocaleString('en')}`, met: value >= min }
}
