import type { Chunk, JsonObject } from '@millrace/protocol'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { NewEntry } from '../store/entry.ts'
import { batchProblem } from './batch-problem.ts'
import { checkGuestChunk, guestRefusalReason } from './guest-refusal-reason.ts'
import { listFieldProblem, MAX_PREVIEW_LINE, previewLine } from './session-info.ts'
import { advance, EMPTY_TICKET, recordOf, type Ticket, ticketOf } from './ticket.ts'
import { admittedEntries, appendAttempts, entryBy, runs, writerOf } from './ticket-entries.fixture.ts'

const R1 = writerOf('r1')
const ADA = { guest: 'ada' }
const started: Chunk = { type: 'run-started', program: 'agent:a@1' }
const info = (fields: { title?: string; metadata?: JsonObject }): Chunk => ({ type: 'session-info', ...fields })
const after = (ticket: Ticket, ...chunks: Chunk[]): Ticket =>
  advance(
    ticket,
    chunks.map(chunk => entryBy(ADA, chunk)),
  )
const request = (runId: string, ...texts: string[]): Chunk => {
  const parts = texts.map(text => ({ type: 'text' as const, text }))
  return { type: 'run-requested', runId, program: 'agent:a@1', message: { messageId: 'm', role: 'user', parts } }
}
const finished = (line?: string): Chunk => {
  return { type: 'run-finished', status: 'completed', ...(line !== undefined && { line }) }
}
const nested = (levels: number): JsonObject => (levels === 1 ? {} : { a: nested(levels - 1) })

describe('preview line', () => {
  test.each([
    ['', ''],
    [' \n\t ', ''],
    ['Go on.', 'Go on.'],
    ['  Go\r\n\r\n on,\u2028 please\u00a0. ', 'Go on, please .'],
    ['x'.repeat(200), 'x'.repeat(160)],
    [`${'x'.repeat(159)} y`, 'x'.repeat(159)],
    [`${'x'.repeat(159)}🙂`, 'x'.repeat(159)],
    [`${'x'.repeat(158)}🙂🙂`, `${'x'.repeat(158)}🙂`],
  ])('shortens %j to %j', (text, line) => {
    expect(previewLine(text)).toBe(line)
  })

  test('is the start of the text with white space collapsed', () => {
    const text = fc.array(fc.constantFrom('a', ' ', '\n', '\t', '語', '🙂', 'word'.repeat(30)), { maxLength: 60 })
    fc.assert(
      fc.property(text, pieces => {
        const words = pieces.join('').split(/\s+/).join(' ').trim()
        const line = previewLine(pieces.join(''))
        expect(words.startsWith(line)).toBe(true)
        expect(line.isWellFormed()).toBe(true)
        expect(line.length).toBeLessThanOrEqual(MAX_PREVIEW_LINE)
        if (words.length > MAX_PREVIEW_LINE) expect(line.length).toBeGreaterThanOrEqual(MAX_PREVIEW_LINE - 2)
        else expect(line).toBe(words)
      }),
      { numRuns: runs(200) },
    )
  })

  test('comes from the last text: a request, or the pause or end of a run', () => {
    const lines: unknown[] = []
    let ticket: Ticket = EMPTY_TICKET
    const apply = (entry: NewEntry) => {
      ticket = advance(ticket, [entry])
      lines.push(ticket.line)
    }
    apply(entryBy(ADA, request('r1', 'Where is', 'Ulm?')))
    apply(entryBy(R1, started))
    apply(entryBy(R1, { type: 'run-paused', awaits: [], line: 'May I look?' }))
    apply(entryBy(R1, { type: 'run-resumed', mode: 'continue' }))
    apply(entryBy(R1, finished('By the Danube.')))
    expect(lines).toEqual(['Where is Ulm?', 'Where is Ulm?', 'May I look?', 'May I look?', 'By the Danube.'])
    // A chunk without text keeps the preview line.
    const requestWithoutInput: Chunk = { type: 'run-requested', runId: 'r2', program: 'agent:a@1' }
    expect(after(ticket, requestWithoutInput).line).toBe('By the Danube.')
    expect(after(ticket, request('r2', ' '), request('r3')).line).toBe('By the Danube.')
    expect(
      advance(after(ticket, requestWithoutInput), [
        entryBy(writerOf('r2'), started),
        entryBy(writerOf('r2'), finished()),
      ]).line,
    ).toBe('By the Danube.')
  })

  test('ignores the text of a run that is not open', () => {
    expect(advance(EMPTY_TICKET, [entryBy(R1, finished('Late.'))])).toBe(EMPTY_TICKET)
    expect(advance(EMPTY_TICKET, [entryBy(R1, { type: 'run-paused', awaits: [], line: 'Late.' })])).toBe(EMPTY_TICKET)
  })
})

