// Random entries of one run: every chunk type, calls and texts in the order of a run or in any other, of nested agents and guests, with texts that look like JSON.

import type { DecodedChunk, EndStatus } from '@millrace/dialects'
import type { Chunk, Json, Origin, WriterOrigin } from '@millrace/protocol'
import * as fc from 'fast-check'
import { arbitraryChunk } from '../packages/protocol/src/catalogue/chunk.fixture.ts'

const RUN = 'run-1'

const main: WriterOrigin = { runId: RUN, lane: 'main', agentId: RUN, agentType: 'boss', step: 1 }
/** A sub-agent, and a sub-agent of it. Each name nests the lane of its parent. */
const CHILDREN: readonly WriterOrigin[] = [
  { ...main, lane: 'main/c1', agentId: 'child', agentType: 'helper' },
  { ...main, lane: 'main/c1/c2', agentId: 'grandchild', agentType: 'helper' },
]
const guest: Origin = { guest: 'ada' }

/** Ids that chunks share, so that they refer to each other. One has a separator of ours, one is empty. */
const ids = fc.constantFrom('a', 'b', 'c~1', 'run-1::run-1/a', '')

/** Texts that a decoder may take for something else, and pieces of them. Two surrogates of an emoji are in different deltas. */
const texts = fc.constantFrom(
  ...[
    '',
    ' ',
    '{}',
    '[]',
    '{"a":1}',
    '[1]',
    '"x"',
    '5',
    '-0',
    '1e400',
    'null',
    'true',
    '{"error":"no"}',
    '{"a":',
    '1}',
  ],
  ...[
    '\n',
    '\r\n\r\n',
    'data: x\n\n',
    '[DONE]',
    '\u0000',
    '\u2028',
    '😀',
    '\ud83d',
    '\ude00',
    '“é”',
    '__proto__',
    'abc',
  ],
)

const values: fc.Arbitrary<Json> = fc.oneof(
  texts,
  texts.map(text => ({ error: text })),
  texts.map(text => ({ value: text })),
  texts.map(text => [text]),
  fc.constantFrom<Json>(
    0,
    5,
    0.5,
    true,
    false,
    null,
    {},
    [],
    { a: { b: [null] } },
    { type: 'text-delta' },
    { millrace: null },
  ),
)

/** Fields whose values are drawn from the shared ids, from the texts and from the values. */
const FIELDS: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  id: ids,
  toolCallId: ids,
  approvalId: ids,
  interruptId: ids,
  streamId: ids,
  stepId: ids,
  delta: texts,
  errorText: texts,
  message: texts,
  reason: texts,
  toolName: texts,
  input: values,
  output: values,
  partialInput: values,
  response: values,
  data: values,
  result: values,
}

/** A chunk of any type, with some of its fields replaced. */
const anyChunk: fc.Arbitrary<Chunk> = fc
  .tuple(arbitraryChunk(), fc.record(FIELDS), fc.boolean())
  .map(([chunk, fields, isReplaced]) => {
    const { type } = chunk
    const found = { ...chunk } as Record<string, unknown>
    // The question of an interrupt, and the message of a request, are objects.
    const isObject = (name: string) =>
      typeof found[name] === 'object' && found[name] !== null && OBJECTS.has(`${type}.${name}`)
    for (const name in fields) if (isReplaced && name in found && !isObject(name)) found[name] = fields[name]
    return found as unknown as Chunk
  })

const OBJECTS: ReadonlySet<string> = new Set(['interrupt.input', 'run-requested.message'])

const call = fc.record({ toolCallId: ids, toolName: texts, executor: fc.constantFrom('client', 'provider', undefined) })
const optional = <T>(one: fc.Arbitrary<T>): fc.Arbitrary<readonly T[]> => fc.array(one, { maxLength: 1 })

/** A call from its start to its result, with parts left out. */
const calls: fc.Arbitrary<Chunk[]> = fc
  .record({
    call,
    hasStart: fc.boolean(),
    deltas: fc.array(texts, { maxLength: 3 }),
    input: values,
    isStreamedInput: fc.boolean(),
    approval: optional(fc.boolean()),
    outcome: fc.constantFrom('output', 'error', 'denied', 'input-error', 'none'),
    output: values,
    text: texts,
  })
  .map(one => {
    const { toolCallId, toolName, executor } = one.call
    const executed = executor === undefined ? {} : ({ executor } as const)
    const deltas = one.isStreamedInput ? piecesOf(JSON.stringify(one.input)) : one.deltas
    const chunks: Chunk[] = []
    if (one.hasStart) {
      chunks.push({ type: 'tool-input-start', toolCallId, toolName, ...executed } as Chunk)
      chunks.push(...deltas.map((delta): Chunk => ({ type: 'tool-input-delta', toolCallId, delta })))
    }
    if (one.outcome === 'input-error') {
      const error = {
        type: 'tool-input-error',
        toolCallId,
        toolName,
        errorText: one.text,
        partialInput: one.input,
      } as const
      return [...chunks, error]
    }
    chunks.push({ type: 'tool-input-available', toolCallId, toolName, input: one.input, ...executed } as Chunk)
    for (const approved of one.approval) {
      const approvalId = `approval-${toolCallId}`
      chunks.push({ type: 'tool-approval-request', toolCallId, approvalId, input: one.input })
      chunks.push({ type: 'tool-approval-response', toolCallId, approvalId, approved })
    }
    if (one.outcome === 'output') chunks.push({ type: 'tool-output-available', toolCallId, output: one.output })
    if (one.outcome === 'error') chunks.push({ type: 'tool-output-error', toolCallId, errorText: one.text })
    if (one.outcome === 'denied') chunks.push({ type: 'tool-output-denied', toolCallId, reason: one.text })
    return chunks
  })

