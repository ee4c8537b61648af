// Writes the measured part of `docs/performance.md`.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { markdown } from '../harness/overview.ts'
import type { Results } from './results.ts'

export const DOCS: string = join(import.meta.dirname, '../../docs')
const PAGE = join(DOCS, 'performance.md')

const MEASURED = /(<!-- measured -->)[\s\S]*?(<!-- \/measured -->)/

/** Text between the two markers. */
function measuredPart({ environment, standings: results }: Results): string {
  const ahead = results.filter(({ peer }) => peer !== undefined && peer.value > 1)
  return [
    `Measured on ${environment.date.slice(0, 10)} with node ${environment.node} on ${environment.cpu}, load ${environment.load[0] ?? 0} at the beginning.`,
    '',
    markdown(results),
    '',
    ahead.length === 0 ? 'No peer was ahead.' : 'Benchmarks in which a peer was ahead:',
    '',
    ...ahead.map(
      ({ job, peer, aheadReason }) =>
        `- **${job}**, ${peer?.name}: ${aheadReason ?? 'within the noise: the interval includes 1.'}`,
    ),
  ]
    .join('\n')
    .trimEnd()
}

/** Replaces the measured part of the page. */
export function withMeasured(page: string, results: Results): string {
  if (!MEASURED.test(page))
    throw new Error(
      'docs/performance.md has no markers for the measured part: add <!-- measured --> and <!-- /measured -->',
    )
  return page.replace(
    MEASURED,
    (_, before: string, after: string) => `${before}\n\n${measuredPart(results)}\n\n${after}`,
  )
}

/** Writes the measured part into the page. */
export function writePage(results: Results): void {
  writeFileSync(PAGE, withMeasured(readFileSync(PAGE, 'utf8'), results))
}
