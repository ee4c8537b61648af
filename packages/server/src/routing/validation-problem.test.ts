import { expect, it } from 'vitest'
import type * as z from 'zod'
import {
  AnswerBody,
  EditBody,
  NewSessionBody,
  oneOf,
  ResumeBody,
  RunBody,
  StopBody,
  UpdateSessionBody,
  wholeNumber,
} from './schemas.ts'
import { validationProblem } from './validation-problem.ts'

const LONG = 'Z'.repeat(10_000)
const SAID = { type: 'text', text: 'Hello' }
const KINDS = 'expected text, file, source-url, source-document or data-*'
const A_TITLE = 'expected at most 200 characters, without control characters'

const nested = (depth: number): object => (depth === 0 ? {} : { a: nested(depth - 1) })

const INVALID: readonly (readonly [schema: z.ZodType, value: unknown, problem: string])[] = [
  [RunBody, [], 'body: expected an object'],
  [RunBody, null, 'body: expected an object'],
  [RunBody, {}, 'body: expected either agent or workflow'],
  [RunBody, { agent: 'a', workflow: 'b' }, 'body: expected either agent or workflow'],
  [RunBody, { agent: 5 }, 'body.agent: expected a string'],
  [RunBody, { agent: '' }, 'body.agent: expected a name of 1 to 256 characters, without control characters'],
  [RunBody, { agent: LONG }, 'body.agent: expected a name of 1 to 256 characters, without control characters'],
  [
    RunBody,
    { agent: 'a', runId: 'a\nb' },
    'body.runId: expected a name of 1 to 256 characters, without control characters',
  ],
  [
    RunBody,
    { agent: 'a', runId: '\udfff' },
    'body.runId: expected a name of 1 to 256 characters, without control characters',
  ],
  [RunBody, { agent: 'a', messageId: 'm' }, 'body.messageId: expected only together with input'],
  [RunBody, { agent: 'a', input: 5 }, 'body.input: expected a string or an object'],
  [RunBody, { agent: 'a', input: {} }, 'body.input.parts: expected an array'],
  [RunBody, { agent: 'a', input: { parts: [] } }, 'body.input.parts: expected at least 1 elements'],
  [RunBody, { agent: 'a', input: { parts: [SAID, LONG] } }, 'body.input.parts.1: expected an object with a type'],
  [RunBody, { agent: 'a', input: { parts: [SAID], metadata: [LONG] } }, 'body.input.metadata: expected an object'],
  [
    RunBody,
    { agent: 'a', input: { parts: [SAID], [LONG]: 1 } },
    `body.input.${LONG.slice(0, 64)}…: unknown field: remove it`,
  ],
  ...['tool', 'dynamic-tool', 'meta', 'step-start', 'structured', 'reasoning', 'data', LONG, 5, '__proto__'].map(
    type => [RunBody, { agent: 'a', input: { parts: [SAID, { type }] } }, `body.input.parts.1.type: ${KINDS}`] as const,
  ),
  [RunBody, { agent: 'a', input: { parts: [{}] } }, `body.input.parts.0.type: ${KINDS}`],
  [
    RunBody,
    { agent: 'a', input: { parts: [{ ...SAID, text: [LONG] }] } },
    'body.input.parts.0.text: expected a string',
  ],
  [
    EditBody,
    { messageId: 'a', input: { parts: [{ type: 'file', url: 'a' }] } },
    'body.input.parts.0.mediaType: expected a string',
  ],
  [
    ResumeBody,
    { mode: 'with-message', message: { parts: [{ type: 'source-url', url: 'a' }] } },
    'body.message.parts.0.sourceId: expected a string',
  ],
  [
    ResumeBody,
    { mode: 'with-message', message: { parts: [{ type: 'source-document', sourceId: 'a', text: 5 }] } },
    'body.message.parts.0.text: expected a string',
  ],
  [RunBody, { agent: 'a', input: { parts: [{ type: 'data-a' }] } }, 'body.input.parts.0.data: expected JSON'],
  [
    RunBody,
    { agent: 'a', input: 'b', messageId: 'a::b' },
    'body.messageId: expected a name without `::`, which marks the messages of agents',
  ],
  [RunBody, { agent: 'a', whenBusy: LONG }, 'body.whenBusy: expected reject, queue or interrupt-previous'],
  [RunBody, { agent: 'a', context: {} }, 'body.context: unknown field: remove it'],
  [AnswerBody, { kind: LONG }, 'body.kind: expected approval, tool-result, interrupt or claim'],
  [AnswerBody, { kind: 'approval', id: 'a', approved: LONG }, 'body.approved: expected true or false'],
  [AnswerBody, { kind: 'interrupt', id: 'a' }, 'body.response: expected JSON'],
  [AnswerBody, { kind: 'claim', id: 'a', forMs: 0.5 }, 'body.forMs: expected a whole number'],
  [AnswerBody, { kind: 'claim', id: 'a', forMs: 0 }, 'body.forMs: expected at least 1'],
  [
    AnswerBody,
    { kind: 'tool-result', id: 'a', error: 'b', code: 'Not A Code' },
    'body.code: expected 1 to 64 lowercase letters, digits and _',
  ],
  [
    AnswerBody,
    { kind: 'approval', id: 'a', approved: true, reason: LONG },
    'body.reason: expected at most 8192 characters',
  ],
  [ResumeBody, { mode: 'with-message', message: [LONG] }, 'body.message: expected a string or an object'],
  [EditBody, { input: 'a' }, 'body.messageId: expected a string'],
  [StopBody, { mode: null }, 'body.mode: expected interrupt or abort'],
  [UpdateSessionBody, {}, 'body: expected a title or metadata'],
  ...['a\nb', '\u0000', 'a\udfff', LONG].map(
    title => [UpdateSessionBody, { title }, `body.title: ${A_TITLE}`] as const,
  ),
  [UpdateSessionBody, { metadata: { a: LONG } }, 'body.metadata: expected at most 4096 bytes of JSON, found 10008'],
  [NewSessionBody, { metadata: nested(17) }, 'body.metadata: expected at most 16 levels, found more'],
  [AnswerBody, { kind: 'claim', id: 'a', forMs: 3_600_001 }, 'body.forMs: expected at most 3600000'],
  [wholeNumber('', 1, 200), 'ten', 'body: expected a whole number from 1 to 200'],
  [oneOf('', ['true', 'false']), 'yes', 'body: expected true or false'],
]

it.each(INVALID.map(([schema, value, problem]) => [problem, schema, value] as const))(
  'names the field and the expected value, without the found value: %s',
  (problem, schema, value) => {
    const { error } = schema.safeParse(value)
    expect(validationProblem('body', error?.issues ?? [])).toBe(problem)
  },
)
