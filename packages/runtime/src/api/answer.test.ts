// An answer must match a pending: its session, owner, kind, id, options and shown input. Everything else is rejected
// with a code and leaves no entry.

import type { Chunk, Json } from '@millrace/protocol'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { tool } from '../define/tool.ts'
import { caller, chunksOf } from '../execute/agent/run-to-end.fixture.ts'
import type { Answer } from './answer.ts'
import { approve, call, callsIn, counted, sendResult, startRun, validLog } from './pendings.fixture.ts'
import type { Runtime } from './runtime.ts'
import { codeOf, echo, logOf, testRuntime } from './test-runtime.fixture.ts'

const locate = tool({ name: 'locate', inputSchema: z.object({}), client: true })

/** A run that waits for approval of `c1` and for the result of `c2`. */
async function startWaitingRun(start: object = {}, options: object = {}) {
  const pay = counted('pay', true)
  const { agent: testAgent } = caller([pay.tool, locate], [call('pay', 'c1', { n: 1 }), call('locate', 'c2')])
  const begun = await startRun(testAgent, options, start)
  await begun.run.result()
  return { ...begun, ran: pay.ran }
}

/** The code of a rejected answer. Expects that it leaves no entry. */
async function rejectionOf(runtime: Runtime, answer: unknown, options: object = {}, session = 's'): Promise<string> {
  const before = await logOf(runtime, 's')
  const code = await codeOf(runtime.answer(session, answer as Answer, options))
  expect(await logOf(runtime, 's')).toEqual(before)
  return code
}

