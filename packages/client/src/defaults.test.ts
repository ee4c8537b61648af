import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { BACKOFF } from '@millrace/protocol/retry'
import { expect, test } from 'vitest'
import { FLUSH_MS } from './notify/flush-scheduler.ts'

const page = readFileSync(join(import.meta.dirname, '../../../docs/reference/defaults.md'), 'utf8')

/** Value of a constant in a file, also of one that is not exported. */
function constant(file: string, name: string): number {
  const text = readFileSync(join(import.meta.dirname, file), 'utf8')
  const [, value = ''] = new RegExp(`^(?:export )?const ${name} = ([\\d_ *]+)$`, 'm').exec(text) ?? []
  const factors = value.replaceAll('_', '').split('*').map(Number)
  return factors.reduce((product, factor) => product * factor, 1)
}

const SERVER = '../../dialects/src/foreign-server/'

const formatted = (value: number): string => value.toLocaleString('en')

test.each([
  ['`backoff.firstMs` of a client', formatted(BACKOFF.firstMs)],
  ['`backoff.longestMs` of a client', formatted(BACKOFF.longestMs)],
  ['`streamFlushInterval`', formatted(FLUSH_MS)],
  [
    'silence before the first heartbeat interval is known',
    formatted(constant('connection/multiplexed-stream.ts', 'SILENCE_MS')),
  ],
  ['sessions on one request', formatted(constant('connection/multiplexed-stream.ts', 'MAX_SESSIONS'))],
  ['the URL of a request', `${formatted(constant('connection/multiplexed-stream.ts', 'MAX_URL_LENGTH'))} characters`],
  ['frames held for a missing one', formatted(constant('connection/followed-session.ts', 'MAX_HELD_FRAMES'))],
  ['a response to a request', formatted(constant('connection/api.ts', 'TIMEOUT_MS'))],
  ['a `Retry-After` of a server', formatted(constant('connection/api.ts', 'MAX_RETRY_AFTER_MS'))],
  ['a request that fails', `${constant('chat/session-api.ts', 'ATTEMPTS')} attempts`],
  ['a session that does not exist yet', `${formatted(BACKOFF.firstMs)} to ${formatted(BACKOFF.longestMs)}`],
  ['a claim of a client tool', formatted(constant('chat/tool-calls.ts', 'CLAIM_MS'))],
  ['retries of an interrupted reply', `${constant('bridge/reply-reader.ts', 'ATTEMPTS')} times`],
  ['resuming a reply, and a stop', formatted(constant('bridge/reply-reader.ts', 'TIMEOUT_MS'))],
  ['queued messages', formatted(constant('bridge/adapter-chat.ts', 'MAX_QUEUED'))],
  ['chunks held for a missing one', formatted(constant('bridge/chunk-order.ts', 'MAX_AHEAD'))],
  [
    'chunks held until the first sequence is known',
    `${constant('bridge/chunk-order.ts', 'MAX_BEFORE_FIRST')} | or ${constant('bridge/reply-reader.ts', 'HOLD_MS')} ms`,
  ],
  [
    'retries of an interrupted reply of a foreign server',
    `${constant('../../dialects/src/http/resumable-stream.ts', 'ATTEMPTS')} times`,
  ],
  ['other requests to a foreign server', formatted(constant(`${SERVER}foreign-session.ts`, 'TIMEOUT_MS'))],
  ['queued messages to a foreign server', formatted(constant(`${SERVER}foreign-session.ts`, 'MAX_QUEUED'))],
  ['events remembered for deduplication', formatted(constant('bridge/chunk-order.ts', 'REMEMBERED_EVENTS'))],
  [
    'one event or line of `fetchServerSentEvents`, `fetchNdjson`',
    `${constant('../../dialects/src/http/event-reader.ts', 'MAX_EVENT_LENGTH') / 2 ** 20} Mi characters`,
  ],
])('the table of defaults has the value of: %s', (name, value) => {
  expect(page).toContain(`| ${name} | ${value} |`)
})

test('the reader of constants returns 0 for a missing one', () => {
  expect(constant('bridge/chunk-order.ts', 'NOTHING')).toBe(0)
})
