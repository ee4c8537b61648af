import type { DecodedChunk, Dialect } from '@millrace/dialects'
import { ProtocolError } from '@millrace/protocol'
import { checkChunk, checkOrigin } from '@millrace/protocol/internal'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { arbitraryChunk } from '../packages/protocol/src/catalogue/chunk.fixture.ts'
import { multiplied } from '../scripts/faults/campaign.ts'
import { DIALECTS } from './dialects.fixture.ts'
import { type RecordedRun, recordRun, type Scenario, scenarios } from './recorded-runs.fixture.ts'

/** Fields of an interrupt. */
const ASKED = ['id', 'reason', 'message', 'toolCallId', 'responseSchema', 'expiresAt', 'metadata'] as const

const simple = fc.constantFrom<unknown>(null, 5, 'x', 'tool', 'user', 'assistant', 'client_tool', {}, [], [null], [{}])

/** Invalid values, including names of object prototype members and values that cannot be converted to strings. */
const junk = fc.oneof(
  fc.constantFrom<unknown>(
    undefined,
    null,
    0,
    -1,
    1.5,
    true,
    '',
    'x',
    'toString',
    '__proto__',
    'error',
    'data-',
    'RUN',
  ),
  fc.constantFrom<unknown>(
    [],
    [1],
    [null],
    ['x'],
    {},
    { type: 5 },
    { type: 'x' },
    { type: 'text-delta' },
    { guest: 5 },
  ),
  fc.constantFrom<unknown>({ toString: 1, valueOf: 1 }, [{ toString: 1, valueOf: 1 }], { agentId: 'a' }, { chunk: 5 }),
  fc.constantFrom<unknown>({ millrace: 5 }, { millrace: { type: 5 } }, { millrace: null }, { millraceOrigin: 5 }),
  // Lists of interrupts and of messages.
  fc.record({ type: fc.constant('interrupt'), interrupts: fc.array(fc.dictionary(fc.constantFrom(...ASKED), simple)) }),
  fc.record({ type: fc.constant('success'), pendingToolCallIds: fc.array(simple, { maxLength: 2 }) }),
  fc.array(fc.dictionary(fc.constantFrom('id', 'role', 'content', 'toolCalls', 'toolCallId'), simple), {
    maxLength: 2,
  }),
  fc.jsonValue({ maxDepth: 2 }),
)

/** Replaces a field of an event, existing or not, by an invalid value. */
interface Mutation {
  readonly event: number
  readonly field: number
  readonly value: unknown
}

const mutation: fc.Arbitrary<Mutation> = fc.record({ event: fc.nat(), field: fc.nat(), value: junk })

describe.each(DIALECTS)('$name', dialect => {
  test('decodes any input to valid chunks or throws a ProtocolError', () => {
    const types = fc.constantFrom(...typesOf(dialect))
    const typed = fc
      .tuple(types, fc.dictionary(fc.constantFrom(...FIELDS), junk))
      .map(([type, rest]) => ({ ...rest, type }))
    const property = fc.property(
      fc.array(fc.oneof(fc.jsonValue(), junk, typed, typed, typed), { maxLength: 6 }),
      events => decodeAll(dialect, events),
    )
    fc.assert(property, { numRuns: multiplied(1000) })
  })

  test('does the same for runs with changed fields', async () => {
    const changed = fc.array(mutation, { minLength: 1, maxLength: 20 })
    const property = fc.asyncProperty(scenarios, changed, async (scenario, mutations) => {
      const run = await runOf(scenario)
      for (const one of mutations) decodeAll(dialect, mutated(runIn(dialect, run), [one]))
      decodeAll(dialect, mutated(runIn(dialect, run), mutations))
    })
    await fc.assert(property, { numRuns: multiplied(25) })
  })

  test('does the same for chunks with changed fields', () => {
    const chunks = fc.array(arbitraryChunk(), { minLength: 1, maxLength: 8 })
    const property = fc.property(chunks, fc.array(mutation, { minLength: 1, maxLength: 4 }), (chunks, mutations) => {
      const encoder = dialect.encoder()
      const events = chunks.flatMap(chunk => encoder.encode({ chunk, origin: GUEST }))
      decodeAll(dialect, mutated(events, mutations))
    })
    fc.assert(property, { numRuns: multiplied(1000) })
  })
})

const GUEST = { guest: 'ada', runId: 'run-1', lane: 'main' }

/** Fields of events, including those that carry our extensions and origins. */
const FIELDS = [
  ...[
    'millrace',
    'millraceOrigin',
    'metadata',
    'origin',
    'chunk',
    'data',
    'value',
    'content',
    'id',
    'messageId',
    'name',
  ],
  ...[
    'delta',
    'messages',
    'toolCallId',
    'toolName',
    'toolCall',
    'input',
    'output',
    'outcome',
    'error',
    'approval',
    'finishReason',
  ],
  ...['usage', 'subagentRunId', 'payload', 'requestId', 'resumeToken', 'tool', 'node', 'opId', 'agentId', 'sequence'],
  ...[
    'snapshot',
    'kind',
    'eventName',
    'mode',
    'timestamp',
    'status',
    'atSequence',
    'activityType',
    'message',
    'result',
  ],
]

