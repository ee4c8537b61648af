import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { catalogue } from '../catalogue/catalogue.ts'
import { arbitraryChunk, arbitraryEntry, arbitraryFrame } from '../catalogue/chunk.fixture.ts'
import type { ChunkType } from '../catalogue/chunk.ts'
import { fieldsCheck } from '../catalogue/field-check.ts'
import type { FieldTypes } from '../catalogue/field-types.ts'
import { entryFields, origins } from '../entry/entry.ts'
import { ProtocolError } from '../error/protocol-error.ts'
import { frames } from '../frame/frame.ts'
import { runs } from '../property-runs.fixture.ts'
import { open } from '../wire/connection.fixture.ts'
import {
  checkChunk,
  checkEntry,
  checkFrame,
  checkWireEntry,
  validateChunk,
  validateEntry,
  validateFrame,
} from './validate.ts'

const types = Object.keys(catalogue) as ChunkType[]
const origin = { runId: 'r', lane: 'main', agentId: 'r', agentType: 'helper', step: 1 }
const entry = { sequence: 1, timestamp: 5, origin, chunk: { type: 'text-end', id: 'a' } }
const frame = { type: 'entries', after: 0, sequence: 2, cursor: 'c', entries: [entry, { ...entry, sequence: 2 }] }

describe('a chunk', () => {
  it.each([...types, 'data-*' as const])('is valid if it matches its row: %s', type => {
    fc.assert(
      fc.property(arbitraryChunk(type), chunk => {
        expect(checkChunk(chunk)).toBe(undefined)
        expect(validateChunk(chunk)).toBe(chunk)
        expect(checkChunk(JSON.parse(JSON.stringify(chunk)))).toBe(undefined)
      }),
      { numRuns: runs(30) },
    )
  })

  it.each(types)('is invalid without a required field: %s', type => {
    const { fields } = catalogue[type] as { fields: Record<string, string> }
    const [good] = fc.sample(arbitraryChunk(type), { numRuns: 1, seed: 1 })
    for (const [name, kind] of Object.entries(fields)) {
      const { [name]: _, ...rest } = good as unknown as Record<string, unknown>
      const problem = checkChunk(rest)
      if (kind.endsWith('?')) expect(problem).toBe(undefined)
      else expect(problem).toMatch(new RegExp(`^ ${type}\\.${name}: expected .+, found undefined$`))
    }
  })

  it.each<[problem: string, value: unknown]>([
    [': expected object, found undefined', undefined],
    [': expected object, found null', null],
    [': expected object, found array', []],
    [': expected object, found string', 'text-delta'],
    [': expected object, found function', () => 1],
    ['.type: expected string, found undefined', {}],
    ['.type: expected string, found 7', { type: 7 }],
    [' text-delta.delta: expected string, found undefined', { type: 'text-delta', id: 'a' }],
    [' text-delta.delta: expected string, found array', { type: 'text-delta', id: 'a', delta: ['x'] }],
    [' text-delta: expected object, found array', Object.assign([], { type: 'text-delta', id: 'a', delta: '' })],
    [' rewind.toSequence: expected integer from 0, found 1.5', { type: 'rewind', toSequence: 1.5, reason: 'edit' }],
    [
      ' rewind.toSequence: expected integer from 0, found NaN',
      { type: 'rewind', toSequence: Number.NaN, reason: 'edit' },
    ],
    [
      ' tool-claimed.until: expected number, found Infinity',
      { type: 'tool-claimed', toolCallId: 'c', until: Number.POSITIVE_INFINITY },
    ],
    [' output.output: expected json, found undefined', { type: 'output' }],
    [' output.output: expected json, found function', { type: 'output', output: () => 1 }],
    [' start.metadata: expected object, found array', { type: 'start', metadata: [] }],
    [
      ' run-finished.status: expected completed | failed | interrupted | aborted, found "done"',
      { type: 'run-finished', status: 'done' },
    ],
    [
      ' run-finished.status: expected completed | failed | interrupted | aborted, found 1',
      { type: 'run-finished', status: 1 },
    ],
    [
      ' step-finish.usage.inputTokens: expected integer from 0, found string',
      { type: 'step-finish', usage: { inputTokens: '1' } },
    ],
    [
      ' message.parts[1].text: expected string, found null',
      { type: 'message', messageId: 'm', role: 'user', parts: [{ type: 'x' }, { type: 'text', text: null }] },
    ],
    [
      ' message.parts[0].type: expected string, found undefined',
      { type: 'message', messageId: 'm', role: 'user', parts: [{}] },
    ],
    [
      ' message.parts[0].data: expected json, found undefined',
      { type: 'message', messageId: 'm', role: 'user', parts: [{ type: 'data-x' }] },
    ],
    [
      ' state-patch.patches[0].op: expected add | remove | replace | move | copy | test, found "put"',
      { type: 'state-patch', patches: [{ op: 'put', path: '' }] },
    ],
    [
      ' state-patch.patches[0].value: expected json, found undefined',
      { type: 'state-patch', patches: [{ op: 'add', path: '' }] },
    ],
    [
      ' structured-data.kind: expected set | append | text-delta | final, found undefined',
      { type: 'structured-data', streamId: 's', dataType: 'd' },
    ],
    [
      ' structured-data.items: expected array, found undefined',
      { type: 'structured-data', streamId: 's', dataType: 'd', kind: 'append', path: 'a' },
    ],
    [' data-weather.data: expected json, found undefined', { type: 'data-weather' }],
  ])('reports the problem%s', (problem, value) => {
    expect(checkChunk(value)).toBe(problem)
    expect(() => validateChunk(value)).toThrow(new ProtocolError('invalid-chunk', `chunk${problem}`))
  })

  it('may have unknown fields and an unknown type', () => {
    expect(checkChunk({ type: 'text-end', id: 'a', glow: () => 1 })).toBe(undefined)
    for (const type of ['glow', '', 'toString', '__proto__', 'Text-Delta'])
      expect(checkChunk({ type }), type).toBe(undefined)
  })

  it('may have undefined in an optional field', () => {
    expect(checkChunk({ type: 'start', metadata: undefined })).toBe(undefined)
  })
})

