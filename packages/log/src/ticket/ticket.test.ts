import type { Chunk } from '@millrace/protocol'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { NewEntry } from '../store/entry.ts'
import {
  advance,
  dueOf,
  EMPTY_TICKET,
  mustStop,
  recordOf,
  resumedChunk,
  runDueOf,
  statusOf,
  stopStatus,
  type Ticket,
  ticketOf,
} from './ticket.ts'
import { admittedEntries, anyEntries, appendAttempts, entryBy, runs, writerOf } from './ticket-entries.fixture.ts'

const R1 = writerOf('r1')
const ADA = { guest: 'ada' }
const started: Chunk = { type: 'run-started', program: 'agent:a@1' }
const paused: Chunk = { type: 'run-paused', awaits: [] }
const finished: Chunk = { type: 'run-finished', status: 'completed' }
const ask = (approvalId: string, deadline?: number): Chunk => {
  return {
    type: 'tool-approval-request',
    toolCallId: `call-${approvalId}`,
    approvalId,
    input: 1,
    ...(deadline && { deadline }),
  }
}
const request = (runId: string, more: object = {}): Chunk => {
  return { type: 'run-requested', runId, program: `agent:${runId}@1`, ...more }
}
const after = (...entries: NewEntry[]): Ticket => advance(EMPTY_TICKET, entries)

