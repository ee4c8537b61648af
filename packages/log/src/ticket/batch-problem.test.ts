import type { Chunk } from '@millrace/protocol'
import { describe, expect, test } from 'vitest'
import type { NewEntry } from '../store/entry.ts'
import { batchProblem } from './batch-problem.ts'
import { advance, EMPTY_TICKET, type Ticket } from './ticket.ts'
import { by, writerOf } from './ticket-entries.fixture.ts'

const R1 = writerOf('r1')
const R2 = writerOf('r2')
const started: Chunk = { type: 'run-started', program: 'agent:a@1' }
const finished: Chunk = { type: 'run-finished', status: 'completed' }
const word: Chunk = { type: 'text-delta', id: '1', delta: 'a' }
const rewind: Chunk = { type: 'rewind', toSequence: 1, reason: 'edit' }
const open = advance(EMPTY_TICKET, [by(R1, started)])
const ended = advance(open, [by(R1, finished)])
const problem = (ticket: Ticket, ...batch: NewEntry[]): string => batchProblem(ticket, batch) ?? 'none'
const ask = (approvalId: string): Chunk => ({ type: 'tool-approval-request', toolCallId: 'c', approvalId, input: 1 })

describe('what a writer may append, by the ticket', () => {
  test('law 7: words of the open run, and of no other', () => {
    expect(problem(open, by(R1, word))).toBe('none')
    expect(problem(open, by(R2, word))).toContain('run r2 is not open, run r1 is')
    expect(problem(EMPTY_TICKET, by(R1, word))).toContain('start it first')
    expect(problem(ended, by(R1, word))).toContain('run r1 is not open')
    expect(problem(open, by(R1, finished), by(R1, word))).toContain('run r1 is not open')
  })

  test('of a run that goes on from another: how it does, next to its start, and not before', () => {
    const resumes: Chunk = { ...started, resumes: 'r1' } as Chunk
    const resumed: Chunk = { type: 'run-resumed', mode: 'from-checkpoint' }
    const context: NewEntry = { ...by(R2, { type: 'run-context', context: 1 }), internal: true }
    expect(problem(ended, by(R2, resumes), by(R2, resumed), context)).toBe('none')
    expect(problem(ended, by(R2, rewind), by(R2, resumes), by(R2, resumed))).toBe('none')
    expect(problem(ended, by(R2, resumed), by(R2, resumes))).toContain('start it first')
    expect(problem(ended, context, by(R2, resumes))).toContain('start it first')
  })

  test('one run at a time, and no run twice', () => {
    expect(problem(EMPTY_TICKET, by(R1, started))).toBe('none')
    expect(problem(open, by(R2, started))).toContain('run r1 is open')
    expect(problem(open, by(R1, started))).toContain('run r1 is open')
    expect(problem(open, by(R1, finished), by(R2, started))).toBe('none')
    expect(problem(ended, by(R1, started))).toContain('run r1 has ended')
  })

  test('law 3: a rewind begins the batch that starts the next run, while none is open', () => {
    expect(problem(ended, by(R2, rewind), by(R2, started))).toBe('none')
    expect(problem(open, by(R1, rewind), by(R1, started))).toContain('run r1 is open')
    expect(problem(ended, by(R2, rewind))).toContain('before the run-started')
    expect(problem(ended, by(R2, rewind), by(R2, word))).toContain('before the run-started')
    expect(problem(open, by(R1, finished), by(R2, rewind), by(R2, started))).toContain('as the first entry')
  })

  test('a pending has one name for as long as it is open', () => {
    const waiting = advance(open, [by(R1, ask('a'))])
    expect(problem(waiting, by(R1, ask('b')))).toBe('none')
    expect(problem(waiting, by(R1, ask('a')))).toContain('approval a is open already')
    expect(problem(open, by(R1, ask('a')), by(R1, ask('a')))).toContain('approval a is open already')
  })

  test('law 6: so many pendings and no more, of names that a ticket can hold', () => {
    const many = Array.from({ length: 256 }, (_, i) => by(R1, ask(`a${i}`)))
    expect(problem(open, ...many)).toBe('none')
    expect(problem(open, ...many, by(R1, ask('one more')))).toContain('256 things at most')
    const long = 'x'.repeat(513)
    expect(problem(open, by(R1, ask(long)))).toContain('approvalId')
    expect(problem(open, by({ ...R1, lane: long }, ask('a')))).toContain('origin.lane')
    expect(problem(open, by({ ...R1, agentId: long }, ask('a')))).toContain('origin.agentId')
    expect(problem(EMPTY_TICKET, by(R1, { ...started, program: long }))).toContain('program')
    expect(problem(EMPTY_TICKET, by(writerOf(long), started))).toContain('origin.runId')
    expect(problem(EMPTY_TICKET, by(writerOf(''), started))).toContain('origin.runId')
  })

  test('law 5: a request is a guest’s, with the key of its run; and so is a guest’s origin', () => {
    expect(problem(open, by(R1, { type: 'run-requested', runId: 'r2', program: 'agent:a@1' }))).toContain('as a guest')
    expect(problem(open, by({ guest: 'ada' }, word))).toContain('guest')
  })
})
