import type { Chunk } from '@millrace/protocol'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { NewEntry } from '../store/entry.ts'
import { batchProblem } from './batch-problem.ts'
import { answeredLane, checkGuestChunk, type GuestRefusalReason, guestRefusalReason } from './guest-refusal-reason.ts'
import { noticeAndDeadlineProgram, noticeProgram } from './notice.ts'
import { advance, dueOf, EMPTY_TICKET, runDueOf, type Ticket } from './ticket.ts'
import { admittedEntries, appendAttempts, entryBy, runs, writerOf } from './ticket-entries.fixture.ts'

const R1 = writerOf('r1')
const OBSERVER = { guest: 'observer' }
const started: Chunk = { type: 'run-started', program: 'agent:a@1' }
const ask: Chunk = { type: 'tool-approval-request', toolCallId: 'c', approvalId: 'a', input: 1 }
const paused = (notifyBy: number): Chunk => ({ type: 'run-paused', awaits: [], notifyBy })
const finished = (notifyBy?: number): Chunk => {
  return { type: 'run-finished', status: 'failed', ...(notifyBy !== undefined && { notifyBy }) }
}
const notify = (notifyBy: number, until?: number, runId = 'r1'): Chunk => {
  return { type: 'run-notified', runId, notifyBy, ...(until !== undefined && { until }) }
}
const open = advance(EMPTY_TICKET, [entryBy(R1, started)])
const then = (ticket: Ticket, ...chunks: Chunk[]): Ticket =>
  advance(
    ticket,
    chunks.map(chunk => entryBy(chunk.type === 'run-notified' ? OBSERVER : R1, chunk)),
  )
const refused = (ticket: Ticket, chunk: Chunk, at: number): GuestRefusalReason | undefined =>
  guestRefusalReason(ticket, { origin: OBSERVER, chunk }, at)
const PAUSED = { runId: 'r1', program: 'agent:a@1', status: 'paused' }

