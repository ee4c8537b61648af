import type { Chunk } from '@millrace/protocol'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { NewEntry } from '../store/entry.ts'
import { checkGuestChunk, placeOf, type Refusal, refusalOf } from './admission.ts'
import { batchProblem } from './batch-problem.ts'
import { lateProgram, noticeProgram } from './notice.ts'
import { advance, dueOf, EMPTY_TICKET, runDueOf, type Ticket } from './ticket.ts'
import { admitted, by, runs, wishes, writerOf } from './ticket-entries.fixture.ts'

const R1 = writerOf('r1')
const TELLER = { guest: 'teller' }
const started: Chunk = { type: 'run-started', program: 'agent:a@1' }
const ask: Chunk = { type: 'tool-approval-request', toolCallId: 'c', approvalId: 'a', input: 1 }
const paused = (notifyBy: number): Chunk => ({ type: 'run-paused', awaits: [], notifyBy })
const finished = (notifyBy?: number): Chunk => {
  return { type: 'run-finished', status: 'failed', ...(notifyBy !== undefined && { notifyBy }) }
}
const told = (notifyBy: number, until?: number, runId = 'r1'): Chunk => {
  return { type: 'run-notified', runId, notifyBy, ...(until !== undefined && { until }) }
}
const open = advance(EMPTY_TICKET, [by(R1, started)])
const then = (ticket: Ticket, ...chunks: Chunk[]): Ticket =>
  advance(
    ticket,
    chunks.map(chunk => by(chunk.type === 'run-notified' ? TELLER : R1, chunk)),
  )
const refused = (ticket: Ticket, chunk: Chunk, at: number): Refusal | undefined =>
  refusalOf(ticket, { origin: TELLER, chunk }, at)
const PAUSED = { runId: 'r1', program: 'agent:a@1', status: 'paused' }

