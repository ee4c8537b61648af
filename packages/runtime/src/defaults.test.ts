import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { MAX_CLAIM_MS, MAX_NOTICES, MAX_PENDINGS, MAX_TIMER_MS } from '@millrace/log/internal'
import { MAX_JSON_DEPTH } from '@millrace/protocol/internal'
import { expect, test } from 'vitest'
import { MAX_ANSWER_TEXT_LENGTH } from './api/answer.ts'
import { MAX_RUN_ID_LENGTH } from './api/request.ts'
import { DEFAULT_BLOCKED_AFTER_MS, DEFAULT_MAX_TAKEOVERS } from './api/runtime-options.ts'
import { DEFAULT_MAX_RETRIES, DEFAULT_PARALLEL_CALLS } from './define/agent.ts'
import { MAX_APPROVAL_TIMEOUT_MS } from './define/approval.ts'
import { DEFAULT_BUDGET } from './define/budget.ts'
import { CONCURRENCY, GRACE_MS, POLL_MS } from './drive/engine.ts'
import {
  CONCURRENT_NOTICES,
  MAX_NOTIFY_DELAY_MS,
  MAX_NOTIFY_TRIES,
  MAX_QUEUED_NOTICES,
  NOTIFY_AFTER_MS,
  OBSERVER_TIMEOUT_MS,
} from './drive/notices.ts'
import {
  EXPIRY_MARGIN_MS,
  MAX_PASS_BACKOFF_MS,
  PAGE_SIZE,
  PASS_INTERVAL_MS,
  TRIM_INTERVAL_MS,
} from './drive/retention-sweep.ts'
import { REASON_STEPS } from './execute/hooks/reason-plan.ts'
import { MAX_HOOK_ID_LENGTH } from './execute/replay/replay.ts'
import { MAX_STATE, MAX_STATE_VALUE } from './execute/replay/state.ts'
import { MAX_REPEATED_RESULT_LENGTH } from './execute/tool/delegate.ts'
import { workflow } from './index.ts'
import { DEFAULT_BACKOFF } from './model/backoff.ts'
import { MAX_BUFFERED_BYTES } from './model/bounded-fetch.ts'
import { DEFAULT_MODEL_LIMITS } from './model/model-limits.ts'
import { BYTES_PER_TOKEN, MAX_ANSWER_ITEMS, PART_BYTES } from './model/part-reader.ts'
import { FORM_CHECK_TIMEOUT_MS, MAX_FORM_DEPTH, MAX_FORM_LENGTH } from './schema/form-response.ts'
import { DEFAULT_ANSWER_CHECK_MS, MAX_WAITING_PER_PRINCIPAL } from './schema/schema-checker.ts'
import { MAX_WAITING_CHECKS, WORKER_MEMORY_MIB } from './schema/schema-worker.ts'

const page = readFileSync(join(import.meta.dirname, '../../../docs/reference/defaults.md'), 'utf8')

test.each([
  ['maxSteps', DEFAULT_BUDGET.steps],
  ['budget.tokens', DEFAULT_BUDGET.tokens],
  ['budget.timeMs', DEFAULT_BUDGET.timeMs],
  ['parallelCalls', DEFAULT_PARALLEL_CALLS],
  ['modelLimits.firstPartMs', DEFAULT_MODEL_LIMITS.firstPartMs],
  ['modelLimits.idleMs', DEFAULT_MODEL_LIMITS.idleMs],
  ['modelLimits.answerTokens', DEFAULT_MODEL_LIMITS.answerTokens],
  ['maxRetries', DEFAULT_MAX_RETRIES],
  ['backoff.firstMs', DEFAULT_BACKOFF.firstMs],
  ['backoff.longestMs', DEFAULT_BACKOFF.longestMs],
  ['maxTakeovers', DEFAULT_MAX_TAKEOVERS],
  ['blockedAfterMs', DEFAULT_BLOCKED_AFTER_MS],
  ['answerCheckMs', DEFAULT_ANSWER_CHECK_MS],
  ['pollMs', POLL_MS],
  ['concurrency', CONCURRENCY],
  ['graceMs', GRACE_MS],
  ['toolExecution.maxSteps', REASON_STEPS],
  ['toolExecution.parallelCalls', DEFAULT_PARALLEL_CALLS],
])('the table of defaults states the value of %s', (name, value) => {
  expect(page).toContain(`| \`${name}\` | ${value.toLocaleString('en')} |`)
})

