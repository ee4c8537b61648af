// Replays through the routes of the dialects: merged, and resumable after every event id.

import { type Decoder, type Encoder, EventReader, type WireEvent } from '@millrace/dialects'
import { helixDialect } from '@millrace/dialects/helix'
import { kortyxDialect } from '@millrace/dialects/kortyx'
import { tanstackAgUiDialect, tanstackDialect } from '@millrace/dialects/tanstack'
import { memoryStore } from '@millrace/log'
import { agent, scriptedModel } from '@millrace/runtime'
import fc from 'fast-check'
import { describe, expect, onTestFinished, test } from 'vitest'
import { multiplied } from '../../../../scripts/faults/campaign.ts'
import { millrace } from '../app/app.ts'
import type { TestRequest } from '../routing/two-user-server.fixture.ts'
import { eventsOf, openDialectServer, type PlainEvent } from './dialect-server.fixture.ts'
import { RESUME_REQUESTS } from './requests.fixture.ts'
import { acts, OWNER, RUN, SESSION, WrittenRun } from './written-run.fixture.ts'

const helixRequest = (after = '0'): TestRequest => ({
  path: `/api/helix/echo/sse?sessionId=${SESSION}&fromSequence=${after}`,
  headers: { accept: 'text/event-stream' },
})

/** Requests of a run from its start or from an event id, by dialect. */
const REQUESTS: Readonly<Record<string, (eventId?: string) => TestRequest>> = {
  ...Object.fromEntries(
    Object.entries(RESUME_REQUESTS).map(([name, request]) => [
      name,
      (eventId?: string) => request(SESSION, RUN, eventId),
    ]),
  ),
  helix: helixRequest,
}

/** Opens an app and begins a run. */
async function openRun(agentType?: string) {
  const app = millrace({
    store: memoryStore(),
    agents: [agent({ name: 'echo', model: scriptedModel([{ text: '' }]) })],
    log: { coalesceMs: 0 },
    authorize: () => OWNER,
  })
  onTestFinished(() => app.close())
  const { manager } = await app.runtime()
  /** Reads a stream to its end. */
  const read = async ({ path, headers }: TestRequest): Promise<WireEvent[]> => {
    const reply = await app.fetch(new Request(`http://localhost${path}`, { ...(headers && { headers }) }))
    expect(reply.status).toBe(200)
    const events = new EventReader('sse')
    return [...events.push(await reply.text()), ...events.end()]
  }
  /** Reads a stream until it has a text, and leaves it. */
  const readUntil = async ({ path, headers }: TestRequest, text: string): Promise<void> => {
    const reply = await app.fetch(new Request(`http://localhost${path}`, { ...(headers && { headers }) }))
    let received = ''
    for await (const bytes of reply.body as ReadableStream<Uint8Array>) {
      received += Buffer.from(bytes).toString()
      if (received.includes(text)) return
    }
  }
  return { written: await WrittenRun.begin(manager, agentType), read, readUntil }
}

const TOKENS = 100_000
const MAX_EVENTS = 200

describe(`a replay of ${TOKENS} tokens`, () => {
  test(`has at most ${MAX_EVENTS} events on the routes that clients resume by`, async () => {
    const { written, read } = await openRun()
    await written.tokens(TOKENS)
    await written.end()
    for (const [name, request] of Object.entries(REQUESTS)) {
      const events = await read(request())
      const text = events.map(({ data }) => data).join('')
      expect([name, text.match(/(ab )+/g)?.join('').length]).toEqual([name, 3 * TOKENS])
      expect([name, events.length > MAX_EVENTS]).toEqual([name, false])
    }
  })

  test('has few events also if the entries are large in the store, and so is read in many pages', async () => {
    const { written, read } = await openRun('a'.repeat(500))
    await written.write({ kind: 'words', n: 10_000 })
    await written.end()
    for (const [name, request] of Object.entries(REQUESTS))
      expect([name, (await read(request())).length > 20]).toEqual([name, false])
  })

  test('is complete while the run continues, also if its last pages have no entries for clients', async () => {
    const { written, readUntil } = await openRun('a'.repeat(500))
    await written.write({ kind: 'words', n: 1000 })
    await written.write({ kind: 'secret', n: 1000 })
    for (const request of Object.values(REQUESTS)) await readUntil(request(), 'w999. ')
    await written.end()
  })

  test(`has at most ${MAX_EVENTS} events in dialects that cannot resume`, async () => {
    const at = await openDialectServer({ log: { coalesceMs: 0 } })
    const written = await WrittenRun.begin(at.services.manager)
    await written.tokens(TOKENS)
    await written.end()
    for (const { name, encoder } of [
      { name: 'kortyx', encoder: kortyxDialect.encoder() },
      { name: 'tanstack', encoder: tanstackDialect.encoder() },
    ]) {
      const client = await at.streamRun(at.run(SESSION, RUN), { encoder: encoder as unknown as Encoder<PlainEvent> })
      await client.closed
      const events = eventsOf(client)
      expect([name, events.map(({ delta = '' }) => delta).join('').length]).toEqual([name, 3 * TOKENS])
      expect([name, events.length > MAX_EVENTS]).toEqual([name, false])
    }
  })
})

/** The dialects whose events have positions. */
const POSITIONED: readonly [name: string, decoder: () => Decoder<never>][] = [
  ['tanstack since 0.10', () => tanstackAgUiDialect.decoder() as Decoder<never>],
  ['helix', () => helixDialect.decoder() as Decoder<never>],
]

/** The text of each part, and all other chunks. */
function contentOf(decoder: Decoder<never>, events: readonly WireEvent[]): unknown {
  const texts = new Map<string, string>()
  const items: unknown[] = []
  const others: unknown[] = []
  for (const { data } of events) {
    for (const { chunk, origin } of decoder.decode(JSON.parse(data) as never)) {
      if (chunk.type === 'text-delta') {
        const part = `${origin?.guest === undefined ? origin?.agentId : ''} ${chunk.id}`
        texts.set(part, `${texts.get(part) ?? ''}${chunk.delta}`)
      } else if (chunk.type === 'structured-data' && chunk.kind === 'append') items.push(...chunk.items)
      // Readers from the start of a session do not get transient data.
      else if (!('transient' in chunk)) others.push(chunk)
    }
  }
  return { texts: [...texts].sort(), items, others, status: decoder.status }
}

describe.each(POSITIONED)('law 2: a merged replay of %s', (name, decoder) => {
  test('resumes after each of its ids, without gaps or duplicates', async () => {
    const request = REQUESTS[name] as (eventId?: string) => TestRequest
    const property = fc.asyncProperty(acts, async script => {
      const { written, read } = await openRun()
      for (const act of script) await written.write(act)
      await written.end()
      const events = await read(request())
      const content = contentOf(decoder(), events)
      const ids = events.map(({ id }) => id)
      for (const [i, id] of ids.entries()) {
        // Events of one entry share the id of the one before, until the last of them has its own.
        if (id === undefined || id === ids[i + 1] || i === events.length - 1) continue
        expect(contentOf(decoder(), [...events.slice(0, i + 1), ...(await read(request(id)))])).toEqual(content)
      }
    })
    await fc.assert(property, { numRuns: multiplied(15) })
  })
})