describe('an entry', () => {
  it('is valid if it matches its tables', () => {
    fc.assert(
      fc.property(arbitraryEntry(), value => void expect(validateEntry(value)).toBe(value)),
      { numRuns: runs(200) },
    )
  })

  it.each<[problem: string, change: object]>([
    ['.sequence: expected integer from 1, found 0', { sequence: 0 }],
    ['.timestamp: expected number, found string', { timestamp: '5' }],
    ['.origin.step: expected integer from 0, found -1', { origin: { ...origin, step: -1 } }],
    ['.origin: expected object, found undefined', { origin: undefined }],
    ['.origin.lane: expected string, found undefined', { origin: { ...origin, lane: undefined } }],
    ['.origin.guest: expected string, found null', { origin: { guest: null } }],
    ['.chunk: expected object, found undefined', { chunk: undefined }],
    ['.chunk text-end.id: expected string, found undefined', { chunk: { type: 'text-end' } }],
    ['.internal: expected true, found false', { internal: false }],
    ['.blobs["/output"].bytes: expected integer from 0, found undefined', { blobs: { '/output': { hash: 'h' } } }],
    ['.blobs["__proto__"]: expected object, found 1', { blobs: JSON.parse('{"__proto__":1}') }],
  ])('reports the problem%s', (problem, change) => {
    const value = { ...entry, ...change }
    expect(checkEntry(entry)).toBe(undefined)
    expect(checkEntry(value)).toBe(problem)
    expect(() => validateEntry(value)).toThrow(new ProtocolError('invalid-chunk', `entry${problem}`))
  })

  it('may omit its origin only on the wire', () => {
    const { origin: _, ...rest } = entry
    expect(checkWireEntry(rest)).toBe(undefined)
    expect(checkEntry(rest)).toBe('.origin: expected object, found undefined')
  })
})