/** Decodes events and validates the result. */
function decodeAll(dialect: Dialect<unknown>, events: readonly unknown[]): void {
  const decoder = dialect.decoder()
  for (const event of events) {
    for (const decoded of decodeOrReject(() => decoder.decode(event), event)) look(decoded, event)
    const { status } = decoder
    if (status !== undefined && !STATUSES.has(status)) expect.fail(`${status} after ${JSON.stringify(event)}`)
  }
}

const STATUSES: ReadonlySet<unknown> = new Set(['completed', 'failed', 'interrupted', 'aborted', 'paused'])

function decodeOrReject(decode: () => readonly DecodedChunk[], event: unknown): readonly DecodedChunk[] {
  try {
    return decode()
  } catch (error) {
    if (error instanceof ProtocolError) return []
    throw new Error(`for ${JSON.stringify(event)}`, { cause: error })
  }
}

function look({ chunk, origin, messageId, sequence, timestamp }: DecodedChunk, event: unknown): void {
  const problem =
    checkChunk(chunk) ??
    (origin === undefined ? undefined : checkOrigin(origin)) ??
    (messageId === undefined || typeof messageId === 'string' ? undefined : '.messageId') ??
    (sequence === undefined || Number.isSafeInteger(sequence) ? undefined : '.sequence') ??
    (timestamp === undefined || Number.isFinite(timestamp) ? undefined : '.timestamp')
  if (problem !== undefined) expect.fail(`${problem} in the chunk decoded from ${JSON.stringify(event)}`)
}

/** Event types of a dialect, and unknown ones. */
function typesOf(dialect: Dialect<unknown>): string[] {
  const types = new Set(['', 'x', 'millrace', 'data-millrace', 'data-x', 'CUSTOM', 'suspension_marker', ...FOREIGN])
  const encoder = dialect.encoder()
  for (const chunk of fc.sample(arbitraryChunk(), { numRuns: 300, seed: 1 })) {
    for (const event of encoder.encode({ chunk })) {
      const { type, chunk: inner } = event as { type: string; chunk?: { type: string } }
      types.add(type)
      if (inner) types.add(inner.type)
    }
  }
  return [...types]
}

/** Events of other servers that ours never sends. */
const FOREIGN = [
  ...[
    'RUN_STARTED',
    'RUN_FINISHED',
    'RUN_ERROR',
    'TEXT_MESSAGE_CHUNK',
    'MESSAGES_SNAPSHOT',
    'REASONING_MESSAGE_CHUNK',
    'TOOL_CALL_CHUNK',
  ],
  ...[
    'TOOL_CALL_START',
    'TOOL_CALL_ARGS',
    'TOOL_CALL_END',
    'TOOL_CALL_RESULT',
    'ACTIVITY_SNAPSHOT',
    'SUBAGENT_STARTED',
  ],
  ...['custom', 'steering-message', 'reset-step', 'finish-step', 'done', 'error', 'interrupt', 'message', 'trace'],
  ...[
    'tool_call',
    'tool_result',
    'content',
    'thinking',
    'approval-requested',
    'stream_end',
    'end',
    'fail',
    'truncated',
  ],
]

function runIn(dialect: Dialect<unknown>, { live, status }: RecordedRun): readonly unknown[] {
  const encoder = dialect.encoder()
  return [...live.flatMap(entry => encoder.encode(entry)), ...encoder.end(status)]
}

/** Events with some fields replaced, after a JSON round trip. */
function mutated(events: readonly unknown[], mutations: readonly Mutation[]): unknown[] {
  const changed = JSON.parse(JSON.stringify(events)) as unknown[]
  for (const { event, field, value } of mutations) {
    const fields = placesIn(changed[event % (changed.length || 1)])
    const [holder, key] = fields[field % (fields.length || 1)] ?? []
    if (holder === undefined || key === undefined) continue
    if (value === undefined) delete holder[key]
    else holder[key] = structuredClone(value)
  }
  return changed
}

type Holder = { [key: string]: unknown }

/** All existing fields of a value, and those that can hold our extensions. */
function placesIn(value: unknown, depth = 0): [Holder, string][] {
  if (typeof value !== 'object' || value === null || depth > 4) return []
  const holder = value as Holder
  const keys = Object.keys(holder)
  const more: [Holder, string][] =
    depth > 0 ? [] : ['millrace', 'millraceOrigin', 'origin', 'metadata'].map(key => [holder, key])
  return [
    ...keys.map((key): [Holder, string] => [holder, key]),
    ...more,
    ...keys.flatMap(key => placesIn(holder[key], depth + 1)),
  ]
}

const runs = new Map<string, Promise<RecordedRun>>()

/** The run of a scenario, recorded once for all dialects. */
function runOf(scenario: Scenario): Promise<RecordedRun> {
  const key = JSON.stringify(scenario)
  const run = runs.get(key) ?? recordRun(scenario)
  runs.set(key, run)
  return run
}