describe('what is owed to observers', () => {
  test('is opened by a pause and by an end that name a time, and by nothing else', () => {
    expect(then(open, paused(9), finished(19)).notices).toEqual([
      { ...PAUSED, notifyBy: 9 },
      { ...PAUSED, status: 'failed', notifyBy: 19 },
    ])
    expect(then(open, { type: 'run-paused', awaits: [] }, finished())).not.toHaveProperty('notices')
    // Nothing of a run that is not open is owed to anybody.
    expect(advance(open, [by(writerOf('r2'), finished(9))])).toBe(open)
    expect(then(EMPTY_TICKET, paused(9))).toBe(EMPTY_TICKET)
  })

  test('is paid once somebody has told of that very pause or end, and the ticket is as if it had never been owed', () => {
    const plain = then(open, { type: 'run-paused', awaits: [] })
    const owed = then(open, paused(9))
    expect(then(owed, told(9))).toEqual(plain)
    expect(then(owed, told(9))).not.toHaveProperty('notices')
    for (const other of [told(8), told(9, undefined, 'r2')]) expect(then(owed, other)).toBe(owed)
    expect(then(owed, paused(19), told(9)).notices).toEqual([{ ...PAUSED, notifyBy: 19 }])
    // Of two that cannot be told apart one is paid at a time.
    expect(then(owed, paused(9), told(9)).notices).toEqual([{ ...PAUSED, notifyBy: 9 }])
  })

  test('whoever takes it upon itself has its time, and is counted', () => {
    const owed = then(open, paused(9), paused(19))
    const taken = then(owed, told(9, 50))
    expect(taken.notices).toEqual([
      { ...PAUSED, notifyBy: 50, tries: 1, first: 9 },
      { ...PAUSED, notifyBy: 19 },
    ])
    expect(then(taken, told(50, 90)).notices?.[0]).toEqual({ ...PAUSED, notifyBy: 90, tries: 2, first: 9 })
    expect(then(taken, told(9))).toBe(taken)
    expect(then(taken, told(50), told(19))).not.toHaveProperty('notices')
  })

  test('outlives the next run, and goes with no end of one', () => {
    const owed = then(open, finished(9))
    const next = advance(owed, [by(writerOf('r2'), started), by(writerOf('r2'), finished())])
    expect(next.notices).toEqual(owed.notices)
  })

  test('law 6: a ticket holds so much of it and no more, the oldest goes first', () => {
    let ticket = open
    for (let i = 1; i <= 40; i++) ticket = then(ticket, paused(i))
    expect(ticket.notices?.map(({ notifyBy }) => notifyBy)).toEqual(Array.from({ length: 16 }, (_, i) => i + 25))
  })

  test('is due at its time to those who tell of that program, of whatever version, where nothing else is', () => {
    const waiting = then(open, ask, paused(40))
    expect(dueOf(waiting)).toEqual({ at: 40, program: 'notify:agent:a' })
    expect(noticeProgram('agent:a@2')).toBe('notify:agent:a')
    expect(dueOf(then(open, finished(90)))).toEqual({ at: 90, program: 'notify:agent:a' })
    expect(dueOf(then(waiting, told(40)))).toEqual({ at: null, program: 'agent:a@1' })
    // The first of several.
    expect(dueOf(then(waiting, paused(30))).at).toBe(30)
    expect(dueOf(then(waiting, paused(30), told(30, 70))).at).toBe(40)
  })

  test('hides no run that is due, nor its deadline from who drives it', () => {
    const late = then(open, { ...ask, deadline: 60 } as Chunk)
    expect(dueOf(then(late, paused(40)))).toEqual({ at: 40, program: 'late:agent:a' })
    expect(lateProgram('agent:a@2')).toBe('late:agent:a')
    expect(dueOf(then(late, paused(40), told(40, 50)))).toEqual({ at: 50, program: 'late:agent:a' })
    expect(dueOf(then(late, paused(40), told(40, 70)))).toEqual({ at: 60, program: 'agent:a@1' })
    expect(dueOf(then(late, paused(40), told(40)))).toEqual({ at: 60, program: 'agent:a@1' })
    expect(dueOf(then(late, paused(60)))).toEqual({ at: 60, program: 'agent:a@1' })
    expect(runDueOf(then(late, paused(40)))).toEqual({ at: 60, program: 'agent:a@1' })
    const request: Chunk = { type: 'run-requested', runId: 'r2', program: 'agent:b@1' }
    const asked = advance(then(open, finished(40)), [by({ guest: 'ada' }, request)])
    expect(dueOf(asked)).toEqual({ at: 'now', program: 'agent:b@1' })
    expect(dueOf(then(open, paused(40), { type: 'run-resumed', mode: 'continue' })).at).toBe('now')
  })

  test('of several programs is due to whoever tells, so that none hides another’s, nor a deadline of another’s run', () => {
    const OTHER = writerOf('r2')
    const other = (...chunks: Chunk[]) =>
      advance(
        then(open, finished(9)),
        [{ ...started, program: 'agent:b@1' } as Chunk, ...chunks].map(chunk => by(OTHER, chunk)),
      )
    const both = other(finished(19))
    expect(dueOf(both)).toEqual({ at: 9, program: noticeProgram() })
    expect(dueOf(then(both, told(9)))).toEqual({ at: 19, program: 'notify:agent:b' })
    expect(dueOf(then(both, told(19, undefined, 'r2')))).toEqual({ at: 9, program: 'notify:agent:a' })
    expect(dueOf(other({ ...ask, deadline: 60 } as Chunk, { type: 'run-paused', awaits: [] }))).toEqual({
      at: 9,
      program: lateProgram(),
    })
    expect(new Set([noticeProgram(), lateProgram(), noticeProgram('agent:*@1')]).size).toBe(3)
  })

  test('has a name that a store can be asked for, however long the program’s is', () => {
    for (const program of ['agent:@', `${'x'.repeat(511)}@`, `agent:${'😀'.repeat(253)}`]) {
      const name = noticeProgram(program)
      expect(name.length).toBeLessThanOrEqual(512)
      expect(name.isWellFormed()).toBe(true)
    }
  })

  test('is due as a plain reading of the entries says', () => {
    let due = 0
    let tries = 0
    fc.assert(
      fc.property(wishes, wished => {
        const { entries, tickets } = admitted(wished)
        for (const [i, ticket] of tickets.entries()) {
          const owed = plainNotices(entries.slice(0, i + 1))
          expect(ticket.notices ?? []).toEqual(owed)
          const first = Math.min(...owed.map(({ notifyBy }) => notifyBy))
          const { at, program } = dueOf(ticket)
          const run = runDueOf(ticket)
          if (run.at === 'now' || owed.length === 0) expect({ at, program }).toEqual(run)
          else expect(at).toBe(Math.min(first, run.at ?? Number.POSITIVE_INFINITY))
          if (program?.startsWith('notify:')) due++
          tries += owed.filter(notice => notice.tries).length
        }
      }),
      { numRuns: runs(150) },
    )
    expect(due).toBeGreaterThan(100)
    expect(tries).toBeGreaterThan(10)
  })
})