/** A text in pieces of one code unit, which splits surrogate pairs. */
const piecesOf = (text: string): string[] => text.split('')

const written: fc.Arbitrary<Chunk[]> = fc
  .record({
    kind: fc.constantFrom('text', 'reasoning'),
    id: ids,
    text: fc.array(texts, { maxLength: 4 }),
    isSplit: fc.boolean(),
    hasStart: fc.boolean(),
    hasEnd: fc.boolean(),
  })
  .map(({ kind, id, text, isSplit, hasStart, hasEnd }) => {
    const deltas = isSplit ? piecesOf(text.join('')) : text
    return [
      ...(hasStart ? [{ type: `${kind}-start`, id } as Chunk] : []),
      ...deltas.map(delta => ({ type: `${kind}-delta`, id, delta }) as Chunk),
      ...(hasEnd ? [{ type: `${kind}-end`, id } as Chunk] : []),
    ]
  })

const group: fc.Arbitrary<Chunk[]> = fc.oneof(
  { weight: 3, arbitrary: calls },
  { weight: 3, arbitrary: written },
  { weight: 3, arbitrary: anyChunk.map(chunk => [chunk]) },
)

type Authored = readonly Pick<DecodedChunk, 'chunk' | 'origin'>[]

const by = (origin: Origin, chunks: readonly Chunk[]): Authored => chunks.map(chunk => ({ chunk, origin }))

/** The chunks of a sub-agent between its start and its end, including those of its own sub-agent. */
const ofChildren: fc.Arbitrary<Authored> = fc
  .tuple(group, group, group, fc.boolean())
  .map(([before, inner, after, isOwn]) => {
    const [child, grandchild] = CHILDREN as [WriterOrigin, WriterOrigin]
    const around = (
      { agentId, agentType, lane }: WriterOrigin,
      parent: WriterOrigin,
      chunks: Authored,
      own: WriterOrigin,
    ): Authored => {
      const about = { agentId, agentType, toolCallId: 'a' }
      const writer = isOwn ? own : parent
      return [
        ...by(writer, [{ type: 'subagent-start', ...about, lane }]),
        ...chunks,
        ...by(writer, [{ type: 'subagent-end', ...about, status: 'completed', result: null }]),
      ]
    }
    const innerChunks = around(grandchild, child, by(grandchild, inner), grandchild)
    return around(child, main, [...by(child, before), ...innerChunks, ...by(child, after)], child)
  })

/** Chunks that end a run, or only appear after its end. */
const ENDS: ReadonlySet<string> = new Set(['run-finished', 'run-paused'])
/** Chunks that name an agent. Random ones would contradict the origins. */
const AGENTS: ReadonlySet<string> = new Set(['subagent-start', 'subagent-end'])

const isContent = ({ chunk: { type } }: Authored[number]): boolean => !ENDS.has(type)
const isUnnamed = ({ type }: Chunk): boolean => !AGENTS.has(type)

/** A run from its start. */
export const sequences: fc.Arbitrary<readonly DecodedChunk[]> = fc
  .array(
    fc.oneof(
      { weight: 6, arbitrary: group.map(chunks => by(main, chunks.filter(isUnnamed))) },
      { weight: 1, arbitrary: anyChunk.map(chunk => by(guest, [chunk].filter(isUnnamed))) },
      { weight: 1, arbitrary: fc.constant(by(main, [{ type: 'checkpoint-created', checkpointId: 'cp' }])) },
      { weight: 1, arbitrary: fc.constant(by(main, [{ type: 'step-discarded', reason: 'again' }])) },
    ),
    { maxLength: 8 },
  )
  .chain(own => ofChildrenOnce.map(children => [...own, ...children]))
  .map(all => [...by(main, [{ type: 'run-started', program: 'agent:boss@1' }, { type: 'start' }]), ...all.flat()])
  .map(all => JSON.parse(JSON.stringify(all.filter(isContent))) as Authored)
  .map(all => all.map((one, i) => ({ ...one, sequence: i + 1, timestamp: 1_700_000_000_000 })))

export const statuses = fc.constantFrom<EndStatus>('completed', 'failed', 'interrupted', 'aborted', 'paused')

/** The last chunk of a run, or of a connection. */
export const endOf = (status: EndStatus): DecodedChunk => ({
  chunk: status === 'paused' ? { type: 'run-paused', awaits: [] } : { type: 'run-finished', status },
  origin: main,
})

/** A sub-agent has one start in a run. */
const ofChildrenOnce = fc.array(ofChildren, { maxLength: 1 })
