import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import {
  BLOCKED_AFTER_MS,
  CONCURRENCY,
  DEFAULT_BACKOFF,
  DEFAULT_BUDGET,
  GRACE_MS,
  MAX_RETRIES,
  MAX_TAKEOVERS,
  PARALLEL_CALLS,
  POLL_MS,
} from './index.ts'

const page = readFileSync(join(import.meta.dirname, '../../../docs/reference/defaults.md'), 'utf8')

test.each([
  ['maxSteps', DEFAULT_BUDGET.steps],
  ['budget.tokens', DEFAULT_BUDGET.tokens],
  ['budget.time', DEFAULT_BUDGET.time],
  ['parallelCalls', PARALLEL_CALLS],
  ['maxRetries', MAX_RETRIES],
  ['backoff.first', DEFAULT_BACKOFF.first],
  ['backoff.longest', DEFAULT_BACKOFF.longest],
  ['maxTakeovers', MAX_TAKEOVERS],
  ['blockedAfterMs', BLOCKED_AFTER_MS],
  ['pollMs', POLL_MS],
  ['concurrency', CONCURRENCY],
  ['graceMs', GRACE_MS],
])('the table of defaults says what %s is', (name, value) => {
  expect(page).toContain(`| \`${name}\` | ${value.toLocaleString('en')} |`)
})
