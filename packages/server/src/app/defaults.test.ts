import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { MAX_CONTEXT_BYTES } from '../auth/context.ts'
import { DEFAULT_LIMITS } from '../auth/limits.ts'
import { MAX_BODY_DEPTH, MAX_BODY_VALUES } from '../http/body.ts'
import { DEFAULT_PORT, LINGER_MS } from '../http/listen.ts'
import { CLAIM_MS } from '../routes/answers.ts'
import { STORE_TIMEOUT_MS } from '../routes/store-timeout.ts'
import { MAX_NAME_LENGTH } from '../routing/names.ts'
import { MAX_FILENAME_LENGTH } from '../runs/uploads.ts'
import { PROBE_MS } from '../sessions/store-probe.ts'
import { MIN_COUNTED_BYTES, USAGE_MS } from '../sessions/upload-quota.ts'
import { RECHECK_TIMEOUT_MS } from '../stream/connections.ts'
import { MAX_LISTED, MAX_WATCHED } from '../stream/session-lists.ts'
import { DEFAULT_STREAM } from '../stream/stream-settings.ts'
import { DEFAULT_STORE } from './options.ts'

const pageOf = (path: string) => readFileSync(join(import.meta.dirname, '../../../../docs', path), 'utf8')
const defaults = pageOf('reference/defaults.md')
const security = pageOf('guide/security.md')

/** A number as the guide writes it, with larger units for bytes. */
function formatDefault(name: string, value: number): string {
  if (!/Bytes$/.test(name)) return value.toLocaleString('en')
  return value % 2 ** 20 === 0 ? `${value / 2 ** 20} MiB` : `${value / 1024} KiB`
}

describe('the table of defaults states', () => {
  test.each(Object.entries(DEFAULT_LIMITS))('limits.%s, and so does the guide to security', (name, value) => {
    expect(defaults).toContain(`| \`limits.${name}\` | ${formatDefault(name, value)} |`)
    expect(security).toContain(`| \`${name}\` | ${formatDefault(name, value)} |`)
  })

  test.each(Object.entries(DEFAULT_STREAM))('stream.%s', (name, value) => {
    expect(defaults).toContain(`| \`stream.${name}\` | ${formatDefault(name, value)} |`)
  })

  test.each([
    ['`store`', `\`${DEFAULT_STORE}\``],
    ['`listen({ port })`', `${DEFAULT_PORT}`],
    ["a client's claim of a tool without a duration", CLAIM_MS.toLocaleString('en')],
    ['a body of JSON', `${MAX_BODY_DEPTH} levels`],
    ['all of a body of JSON', `${MAX_BODY_VALUES.toLocaleString('en')} values`],
    ['a name in a path, a query or a body', `${MAX_NAME_LENGTH} characters`],
    ['the result of `context`', formatDefault('Bytes', MAX_CONTEXT_BYTES)],
    ['the name of an upload', `${MAX_FILENAME_LENGTH} characters`],
    ['a followed list of sessions', `${MAX_LISTED} sessions`],
    ['removals that a followed list reports', `${MAX_WATCHED.toLocaleString('en')} sessions`],
    ['clients connected while a server closes', LINGER_MS.toLocaleString('en')],
    ['a repeated check of an open stream by `authorize`', RECHECK_TIMEOUT_MS.toLocaleString('en')],
    ['a file in these two limits', formatDefault('Bytes', MIN_COUNTED_BYTES)],
    ['the measured uploads of an owner', USAGE_MS.toLocaleString('en')],
    ['a test write by `GET /api/health`', PROBE_MS.toLocaleString('en')],
    ['a check by `GET /api/health`', STORE_TIMEOUT_MS.toLocaleString('en')],
  ])('%s', (name, value) => {
    expect(defaults).toContain(`| ${name} | ${value} |`)
  })
})

test('the guide to the server names every route', async () => {
  const guide = pageOf('guide/server.md')
  const { routes } = await import('./routes.ts')
  const named = guide.slice(guide.indexOf('## Routes'), guide.indexOf('## Mounting'))
  for (const { path } of routes) {
    const last = path.replace('/sessions/:sessionId', '/sessions/:id')
    const isNamed =
      named.includes(last) ||
      named.includes(`\`/${last.split('/').at(-1)}\``) ||
      named.includes(`…${last.replace('/sessions/:id', '')}`)
    expect([path, isNamed], 'name the route in docs/guide/server.md, under Routes').toEqual([path, true])
  }
})
