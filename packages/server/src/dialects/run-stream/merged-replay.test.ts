// Law 2 for replays whose deltas are merged: a client that resumes after any event misses nothing and gets nothing twice.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { multiplied } from '../../../../../scripts/faults/campaign.ts'
import { eventsOf, eventually, newClient, openDialectServer, type PlainEvent } from '../dialect-server.fixture.ts'
import { acts, RUN, SESSION, WrittenRun } from '../written-run.fixture.ts'
import { type EventPosition, eventPositionIn } from './event-position.ts'

/** Opens a server and begins a run. */
async function openRun() {
  const at = await openDialectServer({ log: { coalesceMs: 0 } })
  const written = await WrittenRun.begin(at.services.manager)
  const run = at.run(SESSION, RUN)
  /** Reads the run from a position to its end. */
  const read = async (after?: EventPosition): Promise<PlainEvent[]> => {
    const client = await at.streamRun(run, after ? { after } : {})
    expect(await client.closed).toBe('ended')
    return eventsOf(client).filter(({ type }) => type !== 'resumed')
  }
  return { at, written, run, read }
}

const positionOf = ({ place }: PlainEvent): EventPosition => eventPositionIn('place', String(place)) as EventPosition

/** What events show, however their deltas are merged: the text of each part, the items of each object, and all other events. */
function contentOf(events: readonly PlainEvent[]): unknown {
  const texts = new Map<unknown, string>()
  const items: unknown[] = []
  const others: unknown[] = []
  for (const { place, ...event } of events) {
    if (event['type'] === 'text-delta') texts.set(event['id'], `${texts.get(event['id']) ?? ''}${event['delta']}`)
    else if (event['type'] === 'structured-data') items.push(...(event['items'] as unknown[]))
    else others.push(event)
  }
  return { texts: [...texts].sort(), items, others }
}

describe('law 2: a merged replay', () => {
  test('resumes after each of its events, without gaps or duplicates', async () => {
    const property = fc.asyncProperty(acts, async script => {
      const { written, read } = await openRun()
      for (const act of script) await written.write(act)
      await written.end()
      const events = await read()
      const content = contentOf(events)
      for (let i = 0; i < events.length - 1; i++) {
        const rest = await read(positionOf(events[i] as PlainEvent))
        expect(contentOf([...events.slice(0, i + 1), ...rest])).toEqual(content)
      }
    })
    await fc.assert(property, { numRuns: multiplied(25) })
  })

  test('resumes again and again, also while the run is written', async () => {
    const cuts = fc.array(fc.nat(9), { minLength: 1, maxLength: 6 })
    const property = fc.asyncProperty(acts, cuts, async (script, kept) => {
      const { at, written, run, read } = await openRun()
      let received: PlainEvent[] = []
      for (const [i, act] of script.entries()) {
        await written.write(act)
        // Something to wait for: other acts may be invisible.
        await written.write({ kind: 'words', n: 1 })
        const last = received.at(-1)
        const client = newClient()
        await at.streamRun(run, { client, ...(last && { after: positionOf(last) }) })
        const fresh = () => eventsOf(client).filter(({ type }) => type !== 'resumed')
        await eventually(() => expect(fresh().length).toBeGreaterThan(0))
        client.disconnect()
        received = [...received, ...fresh().slice(0, kept[i % kept.length])]
      }
      await written.end()
      const last = received.at(-1)
      const rest = await read(last && positionOf(last))
      expect(contentOf([...received, ...rest])).toEqual(contentOf(await read()))
    })
    await fc.assert(property, { numRuns: multiplied(25) })
  })

  test('gives a live reader every token, after what it merges', async () => {
    const { at, written, run } = await openRun()
    await written.write({ kind: 'words', n: 6 })
    const client = newClient()
    await at.streamRun(run, { client })
    const deltas = () => eventsOf(client).filter(({ type }) => type === 'text-delta').length
    // Two events for each delta.
    await eventually(() => expect(deltas()).toBe(2))
    await written.write({ kind: 'words', n: 6 })
    await written.end()
    expect(await client.closed).toBe('ended')
    expect(deltas()).toBe(2 + 2 * 6)
  })
})

test('law 8: a position with an invented window is answered within the run', async () => {
  const { written, read } = await openRun()
  await written.write({ kind: 'both', n: 6 })
  await written.write({ kind: 'words', n: 3 })
  await written.end()
  const events = await read()
  for (const { place } of events.slice(0, -1)) {
    const [last = '', incarnation, epoch] = String(place).split('.')
    for (const window of ['0-1', '3-1', `0-${last}`, `9-${last}`, '0-999999']) {
      const rest = await read(eventPositionIn('place', `${last}.${incarnation}.${epoch}.${window}`))
      expect(rest.at(-1)).toMatchObject({ type: 'end' })
      expect(rest.length).toBeLessThanOrEqual(events.length + 2)
    }
  }
})
