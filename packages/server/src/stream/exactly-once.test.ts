// Law 2 over a connection: for any cursor, any moment of joining and any reader speed.

import { decodeCursor } from '@millrace/protocol'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { settled } from '../../../../scripts/clock.ts'
import { multiplied } from '../../../../scripts/faults/campaign.ts'
import { type Act, acts, Story } from './random-session.fixture.ts'
import { Client } from './slow-client.fixture.ts'
import { ID, NOTHING, StreamServer, shownOf, viewOf } from './stream-server.fixture.ts'

type Step =
  | Act
  | { readonly kind: 'join'; readonly n: number; readonly merge: boolean; readonly isBare: boolean }
  | { readonly kind: 'stall' | 'take' | 'drop' | 'settle'; readonly n: number }

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    { weight: 8, arbitrary: acts },
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
  readonly stage: StreamServer
  readonly from: number
  readonly merge: boolean
  readonly clients: Client[] = []
  hasStalled = false

  constructor(stage: StreamServer, from: number, merge: boolean) {
    this.stage = stage
    this.from = from
    this.merge = merge
  }

  join(after: string): void {
    const format = this.clients.length % 2 ? 'ndjson' : 'sse'
    this.clients.push(this.stage.follow({ after, merge: this.merge }, new Client(format), { format }))
  }

  get client(): Client {
    return this.clients.at(-1) as Client
  }

  get frames() {
    return this.clients.flatMap(({ frames }) => frames)
  }

  /** Drops the connection and reconnects with the last cursor. */
  drop(): void {
    const { cursor } = this.client
    this.client.leave()
    this.join(cursor)
  }
}

/** Delays each call of the store by a random number of event loop turns. */
function jitter({ tap }: StreamServer, seed: number): void {
  let state = seed | 1
  tap.delay = async () => {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff
    for (let i = (state >> 8) % 3; i > 0; i--) await (state % 4 === 0 ? settled() : undefined)
  }
}

async function play(stage: StreamServer, seed: number, script: readonly Step[]): Promise<Person[]> {
  await stage.manager.createStream(ID)
  jitter(stage, seed)
  const story = new Story(stage.manager)
  const people: Person[] = []
  const one = (n: number) => people[n % Math.max(1, people.length)]
  for (const step of script) {
    switch (step.kind) {
      case 'join': {
        const { head = 0, incarnation = '', mark = '' } = (await stage.manager.getInfo(ID)) ?? {}
        // Either the head with its proof, or any bare sequence.
        const from = step.isBare ? Math.floor((step.n / 11) * head) : head
        const person = new Person(stage, from, step.merge)
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
        one(step.n)?.client.go()
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
        await story.act(step)
    }
  }
  await story.rest()
  for (const { client } of people) client.go()
  stage.tap.delay = undefined
  for (let i = 0; i < 20; i++) await settled()
  return people
}

describe('law 2', () => {
  test('every entry once, and the fold of the log, for clients that join, stall, drop and reconnect', async () => {
    let stalls = 0
    let live = 0
    let cuts = 0
    await fc.assert(
      fc.asyncProperty(fc.integer(), steps, async (seed, script) => {
        const stage = new StreamServer({ settings: { maxBuffered: 512 }, manager: { coalesceMs: 0 } })
        const people = await play(stage, seed, script)
        const { view, cursor } = await stage.manager.view(ID)
        const shown = await stage.shown()
        const isShown = new Set(shown.map(({ sequence }) => sequence))
        cuts += shown.filter(({ chunk }) => chunk.type === 'rewind' || chunk.type === 'step-discarded').length
        for (const { client, clients, frames, from, merge, hasStalled } of people) {
          if (hasStalled) stalls++
          expect(client.isClosed).toBe(false)
          // It is at the head, with a proven cursor.
          expect(decodeCursor(client.cursor)).toEqual(cursor)
          const sequences = clients.flatMap(one => one.sequences)
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
          const known = await viewOf(stage.manager, { frames }, from)
          expect(shownOf(known)).toEqual(shownOf(view))
          const status = client.of('status').at(-1)?.status
          expect(status).toBe(view.runs.at(-1)?.status === 'paused' ? 'paused' : 'active')
        }
        for (const { client } of people) client.leave()
        await settled()
        expect(stage.held).toEqual(NOTHING)
      }),
      { numRuns: multiplied(50) },
    )
    // The run is only meaningful if these happened.
    expect(stalls).toBeGreaterThan(20)
    expect(live).toBeGreaterThan(50)
    expect(cuts).toBeGreaterThan(50)
  })
})
