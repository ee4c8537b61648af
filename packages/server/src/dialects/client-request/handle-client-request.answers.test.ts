import type { Json } from '@millrace/protocol'
import { agent, scriptedModel, tool } from '@millrace/runtime'
import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { type CallOptions, codeOf, openDialectServer, requestWith, user } from '../dialect-server.fixture.ts'

const SELLER: CallOptions = { agent: 'seller' }

describe('answers', () => {
  const a = user('a', 'u1')
  const go = (...answers: readonly object[]) => ({
    userMessages: [a],
    endsWithUserMessage: false,
    answers: answers as never,
  })
  const approve = (n: number, more: object = {}) => ({ kind: 'approval', id: `sell-${n}`, approved: true, ...more })
  const locate = (n: number, output: Json = 'here') => ({ kind: 'tool-result', id: `locate-${n}`, output })

  test('continue the run from their position; a repetition gets the same, and nothing runs twice', async () => {
    const at = await openDialectServer()
    const runId = await at.runToEnd('s', requestWith(a), SELLER)
    const first = go(approve(0), locate(0))
    const taken = await at.takeTurn('s', first, SELLER)
    expect(taken).toMatchObject({ action: 'answer', run: { runId } })
    await taken.run.result()
    const again = await at.takeTurn('s', first, SELLER)
    expect(again.after).toEqual(taken.after)
    const second = go(approve(0), locate(0), locate(1), approve(1))
    const next = await at.takeTurn('s', second, SELLER)
    expect(next.after?.sequence).toBeGreaterThan(taken.after?.sequence ?? 0)
    expect((await next.run.result()).status).toBe('completed')
    // After both rounds, a repetition has not seen the last one.
    expect((await at.takeTurn('s', second, SELLER)).after).toEqual(next.after)
    const answers = (await at.log('s')).filter(({ origin }) => origin.guest !== undefined)
    expect(answers.map(({ chunk }) => chunk.type)).toEqual([
      'run-requested',
      'tool-approval-response',
      'tool-output-available',
      'tool-output-available',
      'tool-approval-response',
    ])
  })

  test('continue a run that waits for an interrupt', async () => {
    const at = await openDialectServer()
    await at.runToEnd('s', requestWith(a), { agent: 'asker' })
    const { view } = await at.services.runtime.view('s')
    const id = view.interrupts[0]?.interruptId
    const posted = go({ kind: 'interrupt', id, response: 'me' })
    const { run, after } = await at.takeTurn('s', posted, { agent: 'asker' })
    expect(await run.result()).toMatchObject({ status: 'completed', output: 'me' })
    expect((await at.takeTurn('s', posted, { agent: 'asker' })).after).toEqual(after)
    expect(await at.refused('s', go({ kind: 'interrupt', id: 'other', response: 'me' }))).toBe('transcript_refused')
  })

  test('are refused before anything is done if they match no pending', async () => {
    const at = await openDialectServer()
    await at.runToEnd('s', requestWith(a), SELLER)
    const forged: object[] = [
      approve(9),
      locate(9),
      { kind: 'approval', id: 'locate-0', approved: true },
      { kind: 'tool-result', id: 'sell-0', output: 'sold' },
      { kind: 'tool-result', id: 'sell-0', error: 'not sold' },
      { kind: 'interrupt', id: 'sell-0', response: true },
      approve(0, { input: { what: 'gold' } }),
      { kind: 'approval', id: '__proto__', approved: true },
    ]
    for (const one of forged) {
      // A forged answer is refused beside valid answers and new messages too.
      for (const answers of [[one], [approve(0), one], [one, locate(0)]]) {
        expect([one, await at.refused('s', go(...answers), SELLER)]).toEqual([one, 'transcript_refused'])
        const posted = { ...requestWith(a, user('b', 'u2')), answers: answers as never }
        expect([one, await at.refused('s', posted, SELLER)]).toEqual([one, 'transcript_refused'])
      }
    }
    const twice = go(approve(0), { ...approve(0), approved: false })
    expect(await at.refused('s', twice, SELLER)).toBe('transcript_refused')
    expect(await at.refused('new', { ...requestWith(a), answers: [approve(0)] as never }, SELLER)).toBe(
      'transcript_refused',
    )
    expect(await at.refused('new', go(approve(0)), SELLER)).toBe('session_unknown')
  })

  test('change nothing in settled requests: the log wins', async () => {
    const at = await openDialectServer()
    await at.runToEnd('s', requestWith(a), SELLER)
    const { run } = await at.takeTurn('s', go({ ...approve(0), approved: false }, locate(0)), SELLER)
    await run.result()
    const before = await at.log('s')
    await at.takeTurn('s', go(approve(0), locate(0, 'elsewhere')), SELLER)
    expect(await at.log('s')).toEqual(before)
  })

  test('are required if there is no new message', async () => {
    const at = await openDialectServer()
    await at.runToEnd('s', requestWith(a), SELLER)
    expect(await at.refused('s', go(), SELLER)).toBe('transcript_refused')
    await at.runToEnd('s', requestWith(a, user('b', 'u2')))
    // Their run is not the last one any more.
    expect(await at.refused('s', go(approve(0), locate(0)))).toBe('request_invalid')
  })
})