describe('a frame', () => {
  it('is valid if it matches its table', () => {
    fc.assert(
      fc.property(arbitraryFrame(), value => void expect(validateFrame(value)).toBe(value)),
      { numRuns: runs(200) },
    )
  })

  it('accepts inherited origins in all entries after the first', () => {
    const { origin: _, ...rest } = entry
    expect(checkFrame({ ...frame, entries: [entry, rest] })).toBe(undefined)
    expect(checkFrame({ ...frame, entries: [rest, entry] })).toBe(
      ' entries.entries[0].origin: expected object, found undefined',
    )
    expect(checkFrame({ ...frame, entries: [] })).toBe(undefined)
  })

  it.each<[problem: string, value: unknown]>([
    [': expected object, found null', null],
    ['.type: expected string, found undefined', {}],
    [' open.protocol: expected 1, found 2', { ...open('a'), protocol: 2, head: 'of another form' }],
    [' open.protocol: expected 1, found string', { ...open('a'), protocol: '1' }],
    [' open.head: expected integer from 0, found -1', { ...open('a'), head: -1 }],
    [' open.heartbeatMs: expected integer from 0, found -1', { ...open('a'), heartbeatMs: -1 }],
    [' entries.after: expected integer from 0, found -1', { ...frame, after: -1 }],
    [' entries.sequence: expected integer from 0, found -2', { ...frame, sequence: -2 }],
    [' caught-up.sequence: expected integer from 0, found -1', { type: 'caught-up', sequence: -1, cursor: 'c' }],
    [' truncated.floor: expected integer from 0, found undefined', { type: 'truncated', incarnation: 'i' }],
    [' truncated.incarnation: expected string, found undefined', { type: 'truncated', floor: 0 }],
    [' truncated.head: expected integer from 0, found -1', { type: 'truncated', floor: 0, incarnation: 'i', head: -1 }],
    [' glow: expected one of open, entries, caught-up, status, end, truncated, fail', { type: 'glow' }],
    [' entries.sequence: expected integer from 0, found undefined', { type: 'entries' }],
    [' entries: expected object, found array', Object.assign([], frame)],
    [
      ' entries.entries[1].chunk.type: expected string, found undefined',
      { ...frame, entries: [entry, { ...entry, chunk: {} }] },
    ],
    [
      ' truncated.reason: expected incarnation | epoch | past-head | below-floor, found "old"',
      { type: 'truncated', floor: 0, incarnation: 'i', reason: 'old' },
    ],
    [' end.status: expected completed | failed | interrupted | aborted | paused, found undefined', { type: 'end' }],
    [' end.sequence: expected integer from 0, found undefined', { type: 'end', status: 'paused' }],
    [' status.status: expected paused | active, found "ended"', { type: 'status', status: 'ended' }],
    [' fail.error: expected object, found undefined', { type: 'fail', code: 'draining', message: 'm' }],
    [' fail.error.message: expected string, found undefined', { type: 'fail', error: { code: 'draining' } }],
    [
      ' fail.recoverable: expected boolean, found undefined',
      { type: 'fail', error: { code: 'draining', message: 'm' } },
    ],
  ])('reports the problem%s', (problem, value) => {
    expect(checkFrame(frame)).toBe(undefined)
    expect(checkFrame(value)).toBe(problem)
    expect(() => validateFrame(value)).toThrow(new ProtocolError('invalid-frame', `frame${problem}`))
  })
})

describe('the handwritten checks', () => {
  const full = () => ({
    ...frame,
    sessionId: 's',
    entries: [
      {
        ...entry,
        origin: { ...origin, node: 'n', model: 'm' },
        internal: true,
        blobs: { '/a': { hash: 'h', bytes: 1 } },
      },
      { ...entry, origin: { guest: 'ann', runId: 'r', lane: 'main' } },
    ],
  })
  const values = [undefined, null, true, false, -1, 0, 1.5, 2 ** 53, Number.NaN, 'x', [], [null], {}, { x: 1 }, () => 1]

  it.each<[string, FieldTypes, (frame: ReturnType<typeof full>) => object]>([
    [' entries', frames.entries, frame => frame],
    [' entries.entries[0]', entryFields, frame => frame.entries[0] as object],
    [' entries.entries[0].origin', origins.writer, frame => frame.entries[0]?.origin as object],
    [' entries.entries[1].origin', origins.guest, frame => frame.entries[1]?.origin as object],
  ])('agree with the table:%s', (label, fields, at) => {
    const tableCheck = fieldsCheck(fields)
    let refused = 0
    for (const name of Object.keys(fields)) {
      for (const value of values) {
        const changed = full()
        const object = at(changed) as { [key: string]: unknown }
        object[name] = value
        const problem = tableCheck(object)
        // An origin without `guest` is a writer's, and these three have stricter checks than the table.
        if (problem === undefined || (name === 'guest' && value === undefined)) continue
        refused++
        expect(checkFrame(changed), `${name}: ${String(value)}`).toBe(label + problem)
      }
      const missing = full()
      delete (at(missing) as { [key: string]: unknown })[name]
      const problem = tableCheck(at(missing))
      if (problem !== undefined && name !== 'guest') expect(checkFrame(missing)).toBe(label + problem)
    }
    expect(refused).toBeGreaterThan(8)
    expect(checkFrame(full())).toBe(undefined)
  })
})