describe('the ticket', () => {
  test('is empty for an empty log', () => {
    expect(ticketOf('')).toEqual(EMPTY_TICKET)
    expect(dueOf(EMPTY_TICKET)).toEqual({ at: null, program: null })
    expect(statusOf(EMPTY_TICKET)).toBe('active')
  })

  test('an open run is due now for its program, a waiting run at its first deadline, an ended run never', () => {
    const open = after(entryBy(R1, started))
    expect(dueOf(open)).toEqual({ at: 'now', program: 'agent:a@1' })
    const waiting = advance(open, [
      entryBy(R1, ask('a', 90)),
      entryBy(R1, ask('b', 40)),
      entryBy(R1, ask('c')),
      entryBy(R1, paused),
    ])
    expect(dueOf(waiting)).toEqual({ at: 40, program: 'agent:a@1' })
    const forever = advance(open, [entryBy(R1, ask('c')), entryBy(R1, paused)])
    expect(dueOf(forever)).toEqual({ at: null, program: 'agent:a@1' })
    expect(dueOf(advance(waiting, [entryBy(R1, finished)]))).toEqual({ at: null, program: null })
  })

  test('a run is ready once one of its lanes has no pendings left', () => {
    const tool = writerOf('r1', 'tool')
    const waiting = after(
      entryBy(R1, started),
      entryBy(R1, ask('a')),
      entryBy(R1, ask('b')),
      entryBy(tool, ask('c')),
      entryBy(R1, paused),
    )
    const answer = (approvalId: string) =>
      entryBy(ADA, { type: 'tool-approval-response', toolCallId: `call-${approvalId}`, approvalId, approved: true })
    const half = advance(waiting, [answer('a')])
    expect(half.ready).toBe(false)
    expect(advance(half, [answer('b')]).ready).toBe(true)
    expect(advance(half, [answer('c')]).ready).toBe(true)
  })

  test('a paused run resumes from the checkpoint of its pause, in the mode of the answer that a resume gave', () => {
    const at = (...entries: NewEntry[]) => after(entryBy(R1, started), entryBy(R1, ask('a')), ...entries)
    const pause = entryBy(R1, { ...paused, checkpointId: 'c1', stepCount: 2 } as Chunk)
    const confirm = (approvalId: string, mode?: 'with-confirmation') =>
      entryBy(ADA, {
        type: 'tool-approval-response',
        toolCallId: `call-${approvalId}`,
        approvalId,
        approved: true,
        ...(mode && { mode }),
      })
    const resumedBy = ({ run }: Ticket) => run && resumedChunk(run)
    const from = { type: 'run-resumed', fromCheckpointId: 'c1', fromStepCount: 2 } as const
    expect(resumedBy(at(pause))).toEqual({ ...from, mode: 'continue' })
    expect(resumedBy(at(pause, confirm('a')))).toEqual({ ...from, mode: 'continue' })
    const confirmed = at(pause, confirm('a', 'with-confirmation'))
    expect(resumedBy(confirmed)).toEqual({ ...from, mode: 'with-confirmation' })
    // Only for this pause, and only from an answer that counts.
    const resumed = advance(confirmed, [entryBy(R1, resumedBy(confirmed) as Chunk)])
    expect(resumed.run).toEqual({ runId: 'r1', program: 'agent:a@1', paused: false })
    expect(resumedBy(advance(resumed, [entryBy(R1, paused)]))).toEqual({ type: 'run-resumed', mode: 'continue' })
    for (const ticket of [at(confirm('a', 'with-confirmation'), pause), at(pause, confirm('b', 'with-confirmation'))])
      expect(resumedBy(ticket)).toEqual({ ...from, mode: 'continue' })
  })

  test('an answer settles its pending and is remembered, also after the end of the run', () => {
    const waiting = after(entryBy(R1, started), entryBy(R1, ask('a')), entryBy(R1, ask('b')))
    const answered = advance(waiting, [
      entryBy(ADA, { type: 'tool-approval-response', toolCallId: 'call-a', approvalId: 'a', approved: true }),
    ])
    expect(answered.pendings.map(({ id }) => id)).toEqual(['b'])
    expect(answered.settled).toEqual(['approval:a'])
    expect(advance(answered, [entryBy(R1, finished)])).toMatchObject({
      pendings: [],
      settled: ['approval:a', 'approval:b'],
    })
  })

  test('a client’s result settles its own call only; progress settles nothing', () => {
    const call = (toolCallId: string): Chunk => {
      return { type: 'tool-input-available', toolCallId, toolName: 't', input: 1, executor: 'client' }
    }
    const waiting = after(entryBy(R1, started), entryBy(R1, call('c1')), entryBy(R1, call('c2')), entryBy(R1, ask('a')))
    const output: Chunk = { type: 'tool-output-available', toolCallId: 'c1', output: 1 }
    expect(advance(waiting, [entryBy(R1, { ...output, preliminary: true } as Chunk)])).toBe(waiting)
    expect(advance(waiting, [entryBy(ADA, output)]).pendings.map(({ id }) => id)).toEqual(['c2', 'a'])
  })

  test('a denied call waits for no result', () => {
    const call: Chunk = {
      type: 'tool-input-available',
      toolCallId: 'call-a',
      toolName: 't',
      input: 1,
      executor: 'client',
    }
    const waiting = after(entryBy(R1, started), entryBy(R1, call), entryBy(R1, ask('a')))
    const deny = (approved: boolean) =>
      entryBy(ADA, { type: 'tool-approval-response', toolCallId: 'call-a', approvalId: 'a', approved })
    expect(advance(waiting, [deny(true)]).pendings.map(({ kind }) => kind)).toEqual(['client-tool'])
    expect(advance(waiting, [deny(false)]).pendings).toEqual([])
  })

  test('the end of a sub-agent settles its pendings only', () => {
    const child = writerOf('r1', 'child', 'sub')
    const waiting = after(entryBy(R1, started), entryBy(R1, ask('a')), entryBy(child, ask('b')))
    const end: Chunk = { type: 'subagent-end', agentId: 'sub', agentType: 's', toolCallId: 'c', status: 'completed' }
    expect(advance(waiting, [entryBy(R1, end)]).pendings.map(({ id }) => id)).toEqual(['a'])
  })

  test('a stop stops the open run, withdraws a waiting request, and ignores other runs', () => {
    const open = after(entryBy(R1, started), entryBy(ADA, request('r2', { whenBusy: 'queue' })))
    const stop = (runId: string) => advance(open, [entryBy(ADA, { type: 'stop-requested', runId })])
    expect(stop('r1')).toMatchObject({ stop: true, requests: [{ runId: 'r2' }] })
    expect(stop('r2')).toMatchObject({ stop: false, requests: [] })
    expect(stop('r3')).toEqual(open)
    // A stop of one run does not affect the next.
    expect(advance(stop('r1'), [entryBy(R1, finished), entryBy(writerOf('r2'), started)])).toMatchObject({
      stop: false,
    })
  })

  test('a stopped run is interrupted, unless an abort was requested', () => {
    const open = after(entryBy(R1, started))
    const stop = (mode?: 'interrupt' | 'abort') =>
      entryBy(ADA, { type: 'stop-requested', runId: 'r1', ...(mode && { mode }) })
    expect(stopStatus(advance(open, [stop()]))).toBe('interrupted')
    expect(stopStatus(advance(open, [stop('interrupt')]))).toBe('interrupted')
    for (const stops of [[stop('abort')], [stop(), stop('abort')], [stop('abort'), stop('interrupt')]]) {
      const stopped = advance(open, stops)
      expect([mustStop(stopped), stopStatus(stopped)]).toEqual([true, 'aborted'])
      // The abort ends with its run.
      const next = advance(stopped, [entryBy(R1, finished), entryBy(writerOf('r2'), started)])
      expect([mustStop(next), stopStatus(next)]).toEqual([false, 'interrupted'])
      expect(next).not.toHaveProperty('abort')
      // Law 9: a run-started that no writer may append changes nothing.
      expect(stopStatus(advance(stopped, [entryBy(writerOf('r2'), started)]))).toBe('interrupted')
    }
    const waiting = advance(open, [entryBy(ADA, request('r2', { whenBusy: 'queue' }))])
    const taken = advance(waiting, [entryBy(ADA, { type: 'stop-requested', runId: 'r2', mode: 'abort' })])
    expect(taken).toEqual(open)
    expect(stopStatus(advance(open, [entryBy(ADA, request('r2', { whenBusy: 'interrupt-previous' }))]))).toBe(
      'interrupted',
    )
  })

  test('law 10: the context beside a request does not change the ticket', () => {
    const requested = after(entryBy(ADA, request('r1', { resume: { runId: 'r0', mode: 'continue' } })))
    const contextEntry: NewEntry = { ...entryBy(ADA, { type: 'run-context', context: 1 }), internal: true }
    expect(advance(requested, [contextEntry])).toBe(requested)
    expect(JSON.stringify(requested)).not.toContain('r0')
    const continued = [
      entryBy(R1, { ...started, resumes: 'r0' } as Chunk),
      entryBy(R1, { type: 'run-resumed', mode: 'continue' }),
    ]
    expect(advance(requested, continued)).toEqual(after(entryBy(R1, started)))
  })

  test('a stop is due for every driver, a request for its program', () => {
    const open = after(entryBy(R1, started), entryBy(R1, paused))
    expect(dueOf(advance(open, [entryBy(ADA, { type: 'stop-requested', runId: 'r1' })]))).toEqual({
      at: 'now',
      program: null,
    })
    expect(dueOf(after(entryBy(ADA, request('r2'))))).toEqual({ at: 'now', program: 'agent:r2@1' })
    expect(dueOf(advance(open, [entryBy(ADA, request('r2', { whenBusy: 'queue' }))]))).toEqual({
      at: null,
      program: 'agent:a@1',
    })
  })

  test('requests that rewind or interrupt precede waiting ones, in their own order, and stop the open run', () => {
    const cut = { cut: { toSequence: 1, reason: 'edit' } }
    const ticket = after(
      entryBy(R1, started),
      entryBy(ADA, request('q1', { whenBusy: 'queue' })),
      entryBy(ADA, request('i1', { whenBusy: 'interrupt-previous' })),
      entryBy(ADA, request('q2', { whenBusy: 'queue' })),
      entryBy(ADA, request('x1', cut)),
    )
    expect(ticket.requests.map(({ runId }) => runId)).toEqual(['i1', 'x1', 'q1', 'q2'])
    expect(mustStop(ticket)).toBe(true)
    expect(dueOf(ticket)).toEqual({ at: 'now', program: null })
    expect(mustStop(advance(ticket, [entryBy(R1, finished)]))).toBe(false)
  })

  test('distinguishes claims of two clients whatever characters their names contain', () => {
    const call: Chunk = { type: 'tool-input-available', toolCallId: 'c', toolName: 't', input: 1, executor: 'client' }
    const claim = (guest: string, tab: string): Ticket =>
      after(
        entryBy(R1, started),
        entryBy(R1, call),
        entryBy({ guest }, { type: 'tool-claimed', toolCallId: 'c', until: 9, by: tab }),
      )
    expect(claim('a/b', '').pendings).not.toEqual(claim('a', 'b/').pendings)
  })

  test('the status is that of the latest run', () => {
    const open = after(entryBy(R1, started))
    const ends = (status: 'completed' | 'failed' | 'interrupted' | 'aborted') =>
      statusOf(advance(open, [entryBy(R1, { type: 'run-finished', status })]))
    expect([statusOf(open), statusOf(advance(open, [entryBy(R1, paused)]))]).toEqual(['active', 'paused'])
    expect(['completed', 'failed', 'interrupted', 'aborted'].map(s => ends(s as 'failed'))).toEqual([
      'ended',
      'failed',
      'ended',
      'ended',
    ])
    expect(statusOf(advance(open, [entryBy(R1, finished), entryBy(writerOf('r2'), started)]))).toBe('active')
  })

  test('law 9: advance never throws and never changes its argument', () => {
    fc.assert(
      fc.property(anyEntries, entries => {
        let ticket = EMPTY_TICKET
        for (const entry of entries) {
          const text = JSON.stringify(ticket)
          const next = advance(ticket, [entry])
          expect(JSON.stringify(ticket)).toBe(text)
          ticket = next
        }
        expect(ticketOf(recordOf(ticket).state)).toEqual(ticket)
        dueOf(ticket)
        statusOf(ticket)
      }),
      { numRuns: runs(300) },
    )
  })

  test('law 5: does not depend on how the entries are batched', () => {
    fc.assert(
      fc.property(anyEntries, fc.array(fc.nat(60)), (entries, cuts) => {
        const ends = [...new Set([...cuts.filter(cut => cut < entries.length), entries.length])].sort((a, b) => a - b)
        let from = 0
        const split = ends.reduce((ticket, to) => {
          const next = advance(ticket, entries.slice(from, to))
          from = to
          return next
        }, EMPTY_TICKET)
        expect(split).toEqual(advance(EMPTY_TICKET, entries))
      }),
      { numRuns: runs(200) },
    )
  })

  test('law 5: survives a round trip through its text', () => {
    fc.assert(
      fc.property(anyEntries, fc.nat(60), (entries, at) => {
        const half = ticketOf(recordOf(advance(EMPTY_TICKET, entries.slice(0, at))).state)
        expect(advance(half, entries.slice(at))).toEqual(advance(EMPTY_TICKET, entries))
      }),
      { numRuns: runs(200) },
    )
  })

  test('is due at the time derived from the entries', () => {
    let due = 0
    fc.assert(
      fc.property(appendAttempts, attempts => {
        const { entries, tickets } = admittedEntries(attempts)
        for (const [i, ticket] of tickets.entries()) {
          expect({ i, ...runDueOf(ticket) }).toEqual({ i, ...dueModel(entries.slice(0, i + 1)) })
          if (runDueOf(ticket).at !== null) due++
        }
      }),
      { numRuns: runs(150) },
    )
    expect(due).toBeGreaterThan(100)
  })

  test('has the stop status derived from the entries', () => {
    const seen = new Set<string>()
    fc.assert(
      fc.property(appendAttempts, attempts => {
        const { entries, tickets } = admittedEntries(attempts)
        for (const [i, ticket] of tickets.entries()) {
          const status = stopStatus(ticket)
          expect({ i, status }).toEqual({ i, status: stopModel(entries.slice(0, i + 1)) })
          if (ticket.run) seen.add(`${ticket.stop} ${status}`)
        }
      }),
      { numRuns: runs(150) },
    )
    expect([...seen].sort()).toEqual(['false interrupted', 'true aborted', 'true interrupted'])
  })
})

