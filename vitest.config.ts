import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { FailureReporter } from './scripts/testing/failures.ts'
import { LongestFirst } from './scripts/testing/longest-first.ts'
import { SkippedReporter } from './scripts/testing/skipped.ts'
import { SuiteReporter } from './scripts/testing/suite-reporter.ts'
import { needsOwnWorker, testFiles } from './scripts/testing/suites.ts'

const root = fileURLToPath(new URL('.', import.meta.url))
const path = (file: string) => fileURLToPath(new URL(file, import.meta.url))
const isolated = testFiles(root).filter(file => needsOwnWorker(root, file))

const TESTS = ['**/*.test.{ts,tsx}']
const EXCLUDED = ['**/node_modules/**', '**/dist/**']

/** Time limits only say when to give up: a loaded machine takes its time. */
const TEST_MS = 600_000

export default defineConfig({
  resolve: { conditions: ['@millrace/source'] },
  ssr: { resolve: { conditions: ['@millrace/source'] } },
  test: {
    testTimeout: TEST_MS,
    hookTimeout: TEST_MS,
    teardownTimeout: TEST_MS,
    expect: { poll: { timeout: 180_000 } },
    maxWorkers: 2,
    // A test that does not run is a failure: neither `only` nor `skip` nor `todo` passes.
    allowOnly: false,
    reporters: ['default', new SuiteReporter(root), new SkippedReporter(), new FailureReporter()],
    setupFiles: [path('scripts/testing/seed.setup.ts'), path('scripts/testing/guard.setup.ts')],
    sequence: { sequencer: LongestFirst },
    projects: [
      { extends: true, test: { name: 'shared', include: TESTS, exclude: [...EXCLUDED, ...isolated], isolate: false } },
      { extends: true, test: { name: 'isolated', include: isolated, isolate: true } },
    ],
  },
})
