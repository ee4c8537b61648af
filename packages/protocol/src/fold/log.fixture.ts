// Arbitrary logs: of any shape, dense enough that lanes collide, and of the shape that writers accept.

import fc from 'fast-check'
import { isDraftChunk } from '../catalogue/catalogue.ts'
import type { Chunk } from '../catalogue/chunk.ts'
import type { Entry, Origin, WriterOrigin } from '../entry/entry.ts'
import { checkChunk } from '../validate/validate.ts'
import { Fold } from './fold.ts'
import type { View } from './view.ts'

const writer = (runId: string, lane: string, agentId: string): WriterOrigin => ({
  runId,
  lane,
  agentId,
  agentType: 'assistant',
  step: 1,
})

/** The writers: two lanes of one agent, a sub-agent, and a second run. */
export const WRITERS = [
  writer('r1', 'main', 'r1'),
  writer('r1', 'tool', 'r1'),
  writer('r1', 'child', 'sub'),
  writer('r2', 'main', 'r2'),
] as const
export const GUEST: Origin = { guest: 'ada', runId: 'r1' }

const id = fc.constantFrom('1', '2')
const toolCallId = fc.constantFrom('c1', 'c2')
const text = fc.constantFrom('a', 'bb', '{"x":', '[1,', '"q', '}', '')
const path = fc.constantFrom('a', 'a.b', 'l', 'l.0', 'l.0.t', 'l.1.t', 'l.2', '__proto__.x', 't', '', 'a..b', 'o.2024')
const value = fc.constantFrom<fc.JsonValue>(1, 'v', null, [], {}, [1], { b: 'x' }, { l: [] })
const executor = fc.constantFrom('server', 'client')
const streamId = id
const dataType = fc.constantFrom('d', 'e')
const oneOf = <T extends string>(...types: T[]) => fc.constantFrom(...types)
const mode = oneOf('continue', 'with-message', 'with-confirmation', 'from-checkpoint')
/** Fields that a later version might add, with names that have a meaning elsewhere. */
const extra = fc.record(
  Object.fromEntries(
    [
      'delta',
      'items',
      'id',
      'toolCallId',
      'streamId',
      'key',
      'at',
      'blobs',
      'state',
      'status',
      'runId',
      'agents',
      'usage',
      'transient',
      'unset',
    ].map(name => [name, value]),
  ),
  { requiredKeys: [] },
)
const row = (model: Record<string, fc.Arbitrary<unknown>>, optional: string[] = []): fc.Arbitrary<Chunk> => {
  const plain = fc.record(model, { requiredKeys: Object.keys(model).filter(key => !optional.includes(key)) })
  const more = fc.tuple(extra, plain).map(([fields, chunk]) => ({ ...fields, ...chunk }))
  return fc.oneof(
    { weight: 9, arbitrary: plain },
    { weight: 1, arbitrary: more.filter(chunk => checkChunk(chunk) === undefined) },
  ) as fc.Arbitrary<Chunk>
}
const structured = (kind: string, fields: Record<string, fc.Arbitrary<unknown>>) =>
  row({ type: oneOf('structured-data'), streamId, dataType, kind: oneOf(kind), ...fields })

