import type { Chunk, Entry } from '@millrace/protocol'
import { describe, expect, test } from 'vitest'
import { ReaderChecks } from './reader-checks.fixture.ts'

const origin = { runId: 'r', lane: 'main', agentId: 'r', agentType: 'teller', step: 1 }

function check(...chunks: Chunk[]): void {
  const readerChecks = new ReaderChecks({ completeText: () => 'one two' })
  const entries: Entry[] = [{ type: 'run-started', program: 'agent:teller@1' } as Chunk, ...chunks].map(
    (chunk, index) => ({ sequence: index + 1, timestamp: index, origin, chunk }),
  )
  for (const entry of entries) readerChecks.onEntry(entry)
}

const one: Chunk = { type: 'text-delta', id: '1', delta: 'one' }
const two: Chunk = { type: 'text-delta', id: '1', delta: ' two' }
const discarded: Chunk = { type: 'step-discarded', reason: 'superseded' }
const finished: Chunk = { type: 'run-finished', status: 'completed' }

describe('reader checks', () => {
  test('accept text that grows, is discarded, is repeated and ends', () => {
    expect(() => check(one, discarded, one, two, { type: 'text-end', id: '1' }, finished)).not.toThrow()
  })

  const invalid: [string, RegExp, Chunk[]][] = [
    ['repeated text', /not a prefix of/, [one, one]],
    ['repeated text without a discard', /not a prefix of/, [one, two, one]],
    ['text after its end', /dropped/, [one, { type: 'text-end', id: '1' }, two]],
    ['text after the end of the run', /has ended/, [one, finished, two]],
    ['a second end of a run', /has ended/, [finished, finished]],
    ['a second start of a run', /started before/, [{ type: 'run-started', program: 'agent:teller@1' }]],
    ['a rewind', /rewind/, [one, { type: 'rewind', toSequence: 1, reason: 'retry' }]],
    [
      'a second outcome of a call',
      /dropped|went from/,
      [
        { type: 'tool-input-available', toolCallId: 'c', toolName: 't', input: {} },
        { type: 'tool-output-available', toolCallId: 'c', output: 1 },
        { type: 'tool-output-available', toolCallId: 'c', output: 2 },
      ],
    ],
  ]
  test.each(invalid)('reject %s', (_, problem, chunks) => {
    expect(() => check(...chunks)).toThrow(problem)
  })
})
