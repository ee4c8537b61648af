// `docs/performance.md`: the part of it that is measured is written by the benchmark.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { markdown } from '../harness/overview.ts'
import type { Results } from './results.ts'

export const DOCS: string = join(import.meta.dirname, '../../docs')
const PAGE = join(DOCS, 'performance.md')

const MEASURED = /(<!-- measured -->)[\s\S]*?(<!-- \/measured -->)/

/** What stands between the marks. */
function measuredPart({ place, stands }: Results): string {
  const ahead = stands.filter(({ peer }) => peer !== undefined && peer.value > 1)
  return [
    `Measured on ${place.date.slice(0, 10)} with node ${place.node} on ${place.cpu}, load ${place.load[0] ?? 0} at the beginning.`,
    '',
    markdown(stands),
    '',
    ahead.length === 0 ? 'No peer came out ahead.' : 'Where a peer came out ahead:',
    '',
    ...ahead.map(
      ({ job, peer, ahead }) => `- **${job}**, ${peer?.name}: ${ahead ?? 'by chance, as the interval shows.'}`,
    ),
  ]
    .join('\n')
    .trimEnd()
}

/** The page's text, with another measured part. */
export function withMeasured(page: string, results: Results): string {
  if (!MEASURED.test(page))
    throw new Error('docs/performance.md has no place for what is measured: <!-- measured --> ... <!-- /measured -->')
  return page.replace(
    MEASURED,
    (_, before: string, after: string) => `${before}\n\n${measuredPart(results)}\n\n${after}`,
  )
}

/** Writes what was measured into the page. */
export function writePage(results: Results): void {
  writeFileSync(PAGE, withMeasured(readFileSync(PAGE, 'utf8'), results))
}