describe('notices for observers', () => {
  test('are created only by a pause or an end with notifyBy', () => {
    expect(then(open, paused(9), finished(19)).notices).toEqual([
      { ...PAUSED, notifyBy: 9 },
      { ...PAUSED, status: 'failed', notifyBy: 19 },
    ])
    expect(then(open, { type: 'run-paused', awaits: [] }, finished())).not.toHaveProperty('notices')
    // No notice for a run that is not open.
    expect(advance(open, [entryBy(writerOf('r2'), finished(9))])).toBe(open)
    expect(then(EMPTY_TICKET, paused(9))).toBe(EMPTY_TICKET)
  })

  test('are removed by a matching run-notified, which leaves the ticket as before', () => {
    const plain = then(open, { type: 'run-paused', awaits: [] })
    const noticed = then(open, paused(9))
    expect(then(noticed, notify(9))).toEqual(plain)
    expect(then(noticed, notify(9))).not.toHaveProperty('notices')
    for (const other of [notify(8), notify(9, undefined, 'r2')]) expect(then(noticed, other)).toBe(noticed)
    expect(then(noticed, paused(19), notify(9)).notices).toEqual([{ ...PAUSED, notifyBy: 19 }])
    // If two notices are equal, each run-notified removes one.
    expect(then(noticed, paused(9), notify(9)).notices).toEqual([{ ...PAUSED, notifyBy: 9 }])
  })

  test('a claim moves notifyBy and counts the try', () => {
    const noticed = then(open, paused(9), paused(19))
    const claimed = then(noticed, notify(9, 50))
    expect(claimed.notices).toEqual([
      { ...PAUSED, notifyBy: 50, tries: 1, first: 9 },
      { ...PAUSED, notifyBy: 19 },
    ])
    expect(then(claimed, notify(50, 90)).notices?.[0]).toEqual({ ...PAUSED, notifyBy: 90, tries: 2, first: 9 })
    expect(then(claimed, notify(9))).toBe(claimed)
    expect(then(claimed, notify(50), notify(19))).not.toHaveProperty('notices')
  })

  test('are kept when the next run starts or ends', () => {
    const noticed = then(open, finished(9))
    const next = advance(noticed, [entryBy(writerOf('r2'), started), entryBy(writerOf('r2'), finished())])
    expect(next.notices).toEqual(noticed.notices)
  })

  test('law 6: a ticket holds a limited number; the oldest is dropped first', () => {
    let ticket = open
    for (let i = 1; i <= 40; i++) ticket = then(ticket, paused(i))
    expect(ticket.notices?.map(({ notifyBy }) => notifyBy)).toEqual(Array.from({ length: 16 }, (_, i) => i + 25))
  })

  test('make the log due for their program, of any version, if nothing else is due earlier', () => {
    const waiting = then(open, ask, paused(40))
    expect(dueOf(waiting)).toEqual({ at: 40, program: 'notify:agent:a' })
    expect(noticeProgram('agent:a@2')).toBe('notify:agent:a')
    expect(dueOf(then(open, finished(90)))).toEqual({ at: 90, program: 'notify:agent:a' })
    expect(dueOf(then(waiting, notify(40)))).toEqual({ at: null, program: 'agent:a@1' })
    expect(dueOf(then(waiting, paused(30))).at).toBe(30)
    expect(dueOf(then(waiting, paused(30), notify(30, 70))).at).toBe(40)
  })

  test('do not hide a run that is due or its deadline', () => {
    const late = then(open, { ...ask, deadline: 60 } as Chunk)
    expect(dueOf(then(late, paused(40)))).toEqual({ at: 40, program: 'late:agent:a' })
    expect(noticeAndDeadlineProgram('agent:a@2')).toBe('late:agent:a')
    expect(dueOf(then(late, paused(40), notify(40, 50)))).toEqual({ at: 50, program: 'late:agent:a' })
    expect(dueOf(then(late, paused(40), notify(40, 70)))).toEqual({ at: 60, program: 'agent:a@1' })
    expect(dueOf(then(late, paused(40), notify(40)))).toEqual({ at: 60, program: 'agent:a@1' })
    expect(dueOf(then(late, paused(60)))).toEqual({ at: 60, program: 'agent:a@1' })
    expect(runDueOf(then(late, paused(40)))).toEqual({ at: 60, program: 'agent:a@1' })
    const request: Chunk = { type: 'run-requested', runId: 'r2', program: 'agent:b@1' }
    const requested = advance(then(open, finished(40)), [entryBy({ guest: 'ada' }, request)])
    expect(dueOf(requested)).toEqual({ at: 'now', program: 'agent:b@1' })
    expect(dueOf(then(open, paused(40), { type: 'run-resumed', mode: 'continue' })).at).toBe('now')
  })

  test('share one due name for several programs, so that none hides a notice or a deadline of another', () => {
    const OTHER = writerOf('r2')
    const other = (...chunks: Chunk[]) =>
      advance(
        then(open, finished(9)),
        [{ ...started, program: 'agent:b@1' } as Chunk, ...chunks].map(chunk => entryBy(OTHER, chunk)),
      )
    const both = other(finished(19))
    expect(dueOf(both)).toEqual({ at: 9, program: noticeProgram() })
    expect(dueOf(then(both, notify(9)))).toEqual({ at: 19, program: 'notify:agent:b' })
    expect(dueOf(then(both, notify(19, undefined, 'r2')))).toEqual({ at: 9, program: 'notify:agent:a' })
    expect(dueOf(other({ ...ask, deadline: 60 } as Chunk, { type: 'run-paused', awaits: [] }))).toEqual({
      at: 9,
      program: noticeAndDeadlineProgram(),
    })
    expect(new Set([noticeProgram(), noticeAndDeadlineProgram(), noticeProgram('agent:*@1')]).size).toBe(3)
  })

  test('have a program name within the store’s limit', () => {
    for (const program of ['agent:@', `${'x'.repeat(511)}@`, `agent:${'😀'.repeat(253)}`]) {
      const name = noticeProgram(program)
      expect(name.length).toBeLessThanOrEqual(512)
      expect(name.isWellFormed()).toBe(true)
    }
  })

  test('are due at the time derived from the entries', () => {
    let due = 0
    let tries = 0
    fc.assert(
      fc.property(appendAttempts, attempts => {
        const { entries, tickets } = admittedEntries(attempts)
        for (const [i, ticket] of tickets.entries()) {
          const noticed = plainNotices(entries.slice(0, i + 1))
          expect(ticket.notices ?? []).toEqual(noticed)
          const first = Math.min(...noticed.map(({ notifyBy }) => notifyBy))
          const { at, program } = dueOf(ticket)
          const run = runDueOf(ticket)
          if (run.at === 'now' || noticed.length === 0) expect({ at, program }).toEqual(run)
          else expect(at).toBe(Math.min(first, run.at ?? Number.POSITIVE_INFINITY))
          if (program?.startsWith('notify:')) due++
          tries += noticed.filter(notice => notice.tries).length
        }
      }),
      { numRuns: runs(150) },
    )
    expect(due).toBeGreaterThan(100)
    expect(tries).toBeGreaterThan(10)
  })
})