describe('title and metadata', () => {
  test('come from the last session-info: omitted fields stay, metadata is replaced', () => {
    const first = after(EMPTY_TICKET, info({ title: 'A walk', metadata: { tags: ['a'], pinned: true } }))
    expect(first.about).toEqual({ title: 'A walk', metadata: { tags: ['a'], pinned: true } })
    expect(after(first, info({ title: 'A talk' })).about).toEqual({ ...first.about, title: 'A talk' })
    expect(after(first, info({ metadata: { tags: [] } })).about).toEqual({ title: 'A walk', metadata: { tags: [] } })
    expect(after(first, info({ title: '', metadata: {} })).about).toEqual({ title: '', metadata: {} })
    expect(after(first, info({})).about).toEqual(first.about)
  })

  test('law 5: change the version of the ticket, also without a new value', () => {
    const ticket = after(EMPTY_TICKET, info({ title: 'A walk' }))
    expect(after(ticket, info({ title: 'A walk' }))).not.toBe(ticket)
    expect(after(ticket, info({ title: 'A walk' }))).toEqual(ticket)
  })

  test('survive runs, rewinds and discards', () => {
    const named = after(EMPTY_TICKET, info({ title: 'A walk' }), request('r1', 'Go.'))
    const { about, line } = advance(named, [
      entryBy(R1, { type: 'rewind', toSequence: 0, reason: 'edit' }),
      entryBy(R1, started),
      entryBy(R1, { type: 'step-discarded', reason: 'retry' }),
      entryBy(R1, finished()),
    ])
    expect({ about, line }).toEqual({ about: { title: 'A walk' }, line: 'Go.' })
  })

  test('can be set at any time', () => {
    const open = advance(EMPTY_TICKET, [entryBy(R1, started)])
    const stopping = after(open, { type: 'stop-requested', runId: 'r1' })
    for (const ticket of [EMPTY_TICKET, open, stopping, advance(open, [entryBy(R1, finished())])]) {
      expect(guestRefusalReason(ticket, entryBy(ADA, info({ title: 'A walk' })), 0)).toBeUndefined()
    }
  })

  test('law 10: an internal session-info does not show in a list', () => {
    const open = advance(EMPTY_TICKET, [entryBy(R1, started)])
    expect(advance(open, [{ ...entryBy(R1, info({ title: 'Secret' })), internal: true }])).toBe(open)
  })
})

describe('law 6: limits of title, metadata and preview line', () => {
  const LIMITS: readonly (readonly [chunk: Chunk, problem: string | undefined])[] = [
    [info({ title: 'x'.repeat(200) }), undefined],
    [info({ title: 'x'.repeat(201) }), 'session-info.title: expected at most 200 characters, found 201'],
    [info({ metadata: { a: 'x'.repeat(4096 - 8) } }), undefined],
    [
      info({ metadata: { a: 'x'.repeat(4096 - 7) } }),
      'session-info.metadata: expected at most 4096 bytes of JSON, found 4097',
    ],
    [
      info({ metadata: { a: '語'.repeat(1400) } }),
      'session-info.metadata: expected at most 4096 bytes of JSON, found 4208',
    ],
    [info({ metadata: nested(16) }), undefined],
    [info({ metadata: { list: [nested(14)] } }), undefined],
    [info({ metadata: nested(17) }), 'session-info.metadata: expected at most 16 levels, found more'],
    [info({ metadata: { list: [nested(15)] } }), 'session-info.metadata: expected at most 16 levels, found more'],
    [finished('x'.repeat(160)), undefined],
    [finished('x'.repeat(161)), 'run-finished.line: expected at most 160 characters, found 161'],
    [
      { type: 'run-paused', awaits: [], line: 'x'.repeat(161) },
      'run-paused.line: expected at most 160 characters, found 161',
    ],
  ]
  test.each(LIMITS.map(([chunk, problem]) => [problem ?? `${chunk.type}: accepts it`, chunk, problem] as const))(
    '%s',
    (_, chunk, problem) => {
      expect(listFieldProblem(chunk)).toBe(problem)
      const open = advance(EMPTY_TICKET, [entryBy(R1, started)])
      expect(batchProblem(open, [entryBy(R1, chunk)])).toBe(problem)
      if (chunk.type !== 'session-info') return
      if (problem === undefined) checkGuestChunk(chunk)
      else {
        const refused = expect.objectContaining({ code: 'too-large', message: `chunk ${problem}` })
        expect(() => checkGuestChunk(chunk)).toThrow(refused)
      }
    },
  )
})

test('law 5: about and line of the ticket match those derived from the entries', () => {
  const seen = new Set<string | undefined>()
  fc.assert(
    fc.property(appendAttempts, attempts => {
      const { entries, tickets } = admittedEntries(attempts)
      for (const [i, ticket] of tickets.entries()) {
        const shown = { about: ticket.about, line: ticket.line }
        expect(shown).toEqual(expectedFields(entries.slice(0, i + 1)))
        expect(ticketOf(recordOf(ticket).state)).toEqual(ticket)
        seen.add(ticket.line).add(ticket.about?.title)
      }
    }),
    { numRuns: runs(100) },
  )
  const texts = ['It is done.', 'May I?', 'Go on.', 'Go on, please.', 'x'.repeat(160), 'A walk', 'A talk', '']
  expect([...seen]).toEqual(expect.arrayContaining([undefined, ...texts]))
})

/** Title, metadata and preview line, derived from the entries from the end. */
function expectedFields(entries: readonly NewEntry[]): Pick<Ticket, 'about' | 'line'> | object {
  const chunks = entries.map(({ chunk }) => chunk).reverse()
  const infos = chunks.filter(chunk => chunk.type === 'session-info')
  const title = infos.find(chunk => chunk.title !== undefined)?.title
  const metadata = infos.find(chunk => chunk.metadata !== undefined)?.metadata
  const lines = chunks.map(chunk => {
    if (chunk.type === 'run-paused' || chunk.type === 'run-finished') return chunk.line
    if (chunk.type !== 'run-requested') return undefined
    const [part] = chunk.message?.parts ?? []
    return part?.type === 'text' ? part.text.replace(/\s+/g, ' ').trim().slice(0, 160) : undefined
  })
  return { about: infos[0] && { title, metadata }, line: lines.find(line => line) }
}
