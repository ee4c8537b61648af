// Law 2 over a connection: for any cursor, any moment of joining and any reader speed.

import { decodeCursor } from '@millrace/protocol'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { settled } from '../../../../scripts/clock.ts'
import { multiplied } from '../../../../scripts/faults/campaign.ts'
import { type RandomAction, RandomSession, randomActions } from './random-session.fixture.ts'
import { SlowClient } from './slow-client.fixture.ts'
import { ID, NO_RESOURCES, StreamServer, shownOf, viewOf } from './stream-server.fixture.ts'

type Step =
  | RandomAction
  | { readonly kind: 'join'; readonly n: number; readonly merge: boolean; readonly isBare: boolean }
  | { readonly kind: 'stall' | 'take' | 'drop' | 'settle'; readonly n: number }

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    { weight: 8, arbitrary: randomActions },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: fc.constant('join' as const),
        n: fc.nat(11),
        merge: fc.boolean(),
        isBare: fc.boolean(),
      }),
    },
    {
      weight: 4,
      arbitrary: fc.record({ kind: fc.constantFrom('stall', 'take', 'drop', 'settle', 'settle'), n: fc.nat(11) }),
    },
  ),
  { minLength: 10, maxLength: 70, size: 'max' },
)

/** A follower with any number of connections. */
class Person {
  readonly testServer: StreamServer
  readonly from: number
  readonly merge: boolean
  readonly clients: SlowClient[] = []
  hasStalled = false

  constructor(testServer: StreamServer, from: number, merge: boolean) {
    this.testServer = testServer
    this.from = from
    this.merge = merge
  }

  join(after: string): void {
    const format = this.clients.length % 2 ? 'ndjson' : 'sse'
    this.clients.push(this.testServer.follow({ after, merge: this.merge }, new SlowClient(format), { format }))
  }

  get client(): SlowClient {
    return this.clients.at(-1) as SlowClient
  }

  get frames() {
    return this.clients.flatMap(({ frames }) => frames)
  }

  /** Drops the connection and reconnects with the last cursor. */
  drop(): void {
    const { cursor } = this.client
    this.client.disconnect()
    this.join(cursor)
  }
}

/** Delays each call of the store by a random number of event loop turns. */
function jitter({ instrumented: tap }: StreamServer, seed: number): void {
  let state = seed | 1
  tap.delay = async () => {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff
    for (let i = (state >> 8) % 3; i > 0; i--) await (state % 4 === 0 ? settled() : undefined)
  }
}

async function play(testServer: StreamServer, seed: number, script: readonly Step[]): Promise<Person[]> {
  await testServer.manager.createStream(ID)
  jitter(testServer, seed)
  const session = new RandomSession(testServer.manager)
  const people: Person[] = []
  const one = (n: number) => people[n % Math.max(1, people.length)]
  for (const step of script) {
    switch (step.kind) {
      case 'join': {
        const { head = 0, incarnation = '', mark = '' } = (await testServer.manager.getInfo(ID)) ?? {}
        // Either the head with its proof, or any bare sequence.
        const from = step.isBare ? Math.floor((step.n / 11) * head) : head
        const person = new Person(testServer, from, step.merge)
        person.join(step.isBare ? `${from}` : `${from}.${incarnation}.${mark}`)
        people.push(person)
        break
      }
      case 'stall': {
        const person = one(step.n)
        if (person) person.client.isStalled = person.hasStalled = true
        break
      }
      case 'take':
        one(step.n)?.client.receiveAll()
        break
      case 'drop': {
        const person = one(step.n)
        // A client without a cursor has nothing to resume from.
        if (person?.client.frames.length) person.drop()
        break
      }
      case 'settle':
        await settled()
        break
      default:
        await session.perform(step)
    }
  }
  await session.releaseLog()
  for (const { client } of people) client.receiveAll()
  testServer.instrumented.delay = undefined
  for (let i = 0; i < 20; i++) await settled()
  return people
}

describe('law 2', () => {
  test('delivers every entry once to clients that join, stall, drop and reconnect, and the fold equals the log', async () => {
    let stalls = 0
    let live = 0
    let cuts = 0
    await fc.assert(
      fc.asyncProperty(fc.integer(), steps, async (seed, script) => {
        const testServer = new StreamServer({ settings: { maxBufferedBytes: 512 }, manager: { coalesceMs: 0 } })
        const people = await play(testServer, seed, script)
        const { view, cursor } = await testServer.manager.view(ID)
        const shown = await testServer.publicEntries()
        const isShown = new Set(shown.map(({ sequence }) => sequence))
        cuts += shown.filter(({ chunk }) => chunk.type === 'rewind' || chunk.type === 'step-discarded').length
        for (const { client, clients, frames, from, merge, hasStalled } of people) {
          if (hasStalled) stalls++
          expect(client.isClosed).toBe(false)
          // It is at the head, with a proven cursor.
          expect(decodeCursor(client.cursor)).toEqual(cursor)
          const sequences = clients.flatMap(client => client.sequences)
          expect(sequences.every((sequence, i) => isShown.has(sequence) && sequence > (sequences[i - 1] ?? from))).toBe(
            true,
          )
          expect(JSON.stringify(frames)).not.toContain('secret')
          for (const { types } of clients) {
            expect(types.filter(type => type === 'open')).toHaveLength(types.length > 0 ? 1 : 0)
            expect(types.filter(type => type === 'caught-up').length).toBeLessThanOrEqual(1)
          }
          expect(client.of('caught-up')).toHaveLength(1)
          // Live entries are complete and as written.
          const [{ sequence: since } = { sequence: Number.POSITIVE_INFINITY }] = client.of('caught-up')
          if (clients.length === 1 && (!merge || !hasStalled)) {
            live++
            const later = shown.filter(({ sequence }) => sequence > since).map(({ sequence }) => sequence)
            expect(sequences.filter(sequence => sequence > since)).toEqual(later)
          }
          const known = await viewOf(testServer.manager, { frames }, from)
          expect(shownOf(known)).toEqual(shownOf(view))
          const status = client.of('status').at(-1)?.status
          expect(status).toBe(view.runs.at(-1)?.status === 'paused' ? 'paused' : 'active')
        }
        for (const { client } of people) client.disconnect()
        await settled()
        expect(testServer.resources).toEqual(NO_RESOURCES)
      }),
      { numRuns: multiplied(50) },
    )
    // The run is only meaningful if these happened.
    expect(stalls).toBeGreaterThan(20)
    expect(live).toBeGreaterThan(50)
    expect(cuts).toBeGreaterThan(50)
  })
})