describe('matching an answer with its pending', () => {
  test('rejects an answer for another session', async () => {
    const { runtime } = await startWaitingRun()
    await (await runtime.start({ agent: 'agent:caller@1', input: 'x', session: 'other', runId: 'r2' })).result()
    for (const answer of [
      { kind: 'approval', id: 'r::c1', approved: true },
      { kind: 'tool-result', id: 'c9', output: 1 },
    ]) {
      expect(await rejectionOf(runtime, answer, {}, 'other')).toBe('answer_unknown')
      expect(await rejectionOf(runtime, answer, {}, 'nowhere')).toBe('session_unknown')
    }
    // The same call id in another session is another call.
    expect(await rejectionOf(runtime, { kind: 'approval', id: 'r2::c1', approved: true })).toBe('answer_unknown')
  })

  test('rejects an answer of another principal, if the server passes one', async () => {
    const { runtime, run } = await startWaitingRun({ principal: 'ada' })
    const answer = { kind: 'approval', id: 'r::c1', approved: true } as const
    expect(await rejectionOf(runtime, answer, { principal: 'bob' })).toBe('answer_forbidden')
    expect(await rejectionOf(runtime, answer, { principal: '' })).toBe('answer_forbidden')
    const claim = runtime.claim('s', 'c2', { forMs: 100, principal: 'bob' })
    expect(await codeOf(claim)).toBe('answer_forbidden')
    await runtime.answer('s', answer, { principal: 'ada', guest: 'ada@phone' })
    await runtime.answer('s', { kind: 'tool-result', id: 'c2', output: 1 }, { principal: 'ada' })
    expect(await run.result()).toMatchObject({ status: 'completed' })
    const guests = (await validLog(runtime)).flatMap(({ chunk, origin }) =>
      chunk.type === 'tool-approval-response' ? [origin.guest] : [],
    )
    expect(guests).toEqual(['ada@phone'])
  })

  test('rejects an answer of another kind', async () => {
    const { runtime, ran } = await startWaitingRun()
    const wrong: Answer[] = [
      { kind: 'tool-result', id: 'c1', output: 'paid' },
      { kind: 'tool-result', id: 'c1', error: 'not paid' },
      { kind: 'tool-result', id: 'r::c1', output: true },
      { kind: 'approval', id: 'c2', approved: true },
      { kind: 'approval', id: 'c1', approved: true },
      { kind: 'interrupt', id: 'r::c1', response: true },
      { kind: 'interrupt', id: 'c2', response: 'x' },
    ]
    for (const answer of wrong) expect(await rejectionOf(runtime, answer)).toBe('answer_wrong_kind')
    expect(ran).toEqual([])
    expect(await callsIn(runtime)).toMatchObject({
      c1: { state: 'approval-requested' },
      c2: { state: 'input-available' },
    })
  })

  test('rejects unknown ids, with any characters', async () => {
    const { runtime } = await startWaitingRun()
    const ids = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', '::c1', 'r::c1 ', 'R::c1', 'r::c9']
    for (const id of ids) {
      expect(await rejectionOf(runtime, { kind: 'approval', id, approved: true })).toBe('answer_unknown')
      expect(await rejectionOf(runtime, { kind: 'tool-result', id, output: 1 })).toBe('answer_unknown')
      expect(await rejectionOf(runtime, { kind: 'interrupt', id, response: 1 })).toBe('answer_unknown')
    }
    for (const id of ['', 'r::', '::', 'x'.repeat(513), 7, null, undefined, {}, ['r::c1'], Symbol('c1'), 1n]) {
      expect(await rejectionOf(runtime, { kind: 'approval', id, approved: true })).toBe('validation_failed')
    }
  })

  test('rejects an approval whose input differs from the input of the call', async () => {
    const { runtime, run, ran } = await startWaitingRun()
    const shown = (input: unknown) => ({ kind: 'approval', id: 'r::c1', approved: true, input })
    for (const other of [{ n: 2 }, {}, { n: 1, m: 2 }, { n: '1' }, [{ n: 1 }], null, 'n']) {
      expect(await rejectionOf(runtime, shown(other))).toBe('answer_invalid')
    }
    // A denial also refers to the shown input.
    expect(await rejectionOf(runtime, { ...shown({ n: 2 }), approved: false })).toBe('answer_invalid')
    await approve(runtime, 'c1', true, { input: { n: 1 } })
    await sendResult(runtime, 'c2')
    expect(await run.result()).toMatchObject({ status: 'completed' })
    expect(ran).toEqual([1])
  })

  test('matches ids that contain the separator', async () => {
    const pay = counted('pay', true)
    const { agent: testAgent } = caller([pay.tool], [call('pay', 'a::c1', { n: 1 })])
    const { runtime } = await startRun(testAgent)
    await runtime.run('s', 'r').result()
    await approve(runtime, 'a::c1', false)
    await runtime.run('s', 'r').result()
    const run = await runtime.start({ agent: testAgent, input: 'again', session: 's', runId: 'r::a' })
    const { pendings } = await run.result()
    expect(pendings).toHaveLength(1)
    const [{ id } = { id: '' }] = pendings
    const first = await runtime.answer('s', { kind: 'approval', id, approved: true })
    expect(await run.result()).toMatchObject({ status: 'completed' })
    expect(pay.ran).toEqual([1])
    expect(await codeOf(runtime.answer('s', { kind: 'approval', id, approved: false }))).toBe('answer_already_settled')
    expect(first.sequence).toBeGreaterThan(0)
  })
})

