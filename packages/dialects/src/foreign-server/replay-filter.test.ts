import type { Chunk } from '@millrace/protocol'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { multiplied } from '../../../../scripts/faults/campaign.ts'
import { ReceivedChunks, ReplayFilter } from './replay-filter.ts'

const runs = multiplied(200)

/** A reply: some texts, and other things between them. */
const reply = fc.array(
  fc.oneof(
    fc.record({ id: fc.constantFrom('a', 'b'), text: fc.string({ maxLength: 6 }) }),
    fc.constantFrom<Chunk>({ type: 'step-start' }, { type: 'data-x', data: 1 }),
  ),
  { maxLength: 6 },
)

type Reply = typeof reply extends fc.Arbitrary<infer T> ? T : never

/** A reply in pieces: each text cut where the numbers say. */
const piecesOf = (parts: Reply, cuts: readonly number[]): Chunk[] =>
  parts.flatMap((part, i) => {
    if ('type' in part) return [part]
    const { id, text } = part
    const at = (cuts[i % cuts.length] ?? 0) % (text.length + 1)
    return [text.slice(0, at), text.slice(at)].map((delta): Chunk => ({ type: 'text-delta', id, delta }))
  })

/** What a reply says, whatever its pieces. */
const wordsOf = (chunks: readonly Chunk[]): string[] => {
  const said = new ReceivedChunks()
  said.add(chunks.map(chunk => ({ chunk })))
  return said.all.filter(({ text }) => text !== '').map(({ head, text }) => `${head} ${text}`)
}

test('what was cut off anywhere and is told again in other pieces is told once', () => {
  fc.assert(
    fc.property(reply, fc.array(fc.nat()), fc.array(fc.nat()), fc.nat(), (parts, cuts, others, at) => {
      const first = piecesOf(parts, cuts)
      const before = first.slice(0, at % (first.length + 1))
      const said = new ReceivedChunks()
      said.add(before.map(chunk => ({ chunk })))
      const news = new ReplayFilter(said).take(piecesOf(parts, others).map(chunk => ({ chunk })))
      expect(news).toBeDefined()
      expect(wordsOf([...before, ...(news ?? []).map(({ chunk }) => chunk)])).toEqual(wordsOf(first))
    }),
    { numRuns: runs },
  )
})

test('what is told otherwise is known to be', () => {
  const said = new ReceivedChunks()
  said.add([{ chunk: { type: 'step-start' } }, { chunk: { type: 'text-delta', id: 'a', delta: 'one two' } }])
  const told = (delta: string, id = 'a') => [
    { chunk: { type: 'step-start' } as Chunk },
    { chunk: { type: 'text-delta', id, delta } as Chunk },
  ]
  expect(new ReplayFilter(said).take(told('one x'))).toBeUndefined()
  expect(new ReplayFilter(said).take(told('one two', 'b'))).toBeUndefined()
  expect(new ReplayFilter(said).take(told('one two').slice(1))).toBeUndefined()
  expect(new ReplayFilter(said).take([...told('one'), { chunk: { type: 'step-start' } }])).toBeUndefined()
  expect(new ReplayFilter(said).take(told('one two three'))).toEqual([
    { chunk: { type: 'text-delta', id: 'a', delta: ' three' } },
  ])
})
