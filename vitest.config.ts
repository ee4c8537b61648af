import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { SkippedReporter } from './scripts/skipped.ts'

export default defineConfig({
  resolve: { conditions: ['@millrace/source'] },
  ssr: { resolve: { conditions: ['@millrace/source'] } },
  test: {
    testTimeout: 60_000,
    // It only says when to give up: a busy machine takes its time.
    expect: { poll: { timeout: 20_000 } },
    include: ['**/*.test.{ts,tsx}'],
    // Nothing is left out unsaid: neither by an `only` nor by a `skip` or a `todo`.
    allowOnly: false,
    reporters: ['default', new SkippedReporter()],
    setupFiles: [fileURLToPath(new URL('scripts/seed.setup.ts', import.meta.url))],
  },
})
