import { describe, expect, it } from 'vitest'
import { entryFields, origins } from '../entry/entry.ts'
import { frames } from '../frame/frame.ts'
import { catalogue, dataRow, groupOf, isDraftChunk, isGuestChunk, type Row } from './catalogue.ts'
import type { ChunkType } from './chunk.ts'
import { type FieldTypes, type NamedType, types } from './field-types.ts'

const basic = ['string', 'number', 'count', 'sequence', 'boolean', 'true', '1', 'json', 'object']
const typeNames = new Set([...basic, ...Object.keys(types)])
const rows: readonly (readonly [string, Row])[] = Object.entries({ ...catalogue, 'data-*': dataRow })
const typesWhere = (test: (row: Row) => boolean): string[] => rows.filter(([, row]) => test(row)).map(([type]) => type)

/** Every row of fields, with its location. */
function* allFields(): Generator<[place: string, fields: FieldTypes]> {
  for (const [type, row] of rows) {
    yield [type, row.fields]
    for (const [kind, fields] of Object.entries(row.kinds ?? {})) yield [`${type} ${kind}`, fields]
  }
  for (const [name, type] of Object.entries<NamedType>(types)) {
    if ('fields' in type) yield [name, type.fields]
    if ('on' in type) for (const [kind, fields] of Object.entries(type.kinds)) yield [`${name} ${kind}`, fields]
  }
  yield* Object.entries(frames)
  yield* Object.entries(origins)
  yield ['entry', entryFields]
}

describe('the table', () => {
  it.each([...allFields()])('refers only to existing types: %s', (_place, fields) => {
    for (const [name, type] of Object.entries(fields)) {
      const [, item] = /^(\w+)(?:\[\]|\{\})?\??$/.exec(type) ?? []
      expect(typeNames.has(item ?? ''), `${name}: ${type}`).toBe(true)
      expect(name).toMatch(/^[a-z][A-Za-z]*$/)
    }
  })

  it('has no unused named type', () => {
    const used = new Set(
      [...allFields()].flatMap(([, fields]) => Object.values(fields).map(type => type.replace(/[[\]{}?]/g, ''))),
    )
    expect(Object.keys(types).filter(name => !used.has(name))).toEqual([])
  })

  it('has every type in kebab case, and none with the prefix `data-`', () => {
    for (const type of Object.keys(catalogue)) expect(type).toMatch(/^(?!data-)[a-z]+(-[a-z]+)*$/)
  })

  it('has no field with the name of the discriminator', () => {
    for (const [type, row] of rows) {
      expect(Object.keys(row.fields), type).not.toContain('type')
      for (const fields of Object.values(row.kinds ?? {})) {
        const names = [...Object.keys(row.fields), ...Object.keys(fields)]
        expect(names, type).not.toContain('kind')
        expect(new Set(names).size, type).toBe(names.length)
      }
    }
    for (const type of Object.values<NamedType>(types)) {
      if ('on' in type)
        for (const fields of Object.values(type.kinds)) expect(Object.keys(fields)).not.toContain(type.on)
    }
  })

  it('lists each value of a named type once', () => {
    for (const type of Object.values<NamedType>(types)) {
      if (!('on' in type || 'fields' in type)) expect(new Set(type).size).toBe(type.length)
    }
  })

  it('has every type of every group', () => {
    const types = Object.keys(catalogue)
    const groups = [...new Set(types.map(groupOf))]
    const typesOf = groups.map(group => [group, types.filter(type => groupOf(type) === group)])
    expect(Object.fromEntries(typesOf)).toEqual({
      message: ['message', 'start', 'finish', 'abort', 'message-metadata'],
      text: ['text-start', 'text-delta', 'text-end'],
      reasoning: ['reasoning-start', 'reasoning-delta', 'reasoning-end'],
      tool: [
        ...['tool-input-start', 'tool-input-delta', 'tool-input-available', 'tool-input-error'],
        ...['tool-approval-request', 'tool-approval-response', 'tool-claimed'],
        ...['tool-output-available', 'tool-output-error', 'tool-output-denied'],
      ],
      content: ['source-url', 'source-document', 'file'],
      structured: ['structured-data', 'structured-data-invalidated'],
      state: ['state-snapshot', 'state-patch', 'output'],
      step: ['step-start', 'step-finish', 'checkpoint-created', 'step-discarded'],
      delegation: ['subagent-start', 'subagent-end'],
      workflow: [
        ...['session', 'session-info', 'status', 'transition'],
        ...['interrupt', 'interrupt-response', 'hook-completed', 'run-context'],
      ],
      run: [
        ...['run-requested', 'run-started', 'run-paused', 'run-resumed', 'stop-requested', 'run-finished'],
        ...['run-notified', 'executor-superseded', 'rewind'],
      ],
      error: ['error'],
    })
  })
})

describe('a guest', () => {
  const allowed = [
    ...['tool-approval-response', 'tool-output-available', 'tool-output-error', 'interrupt-response'],
    ...['tool-claimed', 'stop-requested', 'run-requested', 'run-notified', 'session-info'],
  ]

  it('may append only answers, claims, requests to stop or to run, notifications and session info', () => {
    expect(typesWhere(row => row.guest === true).sort()).toEqual(allowed.sort())
    for (const [type] of rows) expect(isGuestChunk(type), type).toBe(allowed.includes(type))
  })

  it('may not append an unknown type', () => {
    for (const type of ['glow', 'data-x', 'toString', '__proto__', '']) expect(isGuestChunk(type)).toBe(false)
  })
})

describe('a draft chunk', () => {
  const draftTypes = [
    ...['start', 'message-metadata', 'text-start', 'text-delta', 'text-end'],
    ...['reasoning-start', 'reasoning-delta', 'reasoning-end'],
    ...['tool-input-start', 'tool-input-delta', 'tool-input-available', 'tool-input-error'],
    ...[
      'source-url',
      'source-document',
      'file',
      'data-*',
      'structured-data',
      'structured-data-invalidated',
      'step-start',
    ],
  ]

  it('is text, reasoning, tool input, data, structured updates, sources, files, metadata and the starts of messages and steps', () => {
    expect(typesWhere(row => row.draft === true).sort()).toEqual(draftTypes.sort())
    for (const [type] of rows)
      expect(isDraftChunk({ type: type as ChunkType } as never), type).toBe(draftTypes.includes(type))
  })

  it('is a preliminary output, while a final one is not', () => {
    expect(typesWhere(row => row.draft === 'preliminary')).toEqual(['tool-output-available'])
    const output = { type: 'tool-output-available', toolCallId: 'c', output: 1 } as const
    expect(isDraftChunk(output)).toBe(false)
    expect(isDraftChunk({ ...output, preliminary: false })).toBe(false)
    expect(isDraftChunk({ ...output, preliminary: true })).toBe(true)
  })

  it('is never a pending, a commit, a discard, or the start or end of a lane', () => {
    const committed = [
      ...['tool-approval-request', 'interrupt', 'checkpoint-created', 'step-discarded', 'rewind'],
      ...['subagent-start', 'subagent-end', 'run-started', 'run-finished', 'state-patch', 'state-snapshot', 'output'],
    ] as const
    for (const type of committed) expect(isDraftChunk({ type } as never), type).toBe(false)
  })

  it('is never an unknown type, including inherited names', () => {
    for (const type of ['glow', 'toString', '__proto__', 'constructor']) {
      expect(isDraftChunk({ type } as never), type).toBe(false)
    }
  })
})