/** Chunks of each family, with few ids, so that they collide. Draft chunks and committed chunks are in separate families. */
const FAMILIES = {
  text: [
    row({ type: oneOf('text-start', 'text-end', 'reasoning-start', 'reasoning-end'), id }),
    row({ type: oneOf('text-delta', 'text-delta', 'reasoning-delta'), id, delta: text }),
    row({
      type: oneOf('text-delta', 'reasoning-end'),
      id,
      delta: text,
      providerMetadata: fc.constantFrom({ s: 1 }, { s: 2 }),
    }),
  ],
  toolDrafts: [
    row({ type: oneOf('tool-input-start'), toolCallId, toolName: oneOf('t', 'u'), executor }),
    row({ type: oneOf('tool-input-delta'), toolCallId, delta: text }),
    row({ type: oneOf('tool-input-available'), toolCallId, toolName: oneOf('t'), input: value, executor }, [
      'executor',
    ]),
    row({ type: oneOf('tool-input-error'), toolCallId, errorText: text, partialInput: value }, ['partialInput']),
    row({ type: oneOf('tool-output-available'), toolCallId, output: value, preliminary: fc.constant(true) }),
  ],
  toolCommitted: [
    row({ type: oneOf('tool-output-available'), toolCallId, output: value }),
    row({ type: oneOf('tool-output-error'), toolCallId, errorText: text, code: oneOf('boom') }, ['code']),
    row({ type: oneOf('tool-output-denied'), toolCallId }),
    row({ type: oneOf('tool-approval-request'), toolCallId, approvalId: id, input: value }),
  ],
  content: [
    row({ type: oneOf('data-tool', 'data-y'), id, data: value }, ['id']),
    row({ type: oneOf('data-text'), data: value, transient: fc.boolean() }),
    row({ type: oneOf('source-url'), sourceId: id, url: text }),
    row({ type: oneOf('source-document'), sourceId: id, title: text }),
    row({ type: oneOf('file'), url: text, mediaType: oneOf('text/plain'), id }, ['id']),
    row({ type: oneOf('step-start') }),
  ],
  meta: [
    row({
      type: oneOf('message-metadata', 'start'),
      metadata: fc.constantFrom({ a: 1 }, { a: { x: 1 } }, { a: { y: 2 }, b: 1 }, { b: null }),
    }),
  ],
  metaCommitted: [row({ type: oneOf('finish'), finishReason: oneOf('stop', 'length') }), row({ type: oneOf('abort') })],
  structured: [
    structured('set', { path, value }),
    structured('text-delta', { path, delta: text }),
    structured('append', { path, items: fc.array(value, { maxLength: 2 }) }),
    structured('final', { data: value }),
    row({ type: oneOf('structured-data-invalidated'), streamId }),
  ],
  stateCommitted: [
    row({ type: oneOf('output'), output: value }),
    row({ type: oneOf('state-snapshot'), state: fc.constantFrom({}, { n: 1 }, { l: [] }) }),
    row({
      type: oneOf('state-patch'),
      patches: fc.array(
        fc.oneof(
          fc.record({
            op: oneOf('add', 'replace', 'test'),
            path: oneOf('/n', '/l/-', '/l/0', '/__proto__', ''),
            value,
          }),
          fc.record({ op: oneOf('remove'), path: oneOf('/n', '/l/0') }),
          fc.record({ op: oneOf('move', 'copy'), from: oneOf('/n', '/l'), path: oneOf('/m', '/l/0') }),
        ),
        { maxLength: 2 },
      ),
    }),
  ],
  ledgerCommitted: [
    row({ type: oneOf('interrupt'), interruptId: id, input: fc.constant({ kind: 'text' }) }),
    row({
      type: oneOf('step-finish'),
      usage: fc.constantFrom({ inputTokens: 1 }, { inputTokens: 2, outputTokens: 1 }),
    }),
    row({
      type: oneOf('message'),
      messageId: fc.constantFrom('1', '2', 'r2::r2'),
      role: oneOf('user'),
      parts: fc.constantFrom(
        [{ type: 'text', text: 'hi' }],
        [],
        [{ type: 'tool', toolCallId: 'c1' }],
        [{ type: 'new' }],
      ),
    }),
    row({ type: oneOf('error'), message: text }),
    row({ type: oneOf('status'), message: text }),
    row({
      type: oneOf('hook-completed'),
      hookId: oneOf('1', '2', '1/1', '1/2', '2/1/1'),
      hook: oneOf('useStep'),
      result: value,
    }),
    row({ type: oneOf('run-context'), context: value }),
    row({ type: oneOf('from-the-future'), x: value }),
  ],
} satisfies Record<string, fc.Arbitrary<Chunk>[]>