/** Model of `stopStatus`: searches the entries of the open run instead of advancing a ticket. */
function stopModel(entries: readonly NewEntry[]): string {
  const start = entries.findLastIndex(({ chunk }) => chunk.type === 'run-started')
  const runId = entries[start]?.origin.runId
  const since = entries.slice(Math.max(0, start))
  if (since.some(({ chunk }) => chunk.type === 'run-finished')) return 'interrupted'
  const isAbort = ({ chunk }: NewEntry) =>
    chunk.type === 'stop-requested' && chunk.mode === 'abort' && chunk.runId === runId
  return since.some(isAbort) ? 'aborted' : 'interrupted'
}

/** Model of `runDueOf`: searches the entries of the open run instead of advancing a ticket. */
function dueModel(entries: readonly NewEntry[]): { at: number | 'now' | null; program: string | null } {
  const start = entries.findLastIndex(({ chunk }) => chunk.type === 'run-started')
  const startEntry = entries[start]
  const isOpen = start >= 0 && !entries.slice(start).some(({ chunk }) => chunk.type === 'run-finished')
  const waiting = entries.flatMap(({ chunk }, i) => {
    if (chunk.type !== 'run-requested') return []
    const isGone = entries.slice(i + 1).some(({ chunk: later, origin }) => {
      if (later.type === 'run-started') return origin.runId === chunk.runId
      return later.type === 'stop-requested' && later.runId === chunk.runId
    })
    return isGone ? [] : [chunk]
  })
  const urgent = waiting.filter(({ cut, whenBusy }) => cut !== undefined || whenBusy === 'interrupt-previous')
  if (!isOpen || startEntry?.chunk.type !== 'run-started') {
    const next = urgent[0] ?? waiting[0]
    return next ? { at: 'now', program: next.program } : { at: null, program: null }
  }
  const since = entries.slice(start + 1)
  const isStopped = since.some(
    ({ chunk }) => chunk.type === 'stop-requested' && chunk.runId === startEntry.origin.runId,
  )
  if (isStopped || urgent.length > 0) return { at: 'now', program: null }
  const { program } = startEntry.chunk
  const lastTurn = since.findLastIndex(({ chunk }) => chunk.type === 'run-paused' || chunk.type === 'run-resumed')
  const isPaused = since[lastTurn]?.chunk.type === 'run-paused'
  if (!isPaused) return { at: 'now', program }
  const open = openAt(since)
  if (isReady(since, lastTurn)) return { at: 'now', program }
  const deadlines = open.flatMap(({ deadline }) => deadline ?? [])
  return { at: deadlines.length > 0 ? Math.min(...deadlines) : null, program }
}

