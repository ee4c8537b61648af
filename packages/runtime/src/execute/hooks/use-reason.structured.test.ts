// The object of a call as readers see it: one stream id, field by field, and withdrawn if it fails.

import type { Fields, Json } from '@millrace/protocol'
import { applyStructuredChunk } from '@millrace/protocol'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { tool } from '../../define/tool.ts'
import { type ScriptedAnswer, scriptedModel } from '../../model/scripted-model.ts'
import { runNode, structuredIn, textIn } from './reason.fixture.ts'
import { useReason } from './use-reason.ts'

/** The public updates of an object that a model answers with. */
async function shown(text: string, fields: Fields, pieceLength = 4) {
  const outputSchema = z.any().refine(value => typeof value === 'object')
  const nodeRun = await runNode(() =>
    useReason({
      model: scriptedModel([{ text, pieceLength }]),
      input: 'x',
      id: 'mine',
      outputSchema,
      jsonSchema: { type: 'object' },
      structured: { dataType: 'email', schemaId: 'email', schemaVersion: '2', fields },
    }),
  )
  const chunks = structuredIn(nodeRun.log)
  const updates = chunks.filter(chunk => chunk.type === 'structured-data')
  return { ...nodeRun, chunks, updates, kinds: updates.map(({ kind }) => kind) }
}

const EMAIL = { subject: 'Hi', body: 'Dear Ann, \u{1F600} well', bullets: ['a', 'b'], hidden: true }

test('sets one field of an email draft, streams another, appends to a list and ends with the final object', async () => {
  const { updates, view, returned } = await shown(JSON.stringify(EMAIL), {
    subject: 'set',
    body: 'text-delta',
    bullets: 'append',
  })
  expect(new Set(updates.map(({ streamId }) => streamId)).size).toBe(1)
  for (const one of updates) {
    expect(one).toMatchObject({ dataType: 'email', schemaId: 'email', schemaVersion: '2', id: 'mine', node: 'node' })
  }
  expect(updates[0]).toMatchObject({ kind: 'set', path: 'subject', value: 'Hi' })
  const body = updates.flatMap(update => (update.kind === 'text-delta' ? update.delta : []))
  expect(body.join('')).toBe(EMAIL.body)
  expect(body.every(delta => delta.isWellFormed())).toBe(true)
  expect(updates.flatMap(update => (update.kind === 'append' ? update.items : []))).toEqual(['a', 'b'])
  expect(updates.at(-1)).toMatchObject({ kind: 'final', data: EMAIL })
  expect(updates.slice(0, -1).some(update => JSON.stringify(update).includes('hidden'))).toBe(false)
  expect(view.structured).toMatchObject([{ status: 'done', data: EMAIL }])
  expect(returned.output).toEqual(EMAIL)
})

test.each<[string, Fields]>([
  ['without fields', {}],
  ['with stream: false', { subject: 'set' }],
])('writes one final object %s', async (name, fields) => {
  const { log } = await runNode(() =>
    useReason({
      model: scriptedModel([{ text: JSON.stringify(EMAIL) }]),
      input: 'x',
      outputSchema: z.looseObject({ subject: z.string() }),
      structured: { fields: fields as object, ...(name.startsWith('with ') && { stream: false }) },
    }),
  )
  expect(structuredIn(log)).toMatchObject([{ kind: 'final', dataType: 'generic', data: EMAIL }])
  expect(textIn(log)).toBe('')
})

test('streams nested fields, indexes and wildcards in document order', async () => {
  const document = {
    sections: [
      { title: 'A', body: 'one' },
      { title: 'B', body: 'two' },
    ],
    points: { cost: { label: 'Cost' }, risk: { label: 'Risk' } },
    table: { rows: [[1], [2]] },
  }
  const { updates, view } = await shown(JSON.stringify(document), {
    'sections.*.body': 'text-delta',
    'sections.1.title': 'set',
    'points.*.label': 'set',
    'table.rows': 'append',
  })
  const paths = updates.flatMap(update => ('path' in update ? update.path : []))
  expect([...new Set(paths)]).toEqual([
    'sections.0.body',
    'sections.1.title',
    'sections.1.body',
    'points.cost.label',
    'points.risk.label',
    'table.rows',
  ])
  expect(view.structured).toMatchObject([{ status: 'done', data: document }])
})

