import type { Chunk } from '@millrace/protocol'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { NewEntry } from '../store/entry.ts'
import { LogError } from '../store/log-error.ts'
import { answeredLane, checkGuestChunk, type GuestRefusalReason, guestRefusalReason } from './guest-refusal-reason.ts'
import { advance, EMPTY_TICKET, recordOf, type Ticket } from './ticket.ts'
import { admittedEntries, appendAttempts, entryBy, runs, writerOf } from './ticket-entries.fixture.ts'

const R1 = writerOf('r1')
const ADA = { guest: 'ada' }
const NOW = 1000
const started: Chunk = { type: 'run-started', program: 'agent:a@1' }
const finished: Chunk = { type: 'run-finished', status: 'completed' }
const asks = (approvalId: string, toolCallId: string, deadline?: number): Chunk => {
  return { type: 'tool-approval-request', toolCallId, approvalId, input: 1, ...(deadline && { deadline }) }
}
const calls = (toolCallId: string, deadline?: number): Chunk => {
  return {
    type: 'tool-input-available',
    toolCallId,
    toolName: 't',
    input: 1,
    executor: 'client',
    ...(deadline && { deadline }),
  }
}
const approves = (approvalId: string, toolCallId: string): Chunk => {
  return { type: 'tool-approval-response', toolCallId, approvalId, approved: true }
}
const result = (toolCallId: string): Chunk => ({ type: 'tool-output-available', toolCallId, output: 1 })
const answers = (interruptId: string): Chunk => ({ type: 'interrupt-response', interruptId, response: 1 })
const stops = (runId: string): Chunk => ({ type: 'stop-requested', runId })
const claims = (toolCallId: string, until: number, tab?: string): Chunk => {
  return { type: 'tool-claimed', toolCallId, until, ...(tab !== undefined && { by: tab }) }
}
const request = (runId: string, more: object = {}): Chunk => {
  return { type: 'run-requested', runId, program: 'agent:a@1', ...more }
}
const CUT = { cut: { toSequence: 1, reason: 'edit' } }

const open = (...chunks: Chunk[]): Ticket =>
  advance(
    EMPTY_TICKET,
    [started, ...chunks].map(chunk => entryBy(R1, chunk)),
  )
const refused = (ticket: Ticket, chunk: Chunk, guest = 'ada', at = NOW): GuestRefusalReason | undefined =>
  guestRefusalReason(ticket, { origin: { guest }, chunk }, at)
const then = (ticket: Ticket, ...entries: NewEntry[]): Ticket => advance(ticket, entries)

