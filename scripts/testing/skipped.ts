import type { Reporter, TestModule, Vitest } from 'vitest/node'

/** Fails a run in which a test was skipped or is marked `todo`, and names it. */
export class SkippedReporter implements Reporter {
  #hasNameFilter = false

  onInit({ config }: Vitest): void {
    // `-t` skips the other tests on purpose.
    this.#hasNameFilter = config.testNamePattern !== undefined
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    if (this.#hasNameFilter) return
    const skipped = modules.flatMap(module => [...module.children.allTests('skipped')])
    // A failed `beforeAll` skips its tests too.
    for (const test of skipped) console.error(`SKIPPED ${test.module.relativeModuleId}: ${test.fullName}`)
    if (skipped.length === 0) return
    console.error(`${skipped.length} skipped: a test that cannot run is a failure`)
    process.exitCode = 1
  }
}
