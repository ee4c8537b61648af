import type { Chunk } from '@millrace/protocol'
import { describe, expect, test } from 'vitest'
import type { NewEntry } from '../store/entry.ts'
import { batchProblem } from './batch-problem.ts'
import { advance, EMPTY_TICKET, type Ticket } from './ticket.ts'
import { entryBy, writerOf } from './ticket-entries.fixture.ts'

const R1 = writerOf('r1')
const R2 = writerOf('r2')
const started: Chunk = { type: 'run-started', program: 'agent:a@1' }
const finished: Chunk = { type: 'run-finished', status: 'completed' }
const word: Chunk = { type: 'text-delta', id: '1', delta: 'a' }
const rewind: Chunk = { type: 'rewind', toSequence: 1, reason: 'edit' }
const open = advance(EMPTY_TICKET, [entryBy(R1, started)])
const ended = advance(open, [entryBy(R1, finished)])
const problem = (ticket: Ticket, ...batch: NewEntry[]): string => batchProblem(ticket, batch) ?? 'none'
const ask = (approvalId: string): Chunk => ({ type: 'tool-approval-request', toolCallId: 'c', approvalId, input: 1 })

describe('writer entries admitted by the ticket', () => {
  test('law 7: admits entries of the open run only', () => {
    expect(problem(open, entryBy(R1, word))).toBe('none')
    expect(problem(open, entryBy(R2, word))).toContain('run r2 is not open, run r1 is')
    expect(problem(EMPTY_TICKET, entryBy(R1, word))).toContain('start it first')
    expect(problem(ended, entryBy(R1, word))).toContain('run r1 is not open')
    expect(problem(open, entryBy(R1, finished), entryBy(R1, word))).toContain('run r1 is not open')
  })

  test('admits run-resumed for a run that resumes another only after its run-started', () => {
    const resumes: Chunk = { ...started, resumes: 'r1' } as Chunk
    const resumed: Chunk = { type: 'run-resumed', mode: 'from-checkpoint' }
    const context: NewEntry = { ...entryBy(R2, { type: 'run-context', context: 1 }), internal: true }
    expect(problem(ended, entryBy(R2, resumes), entryBy(R2, resumed), context)).toBe('none')
    expect(problem(ended, entryBy(R2, rewind), entryBy(R2, resumes), entryBy(R2, resumed))).toBe('none')
    expect(problem(ended, entryBy(R2, resumed), entryBy(R2, resumes))).toContain('start it first')
    expect(problem(ended, context, entryBy(R2, resumes))).toContain('start it first')
  })

  test('admits one run at a time, and no run twice', () => {
    expect(problem(EMPTY_TICKET, entryBy(R1, started))).toBe('none')
    expect(problem(open, entryBy(R2, started))).toContain('run r1 is open')
    expect(problem(open, entryBy(R1, started))).toContain('run r1 is open')
    expect(problem(open, entryBy(R1, finished), entryBy(R2, started))).toBe('none')
    expect(problem(ended, entryBy(R1, started))).toContain('run r1 has ended')
  })

  test('law 3: a rewind must be the first entry of the batch that starts the next run, while no run is open', () => {
    expect(problem(ended, entryBy(R2, rewind), entryBy(R2, started))).toBe('none')
    expect(problem(open, entryBy(R1, rewind), entryBy(R1, started))).toContain('run r1 is open')
    expect(problem(ended, entryBy(R2, rewind))).toContain('before the run-started')
    expect(problem(ended, entryBy(R2, rewind), entryBy(R2, word))).toContain('before the run-started')
    expect(problem(open, entryBy(R1, finished), entryBy(R2, rewind), entryBy(R2, started))).toContain(
      'as the first entry',
    )
  })

  test('a pending’s name is unique while it is open', () => {
    const waiting = advance(open, [entryBy(R1, ask('a'))])
    expect(problem(waiting, entryBy(R1, ask('b')))).toBe('none')
    expect(problem(waiting, entryBy(R1, ask('a')))).toContain('approval a is open already')
    expect(problem(open, entryBy(R1, ask('a')), entryBy(R1, ask('a')))).toContain('approval a is open already')
  })

  test('law 6: limits the number of pendings and the length of their names', () => {
    const many = Array.from({ length: 256 }, (_, i) => entryBy(R1, ask(`a${i}`)))
    expect(problem(open, ...many)).toBe('none')
    expect(problem(open, ...many, entryBy(R1, ask('one more')))).toContain('expected at most 256 pendings')
    const long = 'x'.repeat(513)
    expect(problem(open, entryBy(R1, ask(long)))).toContain('approvalId')
    expect(problem(open, entryBy({ ...R1, lane: long }, ask('a')))).toContain('origin.lane')
    expect(problem(open, entryBy({ ...R1, agentId: long }, ask('a')))).toContain('origin.agentId')
    expect(problem(EMPTY_TICKET, entryBy(R1, { ...started, program: long }))).toContain('program')
    expect(problem(EMPTY_TICKET, entryBy(writerOf(long), started))).toContain('origin.runId')
    expect(problem(EMPTY_TICKET, entryBy(writerOf(''), started))).toContain('origin.runId')
  })

  test('law 5: refuses run-requested and guest origins from a writer', () => {
    expect(problem(open, entryBy(R1, { type: 'run-requested', runId: 'r2', program: 'agent:a@1' }))).toContain(
      'as a guest',
    )
    expect(problem(open, entryBy({ guest: 'ada' }, word))).toContain('guest')
  })
})
