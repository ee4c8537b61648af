import type { Chunk, Entry } from '@millrace/protocol'
import { describe, expect, test } from 'vitest'
import { ReaderChecks } from './reader-checks.fixture.ts'

const origin = { runId: 'r', lane: 'main', agentId: 'r', agentType: 'teller', step: 1 }

function check(...chunks: Chunk[]): void {
  const story = new ReaderChecks({ whole: () => 'one two' })
  const entries: Entry[] = [{ type: 'run-started', program: 'agent:teller@1' } as Chunk, ...chunks].map(
    (chunk, index) => ({ sequence: index + 1, timestamp: index, origin, chunk }),
  )
  for (const entry of entries) story.onEntry(entry)
}

const one: Chunk = { type: 'text-delta', id: '1', delta: 'one' }
const two: Chunk = { type: 'text-delta', id: '1', delta: ' two' }
const discarded: Chunk = { type: 'step-discarded', reason: 'superseded' }
const finished: Chunk = { type: 'run-finished', status: 'completed' }

describe('what an attached reader sees', () => {
  test('accepts text that grows, is discarded, is repeated and ends', () => {
    expect(() => check(one, discarded, one, two, { type: 'text-end', id: '1' }, finished)).not.toThrow()
  })

  const wrong: [string, RegExp, Chunk[]][] = [
    ['words that come twice', /no beginning of/, [one, one]],
    ['words that come again though nobody took them back', /no beginning of/, [one, two, one]],
    ['words after their end', /dropped/, [one, { type: 'text-end', id: '1' }, two]],
    ['a word after the end of the run', /has ended/, [one, finished, two]],
    ['an end after the end', /has ended/, [finished, finished]],
    ['a start after the start', /started before/, [{ type: 'run-started', program: 'agent:teller@1' }]],
    ['a rewind', /rewind/, [one, { type: 'rewind', toSequence: 1, reason: 'retry' }]],
    [
      'a call that goes back',
      /dropped|went from/,
      [
        { type: 'tool-input-available', toolCallId: 'c', toolName: 't', input: {} },
        { type: 'tool-output-available', toolCallId: 'c', output: 1 },
        { type: 'tool-output-available', toolCallId: 'c', output: 2 },
      ],
    ],
  ]
  test.each(wrong)('not: %s', (_, why, chunks) => {
    expect(() => check(...chunks)).toThrow(why)
  })
})
