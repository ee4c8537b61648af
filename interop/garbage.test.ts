import type { DecodedChunk, Dialect } from '@millrace/dialects'
import { checkChunk, checkOrigin, ProtocolError } from '@millrace/protocol'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { arbitraryChunk } from '../packages/protocol/src/catalogue/chunk.fixture.ts'
import { multiplied } from '../scripts/faults/campaign.ts'
import { DIALECTS } from './dialects.fixture.ts'
import { type Recorded, recorded, type Scenario, scenarios } from './runs.fixture.ts'

/** Fields of an interrupt. */
const ASKED = ['id', 'reason', 'message', 'toolCallId', 'responseSchema', 'expiresAt', 'metadata'] as const

const simple = fc.constantFrom<unknown>(null, 5, 'x', 'tool', 'user', 'assistant', 'client_tool', {}, [], [null], [{}])

/** What may stand where something else was meant: among it what has a name that objects know, and what cannot become a text. */
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
  // What runs are said to wait for, and what messages are said to be there.
  fc.record({ type: fc.constant('interrupt'), interrupts: fc.array(fc.dictionary(fc.constantFrom(...ASKED), simple)) }),
  fc.record({ type: fc.constant('success'), pendingToolCallIds: fc.array(simple, { maxLength: 2 }) }),
  fc.array(fc.dictionary(fc.constantFrom('id', 'role', 'content', 'toolCalls', 'toolCallId'), simple), {
    maxLength: 2,
  }),
  fc.jsonValue({ maxDepth: 2 }),
)

/** Chooses a field of an event, or one that it might have, and what to put there. */
interface Mutation {
  readonly event: number
  readonly field: number
  readonly value: unknown
}

const mutation: fc.Arbitrary<Mutation> = fc.record({ event: fc.nat(), field: fc.nat(), value: junk })

describe.each(DIALECTS)('$name', dialect => {
  test('anything at all is understood as what is right, or refused by a ProtocolError', () => {
    const types = fc.constantFrom(...typesOf(dialect))
    const typed = fc
      .tuple(types, fc.dictionary(fc.constantFrom(...FIELDS), junk))
      .map(([type, rest]) => ({ ...rest, type }))
    const property = fc.property(
      fc.array(fc.oneof(fc.jsonValue(), junk, typed, typed, typed), { maxLength: 6 }),
      events => hear(dialect, events),
    )
    fc.assert(property, { numRuns: multiplied(1000) })
  })

  test('so is any run of which something was changed on the way', async () => {
    const changed = fc.array(mutation, { minLength: 1, maxLength: 20 })
    const property = fc.asyncProperty(scenarios, changed, async (scenario, mutations) => {
      const run = await runOf(scenario)
      for (const one of mutations) hear(dialect, mutated(runIn(dialect, run), [one]))
      hear(dialect, mutated(runIn(dialect, run), mutations))
    })
    await fc.assert(property, { numRuns: multiplied(25) })
  })

  test('so are any chunks of which something was changed on the way', () => {
    const chunks = fc.array(arbitraryChunk(), { minLength: 1, maxLength: 8 })
    const property = fc.property(chunks, fc.array(mutation, { minLength: 1, maxLength: 4 }), (chunks, mutations) => {
      const encoder = dialect.encoder()
      const events = chunks.flatMap(chunk => encoder.encode({ chunk, origin: GUEST }))
      hear(dialect, mutated(events, mutations))
    })
    fc.assert(property, { numRuns: multiplied(1000) })
  })
})

const GUEST = { guest: 'ada', runId: 'run-1', lane: 'main' }

/** Fields that events have, and that asides and origins are put in. */
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

/** Gives events to a decoder, and looks at all that it makes of them. */
function hear(dialect: Dialect<unknown>, events: readonly unknown[]): void {
  const decoder = dialect.decoder()
  for (const event of events) {
    for (const told of understood(() => decoder.decode(event), event)) look(told, event)
    const { status } = decoder
    if (status !== undefined && !STATUSES.has(status)) expect.fail(`${status} after ${JSON.stringify(event)}`)
  }
}

const STATUSES: ReadonlySet<unknown> = new Set(['completed', 'failed', 'interrupted', 'aborted', 'paused'])

function understood(decode: () => readonly DecodedChunk[], event: unknown): readonly DecodedChunk[] {
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
  if (problem !== undefined) expect.fail(`${problem} of what ${JSON.stringify(event)} is understood as`)
}

/** The names of the events of a dialect, and some that none has. */
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

/** Events of other servers, which ours do not say. */
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

function runIn(dialect: Dialect<unknown>, { live, status }: Recorded): readonly unknown[] {
  const encoder = dialect.encoder()
  return [...live.flatMap(entry => encoder.encode(entry)), ...encoder.end(status)]
}

/** Events with other things in some of their fields, as they come out of the wire. */
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

/** All places in a value where something is, and where something of ours might be. */
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

const runs = new Map<string, Promise<Recorded>>()

/** A run of a scenario; the scenarios are the same for every dialect, and each is let happen once. */
function runOf(scenario: Scenario): Promise<Recorded> {
  const key = JSON.stringify(scenario)
  const run = runs.get(key) ?? recorded(scenario)
  runs.set(key, run)
  return run
}