const commit = row({ type: oneOf('checkpoint-created'), checkpointId: id })
const discard = row({ type: oneOf('step-discarded'), reason: oneOf('retry'), usage: fc.constant({ inputTokens: 1 }) }, [
  'usage',
])
const rare = fc.oneof(
  row(
    { type: oneOf('run-finished'), status: oneOf('completed', 'failed', 'interrupted', 'aborted'), line: oneOf('so') },
    ['line'],
  ),
  row({ type: oneOf('subagent-start'), agentId: oneOf('sub'), agentType: oneOf('s'), toolCallId }),
  row({
    type: oneOf('subagent-end'),
    agentId: oneOf('sub'),
    agentType: oneOf('s'),
    toolCallId,
    status: oneOf('completed', 'failed'),
  }),
  row(
    {
      type: oneOf('run-paused'),
      awaits: fc.constant([]),
      checkpointId: id,
      stepCount: fc.nat(2),
      notifyBy: fc.constant(9),
      line: oneOf('so'),
    },
    ['checkpointId', 'stepCount', 'notifyBy', 'line'],
  ),
  row({ type: oneOf('run-resumed'), mode, fromCheckpointId: id, fromStepCount: fc.nat(2) }, [
    'fromCheckpointId',
    'fromStepCount',
  ]),
  row({ type: oneOf('executor-superseded') }),
)
const guests = fc.oneof(
  row({ type: oneOf('tool-approval-response'), toolCallId, approvalId: id, approved: fc.boolean(), mode }, ['mode']),
  row({ type: oneOf('tool-output-available'), toolCallId, output: value }),
  row({ type: oneOf('tool-claimed'), toolCallId, until: fc.constant(9) }),
  row({ type: oneOf('interrupt-response'), interruptId: id, response: value }),
  row(
    {
      type: oneOf('run-requested'),
      runId: oneOf('r1', 'r3'),
      program: oneOf('agent:a@1'),
      resume: fc.tuple(id, mode).map(([runId, how]) => ({ runId, mode: how })),
    },
    ['resume'],
  ),
  row({ type: oneOf('stop-requested'), runId: oneOf('r1', 'r3'), mode: oneOf('interrupt', 'abort') }, ['mode']),
  row({ type: oneOf('run-notified'), runId: oneOf('r1', 'r3'), notifyBy: fc.constant(9), until: fc.constant(19) }, [
    'until',
  ]),
  row({ type: oneOf('session-info'), title: oneOf('a', 'b'), metadata: fc.constant({ a: 1 }) }, ['title', 'metadata']),
  row({ type: oneOf('run-context'), context: value }),
)

type Item = readonly [from: number | 'guest', chunk: Chunk]

const numbered = (items: readonly Item[]): Entry[] =>
  items.map(([from, chunk], i) => ({
    sequence: i + 1,
    timestamp: 1000 + i,
    origin: from === 'guest' ? GUEST : (WRITERS[from] as WriterOrigin),
    chunk,
  }))

const START: Item[] = [
  [0, { type: 'run-started', program: 'agent:a@1' }],
  [3, { type: 'run-started', program: 'agent:a@1', resumes: 'r1' }],
]

const items = (chunks: fc.Arbitrary<Chunk>[], writers: number, maxLength: number, ends = 1): fc.Arbitrary<Item[]> => {
  const from = fc.nat(writers - 1)
  return fc.array(
    fc.oneof(
      { weight: 18, arbitrary: fc.tuple(from, fc.oneof(...chunks)) },
      { weight: 3, arbitrary: fc.tuple(from, commit) },
      { weight: 3, arbitrary: fc.tuple(from, discard) },
      { weight: 2, arbitrary: fc.tuple(fc.constant('guest' as const), guests) },
      { weight: 1, arbitrary: fc.tuple(fc.constant('guest' as const), fc.oneof(...chunks, commit, rare)) },
      { weight: ends, arbitrary: fc.tuple(from, rare) },
    ),
    { maxLength, size: 'max' },
  )
}

const everything = Object.values(FAMILIES).flat()

/** Valid entries in any order, including those that a writer would reject. */
export const anyLog: fc.Arbitrary<Entry[]> = fc
  .oneof(
    items(everything, 4, 60),
    items(everything, 2, 30),
    ...Object.values(FAMILIES).map(family => items(family, 2, 30)),
    items([...FAMILIES.toolDrafts, ...FAMILIES.toolCommitted], 2, 40),
    items(FAMILIES.text, 3, 30, 12),
  )
  .map(list => numbered([...START, ...list]))

