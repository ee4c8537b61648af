// Entry point of a measuring process: `child.ts <suite> <benchmark> <contender> <quick>` measures one contender once and sends a `Report` to its parent.
import { suites } from '../suites/index.ts'
import { closeAll } from './cleanup.ts'
import { measure, type Sample } from './measure.ts'

/** Message from a measuring process to its parent. */
export type Report = { sample: Sample } | { error: string }

const [suite, name, contender, quick] = process.argv.slice(2)
const benchmark = suites
  .find(({ name }) => name === suite)
  ?.benchmarks(quick === 'quick')
  .find(candidate => candidate.name === name)
const report = await attempt()
process.send?.(report, () => process.exit())

async function attempt(): Promise<Report> {
  try {
    const found = benchmark?.contenders.find(candidate => candidate.name === contender)
    if (!found) throw new Error(`no contender '${contender}' in ${suite}/${name}`)
    const sample = await measure(found, benchmark?.unit, quick === 'quick')
    await closeAll()
    return { sample }
  } catch (error) {
    return { error: error instanceof Error ? (error.stack ?? error.message) : String(error) }
  }
}
