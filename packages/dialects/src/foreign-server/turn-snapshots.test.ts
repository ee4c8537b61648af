import type { Message, StructuredObject } from '@millrace/protocol'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { multiplied } from '../../../../scripts/faults/campaign.ts'
import { type SessionContent, TurnSnapshots } from './turn-snapshots.ts'

const runs = multiplied(200)

/** A turn: adds messages, writes to objects, sets the state; or rewinds to an earlier turn first. */
const turn = fc.record({
  back: fc.option(fc.nat(), { freq: 3 }),
  messages: fc.nat(3),
  objects: fc.array(fc.nat(4), { maxLength: 3 }),
  state: fc.option(fc.nat()),
})

test('restores the content before any turn, after any number of rewinds', () => {
  const check = (turns: readonly (typeof turn extends fc.Arbitrary<infer T> ? T : never)[]) => {
    const snapshots = new TurnSnapshots()
    // The expected content, as whole copies.
    const whole: SessionContent[] = []
    let now: SessionContent = { messages: [], structured: [] }
    turns.forEach(({ back, messages, objects, state }, nth) => {
      if (back !== null && whole.length > 0) {
        const at = back % whole.length
        now = snapshots.rewind(at, now)
        expect(now).toEqual(whole[at])
        whole.length = at
      }
      snapshots.begin(now)
      whole.push(now)
      const structured = [...now.structured]
      for (const at of objects) {
        const i = Math.min(at, structured.length)
        structured[i] = { streamId: `${i}`, at: i, value: nth } as unknown as StructuredObject
      }
      const added = Array.from({ length: messages }, (_, i) => ({ id: `${nth}-${i}` }) as Message)
      now = { ...now, messages: [...now.messages, ...added], structured, ...(state !== null && { state }) }
    })
  }
  fc.assert(fc.property(fc.array(turn, { maxLength: 12 }), check), { numRuns: runs })
})