/** A question or client tool call of a run, and where it was asked. */
interface ModelPending {
  readonly key: string
  readonly call?: string | undefined
  readonly lane: string
  readonly agent: string
  readonly deadline?: number | undefined
}

/** The pending that an entry opens. */
function pendingOf({ chunk, origin }: NewEntry): ModelPending | undefined {
  if (origin.guest !== undefined) return undefined
  const names = { lane: `${origin.lane} of ${origin.agentId}`, agent: origin.agentId }
  if (chunk.type === 'interrupt') return { key: `interrupt ${chunk.interruptId}`, deadline: chunk.deadline, ...names }
  if (chunk.type === 'tool-approval-request') {
    return { key: `approval ${chunk.approvalId}`, call: chunk.toolCallId, deadline: chunk.deadline, ...names }
  }
  if (chunk.type !== 'tool-input-available' || chunk.executor !== 'client') return undefined
  return { key: `client ${chunk.toolCallId}`, call: chunk.toolCallId, deadline: chunk.deadline, ...names }
}

function isSettledBy({ key, call, agent }: ModelPending, { chunk }: NewEntry): boolean {
  switch (chunk.type) {
    case 'interrupt-response':
      return key === `interrupt ${chunk.interruptId}`
    case 'tool-approval-response':
      return key === `approval ${chunk.approvalId}` || (key === `client ${chunk.toolCallId}` && !chunk.approved)
    case 'tool-output-available':
      return call === chunk.toolCallId && chunk.preliminary !== true
    case 'tool-output-error':
    case 'tool-output-denied':
      return call === chunk.toolCallId
    case 'subagent-end':
      return agent === chunk.agentId
    default:
      return false
  }
}

/** The pendings that are open at the end of a run's entries. */
const openAt = (entries: readonly NewEntry[]): ModelPending[] =>
  entries.flatMap((entry, i) => {
    const pending = pendingOf(entry)
    return pending && !entries.slice(i + 1).some(later => isSettledBy(pending, later)) ? [pending] : []
  })

/** Whether an entry after the pause settled the last open pending of a lane. */
function isReady(since: readonly NewEntry[], pausedAt: number): boolean {
  for (let i = pausedAt + 1; i < since.length; i++) {
    const before = openAt(since.slice(0, i))
    const now = openAt(since.slice(0, i + 1))
    const done = before.filter(({ key }) => !now.some(other => other.key === key))
    if (done.some(({ lane }) => !now.some(other => other.lane === lane))) return true
  }
  return false
}
