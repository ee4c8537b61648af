import { describe, expect, test } from 'vitest'
import type { Chunk } from '../catalogue/chunk.ts'
import { ADA, CHILD, commit, MAIN, TOOL } from '../fold/entries.fixture.ts'
import { coalesce } from './coalesce.ts'
import type { Entry, Origin } from './entry.ts'

const log = (...items: [Chunk, Origin?, Partial<Entry>?][]): Entry[] =>
  items.map(([chunk, origin = MAIN, more], i) => ({ sequence: i + 1, timestamp: 10 + i, origin, chunk, ...more }))
const text = (delta: string, id = '1'): Chunk => ({ type: 'text-delta', id, delta })
const append = (path: string, ...items: number[]): Chunk => ({
  type: 'structured-data',
  streamId: 's',
  dataType: 'd',
  kind: 'append',
  path,
  items,
})
const summary = (entries: readonly Entry[]) =>
  coalesce(entries).map(({ sequence, chunk }) => {
    const { delta, items } = chunk as { delta?: string; items?: number[] }
    return `${sequence} ${delta ?? items?.join() ?? chunk.type}`
  })

describe('coalesce', () => {
  test('joins the deltas of one part; the merged entry keeps the position, sequence and timestamp of the first', () => {
    expect(coalesce(log([text('a')], [text('b')], [text('c')]))).toEqual(log([text('abc')]))
  })

  test('joins reasoning, tool input, structured text and appended items alike', () => {
    const input = (delta: string): Chunk => ({ type: 'tool-input-delta', toolCallId: 'c', delta })
    const structuredText = (delta: string): Chunk => ({
      type: 'structured-data',
      streamId: 's',
      dataType: 'd',
      kind: 'text-delta',
      path: 'p',
      delta,
    })
    expect(summary(log([input('a')], [input('b')]))).toEqual(['1 ab'])
    expect(summary(log([structuredText('a')], [structuredText('b')]))).toEqual(['1 ab'])
    expect(summary(log([append('l', 1)], [append('l', 2, 3)]))).toEqual(['1 1,2,3'])
  })

  test('merges within each of several interleaved lanes', () => {
    expect(summary(log([text('a')], [text('x'), CHILD], [text('b')], [text('y'), CHILD]))).toEqual(['1 ab', '2 xy'])
  })

  test.each([
    ['another chunk of their lane', log([text('a')], [text('-', '2')], [text('b')])],
    ['another write to that part', log([text('a')], [text('-'), TOOL], [text('b')])],
    ['a commit of any lane', log([text('a')], [commit, CHILD], [text('b')])],
    [
      'an end',
      log(
        [text('a')],
        [
          { type: 'run-finished', status: 'completed' },
          { ...MAIN, runId: 'r2' },
        ],
        [text('b')],
      ),
    ],
    ['a pause', log([text('a')], [{ type: 'run-paused', awaits: [] }, TOOL], [text('b')])],
    ['a run that goes on', log([text('a')], [{ type: 'run-resumed', mode: 'continue' }, TOOL], [text('b')])],
    [
      'a start',
      log(
        [text('a')],
        [
          { type: 'run-started', program: 'p' },
          { ...MAIN, runId: 'r2' },
        ],
        [text('b')],
      ),
    ],
    [
      'a rewind',
      log(
        [text('a')],
        [
          { type: 'rewind', toSequence: 0, reason: 'x' },
          { ...MAIN, runId: 'r2' },
        ],
        [text('b')],
      ),
    ],
    [
      'a sub-agent that begins',
      log([text('a')], [{ type: 'subagent-start', agentId: 's', agentType: 's', toolCallId: 'c' }, TOOL], [text('b')]),
    ],
    ['a takeover', log([text('a')], [{ type: 'executor-superseded' }, TOOL], [text('b')])],
  ])('never crosses %s', (_, entries) => {
    expect(summary(entries)).toHaveLength(3)
  })

  test('merges across an entry of a guest, unless it writes to that part', () => {
    const stop: Chunk = { type: 'stop-requested', runId: 'r1' }
    expect(summary(log([text('a')], [stop, ADA], [text('b')]))).toEqual(['1 ab', '2 stop-requested'])
    const input = (delta: string): Chunk => ({ type: 'tool-input-delta', toolCallId: 'c', delta })
    const claim: Chunk = { type: 'tool-claimed', toolCallId: 'c', until: 1 }
    expect(summary(log([input('a')], [claim, ADA], [input('b')]))).toHaveLength(3)
  })

  test('joins only deltas that are equal in all other fields', () => {
    expect(summary(log([text('a')], [text('b'), { ...MAIN, step: 2 }]))).toHaveLength(2)
    expect(summary(log([append('l', 1)], [append('m', 2)]))).toHaveLength(2)
    expect(summary(log([text('a')], [{ ...text('b'), providerMetadata: { k: 1 } } as Chunk]))).toHaveLength(2)
    expect(summary(log([text('a')], [text('b'), MAIN, { internal: true }]))).toHaveLength(2)
    expect(summary(log([text('a')], [text('b'), MAIN, { blobs: {} }]))).toHaveLength(2)
  })

  test('joins only the delta field of the type, with any other fields', () => {
    const more = (chunk: Chunk, extra: object) => ({ ...chunk, ...extra }) as Chunk
    const [items] = coalesce(log([more(append('l', 1), { delta: 'x' })], [more(append('l', 2), { delta: 'x' })]))
    expect(items?.chunk).toEqual(more(append('l', 1, 2), { delta: 'x' }))
    expect(summary(log([more(text('a'), { items: [1] })], [more(text('b'), { items: [2] })]))).toHaveLength(2)
  })

  test('does not change its input', () => {
    const entries = log([append('l', 1)], [append('l', 2)])
    const before = JSON.stringify(entries)
    coalesce(entries)
    expect(JSON.stringify(entries)).toBe(before)
  })
})