test.each([
  ['pendings of a run: approvals, client tools, questions', MAX_PENDINGS.toLocaleString('en')],
  ['`budget.bytes`', `${DEFAULT_BUDGET.bytes / 1024 / 1024} MiB`],
  ['`modelLimits.answerBytes`', `${DEFAULT_MODEL_LIMITS.answerBytes / 1024 / 1024} MiB`],
  ['a part of an answer', `${PART_BYTES} bytes`],
  ['texts, calls, results and other items of an answer', MAX_ANSWER_ITEMS.toLocaleString('en')],
  ['a token, by the estimate', `${BYTES_PER_TOKEN} bytes`],
  ['`boundedFetch`: `maxBytes`', `${MAX_BUFFERED_BYTES / 1024 / 1024} MiB`],
  ["a client's claim of a tool", MAX_CLAIM_MS.toLocaleString('en')],
  ['the id of a run', `${MAX_RUN_ID_LENGTH} characters`],
  ['the longest `timeoutMs`', MAX_TIMER_MS.toLocaleString('en')],
  ['the longest `approval.timeoutMs`', MAX_APPROVAL_TIMEOUT_MS.toLocaleString('en')],
  ['the input of a call', `${MAX_JSON_DEPTH} levels`],
  ["a client's error, the reason of an answer", `${MAX_ANSWER_TEXT_LENGTH.toLocaleString('en')} characters`],
  ['an observer', OBSERVER_TIMEOUT_MS.toLocaleString('en')],
  ['other processes notify the observers after', NOTIFY_AFTER_MS.toLocaleString('en')],
  ['the longest of these waits', MAX_NOTIFY_DELAY_MS.toLocaleString('en')],
  ['retries of a failed notification', `${MAX_NOTIFY_TRIES} times`],
  ['notifications in flight', `${CONCURRENT_NOTICES}`],
  ['queued notifications', MAX_QUEUED_NOTICES.toLocaleString('en')],
  ['unsent notifications of a session', `${MAX_NOTICES}`],
  ['a pass of the retention rule', PASS_INTERVAL_MS.toLocaleString('en')],
  ['sessions in a page of a pass', `${PAGE_SIZE}`],
  ['the longest wait after a pass that failed', MAX_PASS_BACKOFF_MS.toLocaleString('en')],
  ['trims of one session by one process', TRIM_INTERVAL_MS.toLocaleString('en')],
  ['expiry of a session on Redis', EXPIRY_MARGIN_MS.toLocaleString('en')],
  ['its result in `subagent-end`', `${MAX_REPEATED_RESULT_LENGTH / 1024} KiB`],
  ['`useReason`: `maxRetries`', `${DEFAULT_MAX_RETRIES}`],
  ['the `id` of a hook', `${MAX_HOOK_ID_LENGTH} characters`],
  ['a value of `useNodeState` or `useWorkflowState`', `${MAX_STATE_VALUE / 1024} KiB`],
  ['all state of a run', `${MAX_STATE / 1024 / 1024} MiB`],
  ['the schema of a form', `${MAX_FORM_LENGTH / 1024} KiB, ${MAX_FORM_DEPTH} levels`],
  ['validation of a form answer', `${FORM_CHECK_TIMEOUT_MS}`],
  ['waiting checks of a user', `${MAX_WAITING_PER_PRINCIPAL}`],
  ['waiting checks of a runtime', MAX_WAITING_CHECKS.toLocaleString('en')],
  ['memory of the worker for checks', `${WORKER_MEMORY_MIB} MiB`],
])('the table of defaults states the limit of %s', (name, value) => {
  expect(page).toContain(`| ${name} | ${value} |`)
})

test('a workflow has the same default limits as an agent', () => {
  const { budget } = workflow({
    id: 'w',
    nodes: { one: () => undefined },
    edges: [
      ['start', 'one'],
      ['one', 'end'],
    ],
  })
  expect(budget).toEqual(DEFAULT_BUDGET)
})
