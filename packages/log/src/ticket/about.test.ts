import type { Chunk, JsonObject } from '@millrace/protocol'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { NewEntry } from '../store/entry.ts'
import { aboutProblem, lineOf, MAX_LINE } from './about.ts'
import { checkGuestChunk, refusalOf } from './admission.ts'
import { batchProblem } from './batch-problem.ts'
import { advance, EMPTY_TICKET, recordOf, type Ticket, ticketOf } from './ticket.ts'
import { admitted, by, runs, wishes, writerOf } from './ticket-entries.fixture.ts'

const R1 = writerOf('r1')
const ADA = { guest: 'ada' }
const started: Chunk = { type: 'run-started', program: 'agent:a@1' }
const info = (said: { title?: string; metadata?: JsonObject }): Chunk => ({ type: 'session-info', ...said })
const after = (ticket: Ticket, ...chunks: Chunk[]): Ticket =>
  advance(
    ticket,
    chunks.map(chunk => by(ADA, chunk)),
  )
const request = (runId: string, ...texts: string[]): Chunk => {
  const parts = texts.map(text => ({ type: 'text' as const, text }))
  return { type: 'run-requested', runId, program: 'agent:a@1', message: { messageId: 'm', role: 'user', parts } }
}
const finished = (line?: string): Chunk => {
  return { type: 'run-finished', status: 'completed', ...(line !== undefined && { line }) }
}
const nested = (levels: number): JsonObject => (levels === 1 ? {} : { a: nested(levels - 1) })

describe('a line for lists', () => {
  test.each([
    ['', ''],
    [' \n\t ', ''],
    ['Go on.', 'Go on.'],
    ['  Go\r\n\r\n on,\u2028 please\u00a0. ', 'Go on, please .'],
    ['x'.repeat(200), 'x'.repeat(160)],
    [`${'x'.repeat(159)} y`, 'x'.repeat(159)],
    [`${'x'.repeat(159)}🙂`, 'x'.repeat(159)],
    [`${'x'.repeat(158)}🙂🙂`, `${'x'.repeat(158)}🙂`],
  ])('of %j is %j', (text, line) => {
    expect(lineOf(text)).toBe(line)
  })

  test('is the beginning of the text with its white space collapsed, whatever the text', () => {
    const text = fc.array(fc.constantFrom('a', ' ', '\n', '\t', '語', '🙂', 'word'.repeat(30)), { maxLength: 60 })
    fc.assert(
      fc.property(text, pieces => {
        const words = pieces.join('').split(/\s+/).join(' ').trim()
        const line = lineOf(pieces.join(''))
        expect(words.startsWith(line)).toBe(true)
        expect(line.isWellFormed()).toBe(true)
        expect(line.length).toBeLessThanOrEqual(MAX_LINE)
        if (words.length > MAX_LINE) expect(line.length).toBeGreaterThanOrEqual(MAX_LINE - 2)
        else expect(line).toBe(words)
      }),
      { numRuns: runs(200) },
    )
  })

  test('is of the last who said something: who asks for a run, or the run when it waits or ends', () => {
    const lines: unknown[] = []
    let ticket: Ticket = EMPTY_TICKET
    const say = (entry: NewEntry) => {
      ticket = advance(ticket, [entry])
      lines.push(ticket.line)
    }
    say(by(ADA, request('r1', 'Where is', 'Ulm?')))
    say(by(R1, started))
    say(by(R1, { type: 'run-paused', awaits: [], line: 'May I look?' }))
    say(by(R1, { type: 'run-resumed', mode: 'continue' }))
    say(by(R1, finished('By the Danube.')))
    expect(lines).toEqual(['Where is Ulm?', 'Where is Ulm?', 'May I look?', 'May I look?', 'By the Danube.'])
    // Who says nothing leaves the last line as it was.
    const silent: Chunk = { type: 'run-requested', runId: 'r2', program: 'agent:a@1' }
    expect(after(ticket, silent).line).toBe('By the Danube.')
    expect(after(ticket, request('r2', ' '), request('r3')).line).toBe('By the Danube.')
    expect(advance(after(ticket, silent), [by(writerOf('r2'), started), by(writerOf('r2'), finished())]).line).toBe(
      'By the Danube.',
    )
  })

  test('is not of a run that is not open', () => {
    expect(advance(EMPTY_TICKET, [by(R1, finished('Late.'))])).toBe(EMPTY_TICKET)
    expect(advance(EMPTY_TICKET, [by(R1, { type: 'run-paused', awaits: [], line: 'Late.' })])).toBe(EMPTY_TICKET)
  })
})

