import { type Chunk, type Entry, foldLog, type WriterOrigin } from '@millrace/protocol'
import { expect, test } from 'vitest'
import { diffOf } from './diff.ts'
import { unchangedReason } from './unchanged-reason.ts'

const origin: WriterOrigin = { runId: 'r', lane: 'main', agentId: 'r', agentType: 'teller', step: 1 }
const at = (sequence: number, chunk: Chunk): Entry => ({ sequence, timestamp: sequence, origin, chunk })
const log = [
  at(1, { type: 'run-started', program: 'agent:teller@1' }),
  at(2, { type: 'text-delta', id: 't', delta: 'Once' }),
  at(3, { type: 'text-end', id: 't' }),
  at(4, { type: 'checkpoint-created', checkpointId: 'r/1' }),
]

/** The reason, after a check that nothing changed. */
function why(entry: Entry, before: readonly Entry[] = log): string {
  const was = foldLog(before).view()
  expect(diffOf(was, foldLog([...before, entry]).view()).changes).toEqual([])
  return unchangedReason(entry, was)
}

test('gives the reason why an entry changed nothing', () => {
  expect(why(at(5, { type: 'text-delta', id: 't', delta: ' more' }))).toContain('wrong state')
  expect(why(at(5, { type: 'tool-output-available', toolCallId: 'c', output: 1 }))).toContain('dropped')
  expect(why(at(4, { type: 'text-delta', id: 'u', delta: ' more' }))).toContain('already applied')
  expect(why(at(5, { type: 'data-note', data: 1, transient: true }))).toContain('transient')
  expect(why(at(5, { type: 'from-later' } as unknown as Chunk))).toContain('does not know')
  expect(why(at(5, { type: 'checkpoint-created', checkpointId: 'r/2' }))).toContain('no draft')
  const ended = [...log, at(5, { type: 'run-finished', status: 'completed' })]
  expect(why(at(6, { type: 'text-delta', id: 'u', delta: 'late' }), ended)).toContain('has ended')
})

test('names internal entries', () => {
  expect(
    unchangedReason({ ...at(5, { type: 'run-context', context: 1 }), internal: true }, foldLog(log).view()),
  ).toContain('internal')
})
