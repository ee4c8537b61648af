import { type Chunk, type Entry, foldLog, type WriterOrigin } from '@millrace/protocol'
import { expect, test } from 'vitest'
import { diffOf } from './diff.ts'
import { whyNothing } from './why.ts'

const origin: WriterOrigin = { runId: 'r', lane: 'main', agentId: 'r', agentType: 'teller', step: 1 }
const at = (sequence: number, chunk: Chunk): Entry => ({ sequence, timestamp: sequence, origin, chunk })
const told = [
  at(1, { type: 'run-started', program: 'agent:teller@1' }),
  at(2, { type: 'text-delta', id: 't', delta: 'Once' }),
  at(3, { type: 'text-end', id: 't' }),
  at(4, { type: 'checkpoint-created', checkpointId: 'r/1' }),
]

/** Why it changed nothing; that it did is held to, too. */
function why(entry: Entry, before: readonly Entry[] = told): string {
  const was = foldLog(before).view()
  expect(diffOf(was, foldLog([...before, entry]).view()).changes).toEqual([])
  return whyNothing(entry, was)
}

test('why an entry changed nothing is told', () => {
  expect(why(at(5, { type: 'text-delta', id: 't', delta: ' more' }))).toContain('not in a state for it')
  expect(why(at(5, { type: 'tool-output-available', toolCallId: 'c', output: 1 }))).toContain('dropped')
  expect(why(at(4, { type: 'text-delta', id: 'u', delta: ' more' }))).toContain('folded before')
  expect(why(at(5, { type: 'data-note', data: 1, transient: true }))).toContain('transient')
  expect(why(at(5, { type: 'from-later' } as unknown as Chunk))).toContain('not known')
  expect(why(at(5, { type: 'checkpoint-created', checkpointId: 'r/2' }))).toContain('no draft')
  const ended = [...told, at(5, { type: 'run-finished', status: 'completed' })]
  expect(why(at(6, { type: 'text-delta', id: 'u', delta: 'late' }), ended)).toContain('has ended')
})

test('what is internal is said to be', () => {
  expect(whyNothing({ ...at(5, { type: 'run-context', context: 1 }), internal: true }, foldLog(told).view())).toContain(
    'internal',
  )
})
