// The fresh process: `child.ts <suite> <benchmark> <contender> <quick>` measures one contender once and tells its parent.
import { suites } from '../suites/index.ts'
import { measure, type Sample } from './meter.ts'

/** What a child tells its parent. */
export type Report = { sample: Sample } | { error: string }

const [suite, benchmark, contender, quick] = process.argv.slice(2)
const found = suites
  .find(({ name }) => name === suite)
  ?.benchmarks(quick === 'quick')
  .find(({ name }) => name === benchmark)
  ?.contenders.find(({ name }) => name === contender)
const report = await attempt()
process.send?.(report, () => process.exit())

async function attempt(): Promise<Report> {
  try {
    if (!found) throw new Error(`no contender '${contender}' in ${suite}/${benchmark}`)
    return { sample: await measure(found) }
  } catch (error) {
    return { error: error instanceof Error ? (error.stack ?? error.message) : String(error) }
  }
}