describe('guest entries admitted by the ticket', () => {
  test('admits an answer only for an open pending of its kind and for its call', () => {
    const ticket = open(asks('a', 'c1'), calls('c2'), { type: 'interrupt', interruptId: 'i', input: { kind: 'text' } })
    for (const chunk of [approves('a', 'c1'), result('c2'), answers('i')])
      expect(refused(ticket, chunk)).toBeUndefined()
    // Another kind with the same id is another pending. The call of an approval must match too.
    expect(refused(ticket, approves('a', 'c2'))).toBe('unknown')
    expect(refused(ticket, approves('c2', 'c2'))).toBe('unknown')
    expect(refused(ticket, answers('a'))).toBe('unknown')
    expect(refused(ticket, result('a'))).toBe('unknown')
    expect(refused(EMPTY_TICKET, approves('a', 'c1'))).toBe('unknown')
  })

  test('law 5: a client’s result never counts as an approval of a server tool or a client tool', () => {
    const servers = open({ type: 'tool-input-available', toolCallId: 'c1', toolName: 't', input: 1 }, asks('a', 'c1'))
    for (const chunk of [result('c1'), { type: 'tool-output-error', toolCallId: 'c1', errorText: 'no' } as const]) {
      expect(refused(servers, chunk)).toBe('unknown')
    }
    const ticket = open(calls('c1'), asks('a', 'c1'))
    expect(refused(ticket, result('c1'))).toBe('unapproved')
    expect(refused(ticket, claims('c1', NOW + 1))).toBe('unapproved')
    expect(refused(then(ticket, entryBy(ADA, approves('a', 'c1'))), result('c1'))).toBeUndefined()
  })

  test('refuses a second answer as already settled, also after the run has ended', () => {
    const settled = then(
      open(asks('a', 'c1'), calls('c2')),
      entryBy(ADA, approves('a', 'c1')),
      entryBy(ADA, result('c2')),
    )
    for (const ticket of [settled, then(settled, entryBy(R1, finished))]) {
      expect(refused(ticket, approves('a', 'c1'), 'bob')).toBe('already-settled')
      expect(refused(ticket, result('c2'), 'bob')).toBe('already-settled')
    }
    expect(refused(then(open(calls('c3')), entryBy(R1, finished)), result('c3'))).toBe('already-settled')
  })

  test('law 5: an answer or a claim is late at its deadline; a client’s result is accepted until its call is settled', () => {
    const ticket = open(asks('a', 'c1', NOW), calls('c2', NOW), {
      type: 'interrupt',
      interruptId: 'i',
      input: { kind: 'text' },
      deadline: NOW,
    })
    for (const chunk of [approves('a', 'c1'), answers('i'), claims('c2', NOW + 1)]) {
      expect(refused(ticket, chunk, 'ada', NOW - 1)).toBeUndefined()
      expect(refused(ticket, chunk, 'ada', NOW)).toBe('late')
    }
    const failed: Chunk = { type: 'tool-output-error', toolCallId: 'c2', errorText: 'no' }
    for (const chunk of [result('c2'), failed]) {
      expect(refused(ticket, chunk, 'ada', NOW + 1_000_000)).toBeUndefined()
      // Settled by its deadline, another result or the end of the run.
      for (const first of [entryBy(R1, failed), entryBy({ guest: 'bob' }, result('c2')), entryBy(R1, finished)]) {
        expect(refused(then(ticket, first), chunk, 'ada', NOW)).toBe('already-settled')
      }
    }
    const unapproved = then(ticket, entryBy(R1, asks('b', 'c2', NOW)))
    expect(refused(unapproved, result('c2'), 'ada', NOW)).toBe('unapproved')
  })

  test('a claim excludes other clients for its duration; its holder may extend it; any result still wins', () => {
    const ticket = then(open(calls('c1')), entryBy(ADA, claims('c1', NOW + 100, 'tab1')))
    expect(refused(ticket, claims('c1', NOW + 200, 'tab1'))).toBeUndefined()
    expect(refused(ticket, claims('c1', NOW + 200, 'tab2'))).toBe('claimed')
    expect(refused(ticket, claims('c1', NOW + 200, 'tab1'), 'bob')).toBe('claimed')
    expect(refused(ticket, result('c1'), 'bob')).toBeUndefined()
    expect(refused(ticket, claims('c1', NOW + 300, 'tab2'), 'ada', NOW + 100)).toBeUndefined()
  })

  test('a claim must end in the future and within an hour', () => {
    const ticket = open(calls('c1'))
    expect(refused(ticket, claims('c1', NOW))).toBe('late')
    expect(refused(ticket, claims('c1', NOW + 3_600_000))).toBeUndefined()
    expect(refused(ticket, claims('c1', NOW + 3_600_001))).toBe('late')
    expect(refused(ticket, claims('c9', NOW + 1))).toBe('unknown')
    expect(refused(open(asks('c1', 'c1')), claims('c1', NOW + 1))).toBe('unknown')
  })

  test('law 5: admits a stop only for an open or a requested run', () => {
    const ticket = then(open(), entryBy(ADA, request('r2', { whenBusy: 'queue' })))
    expect(refused(ticket, stops('r1'))).toBeUndefined()
    expect(refused(ticket, stops('r2'))).toBeUndefined()
    expect(refused(ticket, stops('r0'))).toBe('ended')
    expect(refused(then(ticket, entryBy(ADA, stops('r1'))), stops('r1'))).toBe('already-settled')
    expect(refused(then(ticket, entryBy(ADA, stops('r2'))), stops('r2'))).toBe('ended')
    expect(refused(then(ticket, entryBy(R1, finished)), stops('r1'))).toBe('ended')
  })

  test('law 5: admits an abort after an interrupt once, and refuses an interrupt after an abort', () => {
    const more = (runId: string): Chunk => ({ ...stops(runId), mode: 'abort' }) as Chunk
    const less = (runId: string): Chunk => ({ ...stops(runId), mode: 'interrupt' }) as Chunk
    const stopped = then(open(), entryBy(ADA, stops('r1')))
    expect(refused(stopped, less('r1'))).toBe('already-settled')
    expect(refused(stopped, more('r1'))).toBeUndefined()
    for (const aborted of [then(open(), entryBy(ADA, more('r1'))), then(stopped, entryBy(ADA, more('r1')))]) {
      for (const again of [stops('r1'), less('r1'), more('r1')]) {
        expect(refused(aborted, again)).toBe('already-settled')
      }
      expect(refused(then(aborted, entryBy(R1, finished)), more('r1'))).toBe('ended')
    }
    // An interrupting request stops the run without a stop mode.
    const interrupted = then(open(), entryBy(ADA, request('r2', { whenBusy: 'interrupt-previous' })))
    expect(refused(interrupted, more('r1'))).toBeUndefined()
  })

  test('law 5: admits at most two stops of a run, and the last one is the strongest', () => {
    let seconds = 0
    fc.assert(
      fc.property(appendAttempts, attempts => {
        const { entries } = admittedEntries(attempts)
        for (const [i, { chunk: start, origin }] of entries.entries()) {
          if (start.type !== 'run-started') continue
          const stops = entries.slice(i + 1).flatMap(({ chunk }) => (chunk.type === 'stop-requested' ? chunk : []))
          const isAbort = stops.filter(({ runId }) => runId === origin.runId).map(({ mode }) => mode === 'abort')
          expect([[], [false], [true], [false, true]]).toContainEqual(isAbort)
          if (isAbort.length === 2) seconds++
        }
      }),
      { numRuns: runs(150) },
    )
    expect(seconds).toBeGreaterThan(0)
  })

  test('law 5: while a run is open or requested, refuses another request unless it queues or interrupts', () => {
    for (const ticket of [open(), then(EMPTY_TICKET, entryBy(ADA, request('r2')))]) {
      expect(refused(ticket, request('r3'))).toBe('busy')
      expect(refused(ticket, request('r3', { whenBusy: 'reject' }))).toBe('busy')
      expect(refused(ticket, request('r3', { whenBusy: 'queue' }))).toBeUndefined()
      expect(refused(ticket, request('r3', { whenBusy: 'interrupt-previous' }))).toBeUndefined()
    }
    expect(refused(then(open(), entryBy(R1, finished)), request('r3'))).toBeUndefined()
  })

  test('refuses a request for a run that is open or has just ended', () => {
    expect(refused(open(), request('r1', { whenBusy: 'queue' }))).toBe('already-settled')
    expect(refused(then(open(), entryBy(R1, finished)), request('r1'))).toBe('already-settled')
  })

  test('admits one waiting rewind, also while a run is open or requested', () => {
    const ticket = open()
    expect(refused(ticket, request('r2', CUT))).toBeUndefined()
    const waiting = then(ticket, entryBy(ADA, request('r2', CUT)))
    expect(refused(waiting, request('r3', CUT))).toBe('cut-waiting')
    expect(refused(waiting, request('r3', { whenBusy: 'queue' }))).toBeUndefined()
  })

  test('law 8: limits the number of waiting requests', () => {
    let ticket = open()
    let count = 0
    while (refused(ticket, request(`q${count}`, { whenBusy: 'queue' })) === undefined) {
      ticket = then(ticket, entryBy(ADA, request(`q${count++}`, { whenBusy: 'queue' })))
    }
    expect(count).toBe(32)
    expect(refused(ticket, request('next', { whenBusy: 'queue' }))).toBe('full')
    expect(refused(ticket, request('next', CUT))).toBe('full')
    expect(refused(then(ticket, entryBy(ADA, stops('q5'))), request('next', CUT))).toBeUndefined()
  })

  test('an answer gets the run and the lane of its pending', () => {
    const child = writerOf('r1', 'child', 'sub')
    const ticket = then(open(asks('a', 'c1')), entryBy(child, calls('c2')))
    expect(answeredLane(ticket, approves('a', 'c1'))).toEqual({ runId: 'r1', lane: 'main' })
    expect(answeredLane(ticket, result('c2'))).toEqual({ runId: 'r1', lane: 'child' })
    expect(answeredLane(ticket, stops('r7'))).toEqual({ runId: 'r7' })
    expect(answeredLane(ticket, request('r2'))).toEqual({})
  })
})

