import type { Chunk } from '@millrace/protocol'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { multiplied } from '../../../../scripts/faults/campaign.ts'
import { ReceivedChunks, ReplayFilter } from './replay-filter.ts'

const runs = multiplied(200)

/** A reply: texts, with other chunks between them. */
const reply = fc.array(
  fc.oneof(
    fc.record({ id: fc.constantFrom('a', 'b'), text: fc.string({ maxLength: 6 }) }),
    fc.constantFrom<Chunk>({ type: 'step-start' }, { type: 'data-x', data: 1 }),
  ),
  { maxLength: 6 },
)

type Reply = typeof reply extends fc.Arbitrary<infer T> ? T : never

/** A reply as chunks: each text split at the position that `cuts` has for it. */
const piecesOf = (parts: Reply, cuts: readonly number[]): Chunk[] =>
  parts.flatMap((part, i) => {
    if ('type' in part) return [part]
    const { id, text } = part
    const at = (cuts[i % cuts.length] ?? 0) % (text.length + 1)
    return [text.slice(0, at), text.slice(at)].map((delta): Chunk => ({ type: 'text-delta', id, delta }))
  })

/** The content of a reply, however it is split. */
const contentOf = (chunks: readonly Chunk[]): string[] => {
  const received = new ReceivedChunks()
  received.add(chunks.map(chunk => ({ chunk })))
  return received.all.filter(({ text }) => text !== '').map(({ head, text }) => `${head} ${text}`)
}

test('removes what a replay repeats, wherever the reply was cut and however it is split', () => {
  fc.assert(
    fc.property(reply, fc.array(fc.nat()), fc.array(fc.nat()), fc.nat(), (parts, cuts, others, at) => {
      const first = piecesOf(parts, cuts)
      const before = first.slice(0, at % (first.length + 1))
      const received = new ReceivedChunks()
      received.add(before.map(chunk => ({ chunk })))
      const newChunks = new ReplayFilter(received).take(piecesOf(parts, others).map(chunk => ({ chunk })))
      expect(newChunks).toBeDefined()
      expect(contentOf([...before, ...(newChunks ?? []).map(({ chunk }) => chunk)])).toEqual(contentOf(first))
    }),
    { numRuns: runs },
  )
})

test('detects a replay that differs', () => {
  const received = new ReceivedChunks()
  received.add([{ chunk: { type: 'step-start' } }, { chunk: { type: 'text-delta', id: 'a', delta: 'one two' } }])
  const replay = (delta: string, id = 'a') => [
    { chunk: { type: 'step-start' } as Chunk },
    { chunk: { type: 'text-delta', id, delta } as Chunk },
  ]
  expect(new ReplayFilter(received).take(replay('one x'))).toBeUndefined()
  expect(new ReplayFilter(received).take(replay('one two', 'b'))).toBeUndefined()
  expect(new ReplayFilter(received).take(replay('one two').slice(1))).toBeUndefined()
  expect(new ReplayFilter(received).take([...replay('one'), { chunk: { type: 'step-start' } }])).toBeUndefined()
  expect(new ReplayFilter(received).take(replay('one two three'))).toEqual([
    { chunk: { type: 'text-delta', id: 'a', delta: ' three' } },
  ])
})