describe('run-notified', () => {
  const noticed = then(open, ask, paused(40))

  test('law 5: confirms an open notice once', () => {
    expect(refused(noticed, notify(40), 0)).toBeUndefined()
    expect(refused(noticed, notify(40), 1_000_000)).toBeUndefined()
    expect(refused(then(noticed, notify(40)), notify(40), 50)).toBe('already-settled')
    for (const other of [notify(41), notify(40, undefined, 'r2')])
      expect(refused(noticed, other, 50)).toBe('already-settled')
    expect(refused(EMPTY_TICKET, notify(40), 50)).toBe('already-settled')
  })

  test('law 5: claims a notice once it is due, one claim at a time, for a day at most', () => {
    expect(refused(noticed, notify(40, 100), 39)).toBe('claimed')
    expect(refused(noticed, notify(40, 100), 40)).toBeUndefined()
    expect(refused(noticed, notify(40, 40), 40)).toBe('late')
    expect(refused(noticed, notify(40, 40 + 86_400_000), 40)).toBeUndefined()
    expect(refused(noticed, notify(40, 41 + 86_400_000), 40)).toBe('late')
    const claimed = then(noticed, notify(40, 100))
    expect(refused(claimed, notify(40, 101), 41)).toBe('already-settled')
    expect(refused(claimed, notify(100, 201), 41)).toBe('claimed')
    // A slow claimant has notified, but its claim has expired and the notice has another claimant.
    expect(refused(claimed, notify(40), 41)).toBe('already-settled')
    expect(refused(claimed, notify(100), 41)).toBeUndefined()
  })

  test('belongs to no lane, and its times must be integers', () => {
    expect(answeredLane(noticed, notify(40))).toEqual({})
    checkGuestChunk(notify(40, 100))
    for (const until of [0.5, 2 ** 60]) expect(() => checkGuestChunk(notify(40, until))).toThrow('until')
    for (const chunk of [paused(0.5), finished(2 ** 60)]) {
      expect(batchProblem(open, [entryBy(R1, chunk)])).toContain(`${chunk.type}.notifyBy`)
    }
    expect(batchProblem(open, [entryBy(R1, paused(9)), entryBy(R1, finished(9))])).toBeUndefined()
  })
})

/** The notices, derived from the entries. */
function plainNotices(entries: readonly NewEntry[]) {
  const program = new Map<string | undefined, string>()
  const noticed: {
    runId: string
    program: string
    status: string
    notifyBy: number
    tries?: number
    first?: number
  }[] = []
  for (const { chunk, origin } of entries) {
    const runId = origin.runId as string
    if (chunk.type === 'run-started') program.set(runId, chunk.program)
    if ((chunk.type === 'run-finished' || chunk.type === 'run-paused') && chunk.notifyBy !== undefined) {
      const status = chunk.type === 'run-paused' ? 'paused' : chunk.status
      noticed.push({ runId, program: program.get(runId) as string, status, notifyBy: chunk.notifyBy })
      if (noticed.length > 16) noticed.shift()
    }
    if (chunk.type !== 'run-notified') continue
    const at = noticed.findIndex(notice => notice.runId === chunk.runId && notice.notifyBy === chunk.notifyBy)
    const { tries = 0, first = chunk.notifyBy, ...notice } = noticed[at] as (typeof noticed)[number]
    if (chunk.until === undefined) noticed.splice(at, 1)
    else noticed[at] = { ...notice, notifyBy: chunk.until, tries: tries + 1, first }
  }
  return noticed
}