describe('invalid answers', () => {
  const cyclic: Record<string, unknown> = {}
  cyclic['self'] = cyclic
  const NOT_JSON: Record<string, unknown> = {
    undefined: undefined,
    'a function': () => 1,
    'a symbol': Symbol('x'),
    'a BigInt': 1n,
    'a cycle': cyclic,
    NaN: Number.NaN,
    Infinity: Number.POSITIVE_INFINITY,
    'a date': new Date(0),
    'a map': new Map([['a', 1]]),
    'a nested function': { deep: [() => 1] },
    'a nested BigInt': { deep: [1n] },
  }

  test.each(Object.entries(NOT_JSON))('rejects %s as an output and as a response', async (_, value) => {
    const { runtime } = await startWaitingRun()
    expect(await rejectionOf(runtime, { kind: 'tool-result', id: 'c2', output: value })).toBe('validation_failed')
    expect(await rejectionOf(runtime, { kind: 'interrupt', id: 'i1', response: value })).toBe('validation_failed')
  })

  test('rejects malformed answers', async () => {
    const { runtime } = await startWaitingRun()
    const wrong: unknown[] = [
      null,
      undefined,
      'yes',
      [],
      {},
      { kind: 'maybe', id: 'c2' },
      { kind: '__proto__', id: 'c2' },
      { kind: 1n, id: 'c2' },
      { kind: cyclic, id: 'c2' },
      { kind: ['approval'], id: 'r::c1', approved: true },
      { kind: 'approval', id: 'r::c1' },
      { kind: 'approval', id: 'r::c1', approved: 'true' },
      { kind: 'approval', id: 'r::c1', approved: 1 },
      { kind: 'approval', id: 'r::c1', approved: true, reason: 7 },
      { kind: 'approval', id: 'r::c1', approved: true, reason: 'x'.repeat(8193) },
      { kind: 'tool-result', id: 'c2' },
      { kind: 'tool-result', id: 'c2', error: { message: 'no' } },
      { kind: 'tool-result', id: 'c2', error: 'x'.repeat(8193) },
      { kind: 'tool-result', id: 'c2', error: 'no', code: 7 },
    ]
    for (const answer of wrong) expect(await rejectionOf(runtime, answer)).toBe('validation_failed')
    for (const options of [null, 'ada', { guest: '' }, { guest: 7 }]) {
      const answer = { kind: 'tool-result', id: 'c2', output: 1 }
      expect(await rejectionOf(runtime, answer, options as object)).toBe('validation_failed')
    }
  })

  test('rejects answers that exceed the limits of the log', async () => {
    const { runtime, run } = await startWaitingRun({}, { log: { maxBlobBytes: 100_000 } })
    const huge = 'x'.repeat(100_000)
    expect(await rejectionOf(runtime, { kind: 'tool-result', id: 'c2', output: huge })).toBe('validation_failed')
    await sendResult(runtime, 'c2', 'small')
    await approve(runtime, 'c1', false)
    expect(await run.result()).toMatchObject({ status: 'completed' })
  })
})

describe('the first answer counts', () => {
  test('law 5: accepts one of many concurrent answers and rejects the others', async () => {
    const { runtime, run, ran } = await startWaitingRun()
    const codes = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        codeOf(runtime.answer('s', { kind: 'approval', id: 'r::c1', approved: n % 2 === 0 }, { guest: `guest ${n}` })),
      ),
    )
    expect(codes.filter(code => code === 'none')).toHaveLength(1)
    expect(codes.filter(code => code === 'answer_already_settled')).toHaveLength(19)
    await sendResult(runtime, 'c2')
    expect(await run.result()).toMatchObject({ status: 'completed' })
    const [response, ...more] = chunksOf(await validLog(runtime), 'tool-approval-response')
    expect(more).toEqual([])
    expect(ran).toEqual(response?.approved ? [1] : [])
  })

  test('returns the same sequence for a repeated answer, and executes nothing twice', async () => {
    const { runtime, run, ran } = await startWaitingRun()
    const answered = await Promise.all([1, 2, 3].map(() => approve(runtime, 'c1')))
    expect(new Set(answered.map(({ sequence }) => sequence)).size).toBe(1)
    await sendResult(runtime, 'c2')
    await run.result()
    expect(await approve(runtime, 'c1')).toEqual(answered[0])
    expect(ran).toEqual([1])
  })

  test('returns the same sequence after the ticket dropped the settled pending', async () => {
    const pay = counted('pay', true)
    const calls = Array.from({ length: 40 }, (_, n) => call('pay', `c${n}`, { n }))
    const { runtime, run } = await startRun(caller([pay.tool], calls).agent)
    await run.result()
    await run.stop()
    await run.result()
    for (const id of ['c0', 'c39']) expect(await codeOf(approve(runtime, id))).toBe('answer_already_settled')
    expect(await codeOf(approve(runtime, 'c40'))).toBe('answer_unknown')
  })
})