test('an invalid tool output fails its call, and the run continues', async () => {
  const input = z.object({})
  const client = tool({
    name: 'locate',
    inputSchema: input,
    outputSchema: z.object({ city: z.string() }),
    client: true,
  })
  const calls = ['p', 'q'].map(id => ({ name: 'locate', input: {}, id }))
  const model = scriptedModel(({ turnAnswers, lastText }) =>
    turnAnswers === 0 && lastText === 'a' ? { calls } : { text: 'Now I know.' },
  )
  const at = await openDialectServer({ agents: [agent({ name: 'guide', model, tools: [client] })] })
  const guide = { agent: 'guide' }
  const a = user('a', 'u1')
  await at.runToEnd('s', requestWith(a), guide)
  const answers = [
    { kind: 'tool-result', id: 'p', output: { town: 'Ulm' } },
    { kind: 'tool-result', id: 'q', output: { city: 'Ulm' } },
  ] as const
  const posted = { userMessages: [a], endsWithUserMessage: false, answers }
  const { run, after } = await at.takeTurn('s', posted, guide)
  expect((await run.result()).status).toBe('completed')
  const { view } = await at.services.runtime.view('s')
  expect(view.messages.flatMap(({ parts }) => parts.filter(part => 'toolCallId' in part))).toMatchObject([
    { toolCallId: 'p', state: 'output-error', errorText: expect.stringMatching(/was rejected.*city/s) },
    { toolCallId: 'q', state: 'output-available', output: { city: 'Ulm' } },
  ])
  // The transcript contains it forever, and gets the same result forever.
  expect((await at.takeTurn('s', posted, guide)).after).toEqual(after)
  await at.runToEnd('s', { ...requestWith(a, user('b', 'u2')), answers }, guide)
  expect(await at.userTexts('s')).toEqual(['a', 'b'])
  // The same holds together with a new message.
  await at.runToEnd('t', requestWith(a), guide)
  const { run: next } = await at.takeTurn('t', { ...requestWith(a, user('b', 'u2')), answers }, guide)
  expect((await next.result()).status).toBe('completed')
  expect(await at.userTexts('t')).toEqual(['a', 'b'])
})

