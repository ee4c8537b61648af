import { defineConfig } from 'vitest/config'

export default defineConfig({
  resolve: { conditions: ['@millrace/source'] },
  ssr: { resolve: { conditions: ['@millrace/source'] } },
  test: {
    testTimeout: 60_000,
    include: ['**/*.test.ts'],
    setupFiles: process.env['MILLRACE_SEED'] ? ['scripts/seed.setup.ts'] : [],
  },
})