describe('responses to an interrupt', () => {
  const question = 'Which?'
  const OPTIONS = [
    { id: 'a', label: 'A' },
    { id: 'b', label: 'B' },
  ]

  /** A session with a run that waits for a response. */
  async function runtimeWithQuestion(input: Extract<Chunk, { type: 'interrupt' }>['input']): Promise<Runtime> {
    const runtime = testRuntime({ engine: false })
    await runtime.start({ agent: echo, input: 'go', session: 's', runId: 'r' })
    const writer = await runtime.manager.createWriter('s', { runId: 'r', program: echo.program, agentType: 'echo' })
    await writer.commit([{ type: 'interrupt', interruptId: 'i1', input }])
    await runtime.manager.pauseStream('s')
    await writer.close()
    return runtime
  }

  const respond = (runtime: Runtime, response: Json) =>
    codeOf(runtime.answer('s', { kind: 'interrupt', id: 'i1', response }))

  test('accepts one of the offered options', async () => {
    const runtime = await runtimeWithQuestion({ kind: 'choice', question, options: OPTIONS })
    expect(await runtime.run('s', 'r').result()).toMatchObject({
      status: 'paused',
      suspended: { kind: 'suspended_interrupt', interruptIds: ['i1'] },
    })
    for (const wrong of ['c', '', 'A', 0, null, true, {}, ['a'], ['a', 'b'], { id: 'a' }]) {
      expect(await respond(runtime, wrong)).toBe('answer_invalid')
    }
    expect(await respond(runtime, 'a')).toBe('none')
    expect(await respond(runtime, 'b')).toBe('answer_already_settled')
    expect((await runtime.view('s')).view.interrupts).toMatchObject([{ status: 'answered', response: 'a' }])
  })

  test.each([
    [{ kind: 'multi-choice', question, options: OPTIONS }],
    [{ kind: 'choice', question, multiple: true, options: OPTIONS }],
  ] as const)('accepts several of the offered options: %o', async input => {
    const runtime = await runtimeWithQuestion(input as never)
    for (const wrong of ['a', ['a', 'c'], ['a', 'a'], [null], { 0: 'a' }, null]) {
      expect(await respond(runtime, wrong as Json)).toBe('answer_invalid')
    }
    expect(await respond(runtime, ['b', 'a'])).toBe('none')
    expect((await runtime.view('s')).view.interrupts).toMatchObject([{ response: ['b', 'a'] }])
  })

  test('accepts a string for a text interrupt', async () => {
    const runtime = await runtimeWithQuestion({ kind: 'text' })
    for (const wrong of [7, null, ['x'], {}]) expect(await respond(runtime, wrong as Json)).toBe('answer_invalid')
    expect(await respond(runtime, '')).toBe('none')
  })

  test('accepts a form response that matches its schema, and reports the path of a problem', async () => {
    const schema = { type: 'object', properties: { pin: { type: 'integer', minimum: 1000 } }, required: ['pin'] }
    const runtime = await runtimeWithQuestion({ kind: 'form', schema })
    for (const wrong of [null, 'x', [], {}, { pin: 'x' }, { pin: 1.5 }]) {
      expect(await respond(runtime, wrong)).toBe('answer_invalid')
    }
    // The response is in no message, which may have other readers.
    await expect(runtime.answer('s', { kind: 'interrupt', id: 'i1', response: { pin: 77 } })).rejects.toThrow(
      /^i1: the response does not match the form: pin: is less than 1000$/,
    )
    expect(await rejectionOf(runtime, { kind: 'interrupt', id: 'i1', response: { pin: 1 } })).toBe('answer_invalid')
    expect(await respond(runtime, { pin: 1234 })).toBe('none')
  })

  test('rejects a form response that cannot be checked, without delay', async () => {
    const self = { properties: { a: { $ref: '#/$defs/a' } }, $defs: { a: { allOf: [{ $ref: '#/$defs/a' }] } } }
    expect(await respond(await runtimeWithQuestion({ kind: 'form', schema: self }), { a: 1 })).toBe('answer_invalid')
    const evil = { properties: { a: { pattern: '^(a+)+$' } } }
    const runtime = await runtimeWithQuestion({ kind: 'form', schema: evil })
    expect(await respond(runtime, { a: `${'a'.repeat(60)}!` })).toBe('answer_invalid')
    expect(await respond(runtime, { a: 'aaa' })).toBe('none')
    expect(await respond(await runtimeWithQuestion({ kind: 'form', schema: { pattern: '(' } }), 'x')).toBe('none')
  })

  test('rejects other kinds of answers to an interrupt', async () => {
    const runtime = await runtimeWithQuestion({ kind: 'text' })
    expect(await rejectionOf(runtime, { kind: 'approval', id: 'i1', approved: true })).toBe('answer_wrong_kind')
    expect(await rejectionOf(runtime, { kind: 'tool-result', id: 'i1', output: 'x' })).toBe('answer_wrong_kind')
    expect(await codeOf(runtime.claim('s', 'i1', { forMs: 1 }))).toBe('answer_wrong_kind')
  })
})
