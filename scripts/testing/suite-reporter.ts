import { relative } from 'node:path'
import type { Reporter, TestModule } from 'vitest/node'
import { seconds } from '../command.ts'
import { suiteOf } from './suites.ts'

type Row = { files: number; tests: number; failed: number; ms: number; cpuMs: number }

/**
 * Prints the cost of each suite: the summed time of its files, and the CPU time of its workers and of their ended child
 * processes. Two workers run at once, so the run takes about half of the sum.
 */
export class SuiteReporter implements Reporter {
  readonly #root: string
  readonly #from = performance.now()

  constructor(root: string) {
    this.#root = root
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    const rows = new Map<string, Row>()
    for (const module of modules) {
      const { name } = suiteOf(relative(this.#root, module.moduleId))
      const row = rows.get(name) ?? { files: 0, tests: 0, failed: 0, ms: 0, cpuMs: 0 }
      rows.set(name, row)
      const { environmentSetupDuration, prepareDuration, collectDuration, setupDuration, duration } =
        module.diagnostic()
      row.files++
      row.tests += [...module.children.allTests()].length
      row.failed += module.ok() ? 0 : 1
      row.ms += environmentSetupDuration + prepareDuration + collectDuration + setupDuration + duration
      row.cpuMs += module.meta().cpuMs ?? 0
    }
    if (rows.size === 0) return
    console.log('\nsuite         files   tests       time        CPU  result')
    for (const [name, row] of [...rows].sort(([a], [b]) => a.localeCompare(b))) {
      const { files, tests, failed, ms, cpuMs } = row
      const columns = [name.padEnd(12), pad(files, 6), pad(tests, 7), pad(seconds(ms), 10), pad(seconds(cpuMs), 10)]
      console.log(
        `${columns.join(' ')}  ${failed === 0 ? 'passed' : `FAILED (${failed} ${failed === 1 ? 'file' : 'files'})`}`,
      )
    }
    console.log(`all suites: ${seconds(performance.now() - this.#from)}`)
  }
}

function pad(value: string | number, width: number): string {
  return String(value).padStart(width)
}

declare module 'vitest' {
  interface TaskMeta {
    /** CPU time of a test file in ms, with the child processes that ended meanwhile. */
    cpuMs?: number
  }
}