describe('checkGuestChunk', () => {
  const invalid = (chunk: unknown): string => {
    try {
      checkGuestChunk(chunk as Chunk)
    } catch (error) {
      expect(error).toBeInstanceOf(LogError)
      expect((error as LogError).code).toBe('invalid')
      return (error as LogError).message
    }
    throw new Error('expected a refusal')
  }

  test('rejects chunks of writers and unknown types', () => {
    const chunks: unknown[] = [
      started,
      finished,
      { type: 'text-delta', id: '1', delta: 'I am the agent' },
      { type: 'message', messageId: 'm', role: 'user', parts: [] },
      { type: 'state-patch', patches: [] },
      { type: 'tool-approval-request', toolCallId: 'c', approvalId: 'a', input: 1 },
      { type: 'tool-output-denied', toolCallId: 'c' },
      { type: 'rewind', toSequence: 0, reason: 'x' },
      { type: 'step-discarded', reason: 'x' },
      { type: 'checkpoint-created', checkpointId: 'x' },
      { type: 'run-resumed', mode: 'continue' },
      { type: 'executor-superseded' },
      { type: 'data-x', data: 1 },
      { type: 'from-the-future' },
    ]
    for (const chunk of chunks) expect(invalid(chunk)).toContain('guests may not append this type')
  })

  test('rejects names of Object.prototype as chunk types', () => {
    for (const type of ['__proto__', 'constructor', 'toString', 'hasOwnProperty']) {
      expect(invalid({ type })).toContain('guests may not append this type')
    }
    expect(invalid(JSON.parse('{"__proto__":{"type":"stop-requested","runId":"r1"}}'))).toContain('type')
  })

  test('rejects values that are not chunks, and fields of wrong types', () => {
    for (const chunk of [null, undefined, 7, 'stop', [], {}, { type: 1 }, { type: 'stop-requested' }]) invalid(chunk)
    expect(invalid({ type: 'stop-requested', runId: 7 })).toContain('stop-requested.runId')
    expect(invalid({ ...approves('a', 'c'), approved: 'yes' })).toContain('approved')
    expect(invalid({ ...request('r'), cut: { toSequence: -1, reason: 'x' } })).toContain('toSequence')
    expect(invalid({ ...request('r'), whenBusy: 'always' })).toContain('whenBusy')
    expect(invalid({ ...request('r'), message: { messageId: 'm', role: 'king', parts: [] } })).toContain('role')
    expect(invalid({ type: 'tool-claimed', toolCallId: 'c', until: Number.NaN })).toContain('until')
    expect(invalid({ type: 'tool-claimed', toolCallId: 'c', until: Number.POSITIVE_INFINITY })).toContain('until')
  })

  test('rejects preliminary tool outputs', () => {
    expect(invalid({ ...result('c'), preliminary: true })).toContain('preliminary')
  })

  test('rejects message ids in the form of agent messages', () => {
    const message = { messageId: 'r1::r1', role: 'user', parts: [] }
    expect(invalid({ ...request('r2'), message })).toContain('::')
  })

  test('law 6: rejects names that are empty or too long', () => {
    const long = 'x'.repeat(513)
    for (const name of ['', long]) {
      expect(invalid(stops(name))).toContain(`found ${name.length}`)
      expect(invalid(approves(name, 'c'))).toContain('approvalId')
      expect(invalid(approves('a', name))).toContain('toolCallId')
      expect(invalid(answers(name))).toContain('interruptId')
      expect(invalid(claims('c', NOW, name))).toContain('by')
      expect(invalid({ ...request('r'), program: name })).toContain('program')
      expect(invalid({ ...request('r'), cut: { toSequence: 1, reason: name } })).toContain('cut.reason')
      expect(invalid({ ...request('r'), resume: { runId: name, mode: 'continue' } })).toContain('resume.runId')
      expect(invalid({ ...request('r'), message: { messageId: name, role: 'user', parts: [] } })).toContain('messageId')
    }
    checkGuestChunk(stops('x'.repeat(512)))
  })
})

