import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { BACKOFF } from './connection/api.ts'
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
  ['`backoff.first` of a client', formatted(BACKOFF.first)],
  ['`backoff.longest` of a client', formatted(BACKOFF.longest)],
  ['`streamFlushInterval`', formatted(FLUSH_MS)],
  [
    'silence, before the server has said how long it may last',
    formatted(constant('connection/multiplexed-stream.ts', 'SILENCE_MS')),
  ],
  ['sessions on one request', formatted(constant('connection/multiplexed-stream.ts', 'MAX_SESSIONS'))],
  [
    'the address of a request',
    `${formatted(constant('connection/multiplexed-stream.ts', 'MAX_URL_LENGTH'))} characters`,
  ],
  ['frames that wait for one before them', formatted(constant('connection/followed-session.ts', 'MAX_HELD_FRAMES'))],
  ['a reply to a request', formatted(constant('connection/api.ts', 'TIMEOUT_MS'))],
  ['what a server may ask for by `Retry-After`', formatted(constant('connection/api.ts', 'MAX_RETRY_AFTER_MS'))],
  ['a request that does not get there', `${constant('chat/session-api.ts', 'ATTEMPTS')} attempts`],
  ['a session in which nobody has spoken', `${formatted(BACKOFF.first)} to ${formatted(BACKOFF.longest)}`],
  ["a claim of a client's tool", formatted(constant('chat/tool-calls.ts', 'CLAIM_MS'))],
  ['a reply that broke off is asked for again', `${constant('bridge/reply-reader.ts', 'ATTEMPTS')} times`],
  ['the rest of a reply, and a stop', formatted(constant('bridge/reply-reader.ts', 'TIMEOUT_MS'))],
  ['messages that wait for their turn', formatted(constant('bridge/adapter-chat.ts', 'MAX_QUEUED'))],
  ['chunks ahead of one that is missing', formatted(constant('bridge/chunk-order.ts', 'MAX_AHEAD'))],
  [
    'chunks that are held until it is known where a stream begins',
    `${constant('bridge/chunk-order.ts', 'MAX_BEFORE_FIRST')} | or ${constant('bridge/reply-reader.ts', 'HOLD_MS')} ms`,
  ],
  [
    'a reply of a peer that broke off is asked for again',
    `${constant('../../dialects/src/http/resumable-stream.ts', 'ATTEMPTS')} times`,
  ],
  [
    'what a peer is asked beside that, a stop or what was said',
    formatted(constant(`${SERVER}foreign-session.ts`, 'TIMEOUT_MS')),
  ],
  ['messages that wait for their turn with a peer', formatted(constant(`${SERVER}foreign-session.ts`, 'MAX_QUEUED'))],
  ['events that are known again', formatted(constant('bridge/chunk-order.ts', 'REMEMBERED_EVENTS'))],
  [
    'one event or line of `fetchServerSentEvents`, `fetchNdjson`',
    `${constant('../../dialects/src/http/event-reader.ts', 'MAX_EVENT_LENGTH') / 2 ** 20} Mi characters`,
  ],
])('the table of defaults has the value of: %s', (name, value) => {
  expect(page).toContain(`| ${name} | ${value} |`)
})

test('returns 0 for a constant that does not exist', () => {
  expect(constant('bridge/chunk-order.ts', 'NOTHING')).toBe(0)
})