describe('a new message during a run', () => {
  const a = user('a', 'u1')
  const b = user('b', 'u2')

  test('is queued if the run is open', async () => {
    const at = await openDialectServer()
    const agent = 'slow'
    const first = await at.takeTurn('s', requestWith(a), { agent })
    const second = await at.takeTurn('s', requestWith(a, b), { agent })
    at.held.release()
    expect((await first.run.result()).status).toBe('completed')
    expect((await second.run.result()).status).toBe('completed')
  })

  test('interrupts a run that waits for an answer, unless the answer comes with it', async () => {
    const at = await openDialectServer()
    for (const isAnswered of [false, true]) {
      const session = `${isAnswered}`
      const runId = await at.runToEnd(session, requestWith(a), SELLER)
      const answers = [
        { kind: 'approval', id: 'sell-0', approved: true },
        { kind: 'tool-result', id: 'locate-0', output: 1 },
      ] as const
      const { run } = await at.takeTurn(session, { ...requestWith(a, b), answers: isAnswered ? answers : [] })
      if (!isAnswered) {
        expect((await run.result()).status).toBe('completed')
        expect((await at.run(session, runId).result()).status).toBe('interrupted')
      } else {
        // The run continued and paused again, and the message interrupts it.
        expect((await at.run(session, runId).result()).status).toBe('paused')
        expect((await at.services.runtime.view(session)).ticket.requests).toMatchObject([{ runId: run.runId }])
      }
    }
  })

  test('interrupts a run that waits for more answers than come with it', async () => {
    const at = await openDialectServer()
    const some = [
      [{ kind: 'approval', id: 'sell-0', approved: true }],
      [{ kind: 'approval', id: 'sell-0', approved: false }],
      [{ kind: 'tool-result', id: 'locate-0', output: 1 }],
    ] as const
    for (const [n, answers] of some.entries()) {
      const session = `s${n}`
      const runId = await at.runToEnd(session, requestWith(a), SELLER)
      const { run } = await at.takeTurn(session, { ...requestWith(a, b), answers })
      expect((await run.result()).status).toBe('completed')
      expect((await at.run(session, runId).result()).status).toBe('interrupted')
      const answered = (await at.log(session)).filter(
        ({ origin, chunk }) => origin.guest && chunk.type.startsWith('tool'),
      )
      expect(answered).toHaveLength(1)
    }
    // One answer came in an earlier request, the rest did not.
    const runId = await at.runToEnd('t', requestWith(a), SELLER)
    await at.takeTurn('t', { userMessages: [a], endsWithUserMessage: false, answers: some[0] }, SELLER)
    expect((await (await at.takeTurn('t', requestWith(a, b))).run.result()).status).toBe('completed')
    expect((await at.run('t', runId).result()).status).toBe('interrupted')
  })

  test('interrupts a run that waits for a client tool which it only approves', async () => {
    const client = tool({ name: 'locate', inputSchema: z.object({}), client: true, approval: true })
    const call = { name: 'locate', input: {}, id: 'locate-0' }
    const model = scriptedModel(({ turnAnswers, lastText }) =>
      turnAnswers === 0 && lastText === 'a' ? { calls: [call] } : { text: 'Done.' },
    )
    const at = await openDialectServer({ agents: [agent({ name: 'guide', model, tools: [client] })] })
    const guide = { agent: 'guide' }
    const runId = await at.runToEnd('s', requestWith(a), guide)
    const answers = [{ kind: 'approval', id: 'locate-0', approved: true }] as const
    const { run } = await at.takeTurn('s', { ...requestWith(a, b), answers }, guide)
    expect((await run.result()).status).toBe('completed')
    expect((await at.run('s', runId).result()).status).toBe('interrupted')
  })

  test('is refused if the queue is full', async () => {
    const at = await openDialectServer()
    const agent = 'slow'
    await at.takeTurn('s', requestWith(a), { agent })
    let code = 'none'
    for (let n = 0; code === 'none' && n < 1000; n++) {
      code = await codeOf(at.takeTurn('s', { ...requestWith(user(`m${n}`, `m${n}`)) }, { agent }))
    }
    expect(code).toBe('run_queue_full')
  })
})

test('a regeneration with a transcript that ends with the answer runs again, whatever was settled in it', async () => {
  const at = await openDialectServer()
  const a = user('a', 'u1')
  const runId = await at.runToEnd('s', requestWith(a), SELLER)
  const settled = [0, 1].map(n => [
    { kind: 'approval', id: `sell-${n}`, approved: true } as const,
    { kind: 'tool-result', id: `locate-${n}`, output: 1 } as const,
  ])
  for (const answers of settled) {
    const { run } = await at.takeTurn('s', { userMessages: [a], endsWithUserMessage: false, answers }, SELLER)
    await run.result()
  }
  const answers = settled.flat()
  // A repetition of a message with answers gets their result, and never another run.
  const otherTurn = await at.takeTurn(
    's',
    { userMessages: [a], endsWithUserMessage: true, answers, regenerate: true },
    SELLER,
  )
  expect([otherTurn.action, otherTurn.run.runId]).toEqual(['answer', runId])
  const again = await at.takeTurn(
    's',
    { userMessages: [a], endsWithUserMessage: false, answers, regenerate: true },
    SELLER,
  )
  expect([again.action, again.run.runId === runId]).toEqual(['retry', false])
})