test.each<[string, string, Fields]>([
  ['keys with dots', '{"a.b":"x","c":"y"}', { '*': 'set' }],
  ['numeric keys', '{"years":{"2024":"x","7":"y"}}', { 'years.*': 'set' }],
  ['__proto__', '{"__proto__":{"polluted":"yes"},"constructor":"x"}', { '*': 'set', '*.polluted': 'set' } as Fields],
  ['a repeated key', '{"a":"first one","a":"second"}', { a: 'text-delta' }],
  ['an escaped surrogate pair', '{"a":"\\ud83d\\ude00 \\ud83d"}', { a: 'text-delta' }],
  ['an empty text and list', '{"a":"","b":[]}', { a: 'text-delta', b: 'append' }],
  ['null instead of text', '{"a":null}', { a: 'text-delta' }],
])(
  'writes updates that every reader can apply, and the answer of the model as the final object: %s',
  async (_what, text, fields) => {
    const fieldKinds = Object.keys(fields).length > 1 && '*.polluted' in fields ? { '*': 'set' as const } : fields
    for (const pieceLength of [1, 5, 1000]) {
      const { chunks, view, returned } = await shown(text, fieldKinds, pieceLength)
      expect(returned.output).toEqual(JSON.parse(text))
      expect(view.structured).toMatchObject([{ status: 'done' }])
      expect(view.structured[0]?.data).toEqual(JSON.parse(text))
      let state: Parameters<typeof applyStructuredChunk>[0]
      for (const chunk of chunks) if (chunk.type === 'structured-data') state = applyStructuredChunk(state, chunk)
      expect(state).toMatchObject({ status: 'done' })
    }
    expect(({} as { polluted?: Json }).polluted).toBeUndefined()
  },
)

test('withdraws an invalid partial object before the next one', async () => {
  const answers: readonly ScriptedAnswer[] = [
    { text: '{"subject":"First","stars":"x"}', pieceLength: 4 },
    { text: '{"subject":"Second","stars":1}', pieceLength: 4 },
  ]
  const { log, view } = await runNode(() =>
    useReason({
      model: scriptedModel(answers),
      input: 'x',
      outputSchema: z.object({ subject: z.string(), stars: z.number() }),
      structured: { fields: { subject: 'text-delta' } },
    }),
  )
  const kinds = structuredIn(log).map(chunk => ('kind' in chunk ? chunk.kind : 'invalidated'))
  expect(kinds.filter((kind, at) => kind !== kinds[at - 1])).toEqual([
    'text-delta',
    'invalidated',
    'text-delta',
    'final',
  ])
  expect(new Set(structuredIn(log).map(({ streamId }) => streamId)).size).toBe(1)
  expect(view.structured).toMatchObject([{ status: 'done', data: { subject: 'Second', stars: 1 } }])
})

test('takes the object from the last answer, not from text next to calls', async () => {
  const look = tool({ name: 'look', inputSchema: z.object({}), execute: () => 'seen' })
  const { log, view, returned } = await runNode(() =>
    useReason({
      model: scriptedModel([
        { text: '{"subject":"No', calls: [{ name: 'look', input: {} }], pieceLength: 3 },
        { text: '{"subject":"Seen"}', pieceLength: 3 },
      ]),
      input: 'x',
      tools: [look],
      outputSchema: z.object({ subject: z.string() }),
      structured: { fields: { subject: 'text-delta' } },
    }),
  )
  expect(returned).toMatchObject({ output: { subject: 'Seen' }, toolResults: [{ output: 'seen' }] })
  expect(textIn(log)).toBe('')
  const updates = structuredIn(log)
  const at = updates.findIndex(({ type }) => type === 'structured-data-invalidated')
  expect(updates[at]).toMatchObject({ reason: 'tool-calls' })
  expect(view.structured).toMatchObject([{ status: 'done', data: { subject: 'Seen' } }])
})

test('gives each call of a node its own object', async () => {
  const ask = (id: string) =>
    useReason({
      id,
      model: scriptedModel([{ text: `{"a":"${id}"}`, pieceLength: 2 }]),
      input: 'x',
      outputSchema: z.object({ a: z.string() }),
      structured: { fields: { a: 'text-delta' } },
    })
  const { view } = await runNode(async () => {
    await Promise.all([ask('one'), ask('two')])
    await ask('one')
  })
  expect(view.structured.map(({ data, status }) => [data, status])).toEqual(
    expect.arrayContaining([
      [{ a: 'one' }, 'done'],
      [{ a: 'two' }, 'done'],
    ]),
  )
  expect(view.structured).toHaveLength(3)
})