describe('who says that observers were told', () => {
  const owed = then(open, ask, paused(40))

  test('law 5: is heard once, of what is owed', () => {
    expect(refused(owed, told(40), 0)).toBeUndefined()
    expect(refused(owed, told(40), 1_000_000)).toBeUndefined()
    expect(refused(then(owed, told(40)), told(40), 50)).toBe('already-settled')
    for (const other of [told(41), told(40, undefined, 'r2')]) expect(refused(owed, other, 50)).toBe('already-settled')
    expect(refused(EMPTY_TICKET, told(40), 50)).toBe('already-settled')
  })

  test('law 5: takes it upon itself when it is due, one at a time, for a day at most', () => {
    expect(refused(owed, told(40, 100), 39)).toBe('claimed')
    expect(refused(owed, told(40, 100), 40)).toBeUndefined()
    expect(refused(owed, told(40, 40), 40)).toBe('late')
    expect(refused(owed, told(40, 40 + 86_400_000), 40)).toBeUndefined()
    expect(refused(owed, told(40, 41 + 86_400_000), 40)).toBe('late')
    const taken = then(owed, told(40, 100))
    expect(refused(taken, told(40, 101), 41)).toBe('already-settled')
    expect(refused(taken, told(100, 201), 41)).toBe('claimed')
    // Who was slow has told all the same, and it is another's by now.
    expect(refused(taken, told(40), 41)).toBe('already-settled')
    expect(refused(taken, told(100), 41)).toBeUndefined()
  })

  test('answers no lane, and names times that a store can keep', () => {
    expect(placeOf(owed, told(40))).toEqual({})
    checkGuestChunk(told(40, 100))
    for (const until of [0.5, 2 ** 60]) expect(() => checkGuestChunk(told(40, until))).toThrow('until')
    for (const chunk of [paused(0.5), finished(2 ** 60)]) {
      expect(batchProblem(open, [by(R1, chunk)])).toContain(`${chunk.type}.notifyBy`)
    }
    expect(batchProblem(open, [by(R1, paused(9)), by(R1, finished(9))])).toBeUndefined()
  })
})

/** What is owed, read off the entries. */
function plainNotices(entries: readonly NewEntry[]) {
  const program = new Map<string | undefined, string>()
  const owed: { runId: string; program: string; status: string; notifyBy: number; tries?: number; first?: number }[] =
    []
  for (const { chunk, origin } of entries) {
    const runId = origin.runId as string
    if (chunk.type === 'run-started') program.set(runId, chunk.program)
    if ((chunk.type === 'run-finished' || chunk.type === 'run-paused') && chunk.notifyBy !== undefined) {
      const status = chunk.type === 'run-paused' ? 'paused' : chunk.status
      owed.push({ runId, program: program.get(runId) as string, status, notifyBy: chunk.notifyBy })
      if (owed.length > 16) owed.shift()
    }
    if (chunk.type !== 'run-notified') continue
    const at = owed.findIndex(notice => notice.runId === chunk.runId && notice.notifyBy === chunk.notifyBy)
    const { tries = 0, first = chunk.notifyBy, ...notice } = owed[at] as (typeof owed)[number]
    if (chunk.until === undefined) owed.splice(at, 1)
    else owed[at] = { ...notice, notifyBy: chunk.until, tries: tries + 1, first }
  }
  return owed
}
