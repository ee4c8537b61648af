import type { Reporter, TestModule, Vitest } from 'vitest/node'

/** Fails a run in which a test was skipped or is yet to be written, and names it. */
export class SkippedReporter implements Reporter {
  #chosen = false

  onInit({ config }: Vitest): void {
    // Who asks for some tests by name leaves out the others, and knows it.
    this.#chosen = config.testNamePattern !== undefined
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    if (this.#chosen) return
    const skipped = modules.flatMap(module => [...module.children.allTests('skipped')])
    for (const test of skipped) console.error(`SKIPPED ${test.module.relativeModuleId}: ${test.fullName}`)
    if (skipped.length === 0) return
    console.error(`${skipped.length} skipped: a test that cannot run is a failure`)
    process.exitCode = 1
  }
}