/** A commit: one batch of committed chunks of a lane, ended by a checkpoint. */
const batch = (chunks: fc.Arbitrary<Chunk>[], from: fc.Arbitrary<number>): fc.Arbitrary<Item[]> =>
  fc
    .tuple(from, fc.array(fc.oneof(...chunks), { maxLength: 2 }), commit)
    .map(([lane, list, checkpoint]) => [...list, checkpoint].map(chunk => [lane, chunk] as const))

const writtenItems = (families: (keyof typeof FAMILIES)[], writers: number): fc.Arbitrary<Item[]> => {
  const pick = (isCommitted: boolean) =>
    families.filter(name => name.endsWith('Committed') === isCommitted).flatMap(name => FAMILIES[name])
  const from = fc.nat(writers - 1)
  const one = <T extends number | 'guest'>(lane: fc.Arbitrary<T>, chunk: fc.Arbitrary<Chunk>) =>
    fc.tuple(lane, chunk).map(item => [item as Item])
  return fc
    .array(
      fc.oneof(
        { weight: 16, arbitrary: one(from, fc.oneof(...pick(false))) },
        { weight: 3, arbitrary: batch(pick(true).length ? pick(true) : [commit], from) },
        { weight: 5, arbitrary: one(from, discard) },
        { weight: 2, arbitrary: one(fc.constant('guest'), guests) },
        { weight: 1, arbitrary: one(from, rare) },
      ),
      { maxLength: 40, size: 'max' },
    )
    .map(list => list.flat())
}

const names = Object.keys(FAMILIES) as (keyof typeof FAMILIES)[]

/** A log as writers accept it: committed chunks in commits, and no writes to values with a draft of another lane. */
export const writtenLog: fc.Arbitrary<Entry[]> = fc
  .oneof(
    writtenItems(names, 4),
    writtenItems(names, 2),
    writtenItems(['toolDrafts', 'toolCommitted', 'text'], 3),
    writtenItems(['structured', 'meta', 'content'], 3),
    writtenItems(['text', 'content', 'meta', 'metaCommitted'], 3),
  )
  .map(list => {
    const entries = numbered([...START, ...list])
    const refused = new Set<number>()
    new Fold({ onReport: ({ code, entry }) => code === 'foreign-draft' && refused.add(entry.sequence) }).apply(entries)
    return entries.filter(entry => !refused.has(entry.sequence))
  })

export const folded = (entries: readonly Entry[]): View => {
  const fold = new Fold()
  fold.apply(entries)
  return fold.view()
}

export const clone = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T

/** The log without the draft chunks that were discarded. */
export function withoutDiscarded(entries: readonly Entry[]): Entry[] {
  const drafts = new Map<string, number[]>()
  const dropped = new Set<number>()
  const ended = new Set<string>()
  for (const { origin, chunk, sequence } of entries) {
    if ('guest' in origin) continue
    const { runId, lane, agentId } = origin
    if (ended.has(runId) || ended.has(`${runId} ${agentId}`)) continue
    const key = `${runId} ${lane}`
    const seal = (isSealed: (writer: WriterOrigin) => boolean) => {
      for (const w of WRITERS) if (isSealed(w)) drafts.delete(`${w.runId} ${w.lane}`)
    }
    if (chunk.type === 'checkpoint-created') drafts.delete(key)
    else if (chunk.type === 'step-discarded') {
      for (const at of drafts.get(key) ?? []) dropped.add(at)
      drafts.delete(key)
    } else if (chunk.type === 'subagent-end') {
      seal(w => w.runId === runId && w.agentId === chunk.agentId)
      ended.add(`${runId} ${chunk.agentId}`)
    } else if (chunk.type === 'run-finished') {
      seal(w => w.runId === runId)
      ended.add(runId)
    } else if (isDraftChunk(chunk)) drafts.set(key, [...(drafts.get(key) ?? []), sequence])
  }
  return entries.filter(entry => !dropped.has(entry.sequence))
}
