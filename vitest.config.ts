import { defineConfig } from 'vitest/config'

export default defineConfig({
  resolve: { conditions: ['@millrace/source'] },
  ssr: { resolve: { conditions: ['@millrace/source'] } },
  test: { include: ['packages/*/src/**/*.test.ts'] },
})