describe('what a log is called', () => {
  test('is what was said last: what is not named stays, metadata comes whole', () => {
    const first = after(EMPTY_TICKET, info({ title: 'A walk', metadata: { tags: ['a'], pinned: true } }))
    expect(first.about).toEqual({ title: 'A walk', metadata: { tags: ['a'], pinned: true } })
    expect(after(first, info({ title: 'A talk' })).about).toEqual({ ...first.about, title: 'A talk' })
    expect(after(first, info({ metadata: { tags: [] } })).about).toEqual({ title: 'A walk', metadata: { tags: [] } })
    expect(after(first, info({ title: '', metadata: {} })).about).toEqual({ title: '', metadata: {} })
    expect(after(first, info({})).about).toEqual(first.about)
  })

  test('law 5: moves the ticket, also where it says nothing new', () => {
    const ticket = after(EMPTY_TICKET, info({ title: 'A walk' }))
    expect(after(ticket, info({ title: 'A walk' }))).not.toBe(ticket)
    expect(after(ticket, info({ title: 'A walk' }))).toEqual(ticket)
  })

  test('no run and no cut touches it', () => {
    const named = after(EMPTY_TICKET, info({ title: 'A walk' }), request('r1', 'Go.'))
    const { about, line } = advance(named, [
      by(R1, { type: 'rewind', toSequence: 0, reason: 'edit' }),
      by(R1, started),
      by(R1, { type: 'step-discarded', reason: 'retry' }),
      by(R1, finished()),
    ])
    expect({ about, line }).toEqual({ about: { title: 'A walk' }, line: 'Go.' })
  })

  test('may be said at any time', () => {
    const open = advance(EMPTY_TICKET, [by(R1, started)])
    const stopping = after(open, { type: 'stop-requested', runId: 'r1' })
    for (const ticket of [EMPTY_TICKET, open, stopping, advance(open, [by(R1, finished())])]) {
      expect(refusalOf(ticket, by(ADA, info({ title: 'A walk' })), 0)).toBeUndefined()
    }
  })

  test('law 10: an internal one shows in no list', () => {
    const open = advance(EMPTY_TICKET, [by(R1, started)])
    expect(advance(open, [{ ...by(R1, info({ title: 'Secret' })), internal: true }])).toBe(open)
  })
})

describe('law 6: what a list may show', () => {
  test.each<[Chunk, string | undefined]>([
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
  ])('%j', (chunk, problem) => {
    expect(aboutProblem(chunk)).toBe(problem)
    const open = advance(EMPTY_TICKET, [by(R1, started)])
    expect(batchProblem(open, [by(R1, chunk)])).toBe(problem)
    if (chunk.type !== 'session-info') return
    if (problem === undefined) checkGuestChunk(chunk)
    else {
      const refused = expect.objectContaining({ code: 'too-large', message: `chunk ${problem}` })
      expect(() => checkGuestChunk(chunk)).toThrow(refused)
    }
  })
})

test('law 5: what a list shows is what a plain reading of the entries says', () => {
  const seen = new Set<string | undefined>()
  fc.assert(
    fc.property(wishes, wished => {
      const { entries, tickets } = admitted(wished)
      for (const [i, ticket] of tickets.entries()) {
        const shown = { about: ticket.about, line: ticket.line }
        expect(shown).toEqual(plain(entries.slice(0, i + 1)))
        expect(ticketOf(recordOf(ticket).state)).toEqual(ticket)
        seen.add(ticket.line).add(ticket.about?.title)
      }
    }),
    { numRuns: runs(100) },
  )
  const said = ['It is done.', 'May I?', 'Go on.', 'Go on, please.', 'x'.repeat(160), 'A walk', 'A talk', '']
  expect([...seen]).toEqual(expect.arrayContaining([undefined, ...said]))
})

/** What a log is called and the last line of it, each read off the entries from the end. */
function plain(entries: readonly NewEntry[]): Pick<Ticket, 'about' | 'line'> | object {
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
