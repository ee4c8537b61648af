import { expect, it } from 'vitest'
import type * as z from 'zod'
import { problemOf } from './problem.ts'
import { AnswerBody, count, EditBody, InfoBody, oneOf, ResumeBody, RunBody, StopBody } from './schemas.ts'

const LONG = 'Z'.repeat(10_000)

it.each([
  [RunBody, [], 'body: expected an object'],
  [RunBody, null, 'body: expected an object'],
  [RunBody, {}, 'body: expected an agent or a workflow'],
  [RunBody, { agent: 'a', workflow: 'b' }, 'body: expected an agent or a workflow'],
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
  [RunBody, { agent: 'a', messageId: 'm' }, 'body.messageId: expected an input with it'],
  [RunBody, { agent: 'a', input: 5 }, 'body.input: expected a string or an object'],
  [RunBody, { agent: 'a', input: {} }, 'body.input.parts: expected an array'],
  [RunBody, { agent: 'a', input: { parts: [] } }, 'body.input.parts: expected at least 1 elements'],
  [RunBody, { agent: 'a', input: { parts: [{}, LONG] } }, 'body.input.parts.1: expected a part'],
  [RunBody, { agent: 'a', input: { parts: [{}], metadata: [LONG] } }, 'body.input.metadata: expected an object'],
  [
    RunBody,
    { agent: 'a', input: { parts: [{}], [LONG]: 1 } },
    `body.input.${LONG.slice(0, 64)}…: there is no such field`,
  ],
  [RunBody, { agent: 'a', whenBusy: LONG }, 'body.whenBusy: expected reject, queue or interrupt-previous'],
  [RunBody, { agent: 'a', context: {} }, 'body.context: there is no such field'],
  [AnswerBody, { kind: LONG }, 'body.kind: expected approval, tool-result, interrupt or claim'],
  [AnswerBody, { kind: 'approval', id: 'a', approved: LONG }, 'body.approved: expected true or false'],
  [AnswerBody, { kind: 'interrupt', id: 'a' }, 'body.value: expected JSON'],
  [AnswerBody, { kind: 'claim', id: 'a', forMs: 0.5 }, 'body.forMs: expected a whole number'],
  [AnswerBody, { kind: 'claim', id: 'a', forMs: 0 }, 'body.forMs: expected at least 1'],
  [
    AnswerBody,
    { kind: 'approval', id: 'a', approved: true, reason: LONG },
    'body.reason: expected at most 8192 characters',
  ],
  [ResumeBody, { mode: 'with-message', message: [LONG] }, 'body.message: expected a string or an object'],
  [EditBody, { input: 'a' }, 'body.messageId: expected a string'],
  [StopBody, { mode: null }, 'body.mode: expected interrupt or abort'],
  [InfoBody, {}, 'body: expected a title or metadata'],
  [count('', 1, 200), 'ten', 'body: expected a whole number from 1 to 200'],
  [oneOf('', ['true', 'false']), 'yes', 'body: expected true or false'],
])('says where and what was expected, and never what was found (%#)', (schema, value, problem) => {
  const { error } = (schema as z.ZodType).safeParse(value)
  expect(problemOf('body', error?.issues ?? [])).toBe(problem)
})