describe('law 6: the size of a ticket is limited', () => {
  /** The longest names, of characters with three bytes each. */
  const MAX_BYTES = 4 * 1024 * 1024

  test('limits the ticket for all admitted entries, however long their names are', () => {
    const wide = '語'.repeat(512)
    fc.assert(
      fc.property(appendAttempts, attempts => {
        const { tickets } = admittedEntries(attempts)
        const largest = Math.max(0, ...tickets.map(ticket => recordOf(ticket).state.length))
        expect(largest).toBeLessThan(20_000)
      }),
      { numRuns: runs(50) },
    )
    let ticket = EMPTY_TICKET
    const name = (i: number) => `${i}${wide}`.slice(0, 512)
    for (let i = 0; i < 40; i++) {
      const entry = entryBy({ guest: wide }, { ...request(name(i), { whenBusy: 'queue' }), program: wide } as Chunk)
      if (guestRefusalReason(ticket, entry, NOW) === undefined) ticket = advance(ticket, [entry])
    }
    ticket = advance(ticket, [entryBy(R1, started)])
    for (let i = 0; i < 256; i++) {
      ticket = advance(ticket, [
        entryBy({ ...R1, lane: wide, agentId: wide }, calls(name(i))),
        entryBy({ guest: wide }, claims(name(i), NOW + 1, wide)),
      ])
    }
    expect(Buffer.byteLength(recordOf(ticket).state)).toBeLessThan(MAX_BYTES)
  })
})
