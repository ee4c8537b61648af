import { describe, expect, test } from 'vitest'
import type { MillraceError } from '../error/error.ts'
import { codeOf, echo, gate, patient, testRuntime, textsOf, until } from './test-runtime.fixture.ts'

describe('unique message ids', () => {
  const request = { agent: echo, session: 's', messageId: 'm1' }

  test('rejects a start with a used message id and writes nothing', async () => {
    const runtime = testRuntime({ agents: [echo] })
    await (await runtime.start({ ...request, input: 'first', runId: 'r1' })).result()
    const before = await runtime.view('s')
    expect(await codeOf(runtime.start({ ...request, input: 'SECOND' }))).toBe('validation_failed')
    expect(await codeOf(runtime.start({ ...request, input: 'SECOND', whenBusy: 'queue' }))).toBe('validation_failed')
    expect(await runtime.view('s')).toEqual(before)
    // A repeated request has the same message.
    expect((await (await runtime.start({ ...request, input: 'first', runId: 'r1' })).result()).text).toBe('0: first')
    await (await runtime.start({ ...request, input: 'second', messageId: 'm2' })).result()
    // A fork has it, too.
    const session = await runtime.fork('s')
    expect(await codeOf(runtime.start({ ...request, session, input: 'x' }))).toBe('validation_failed')
    expect(await textsOf(runtime, 's')).toEqual(['first', '0: first', 'second', '1: second'])
  })

  test('rejects a message id that a queued or concurrent request uses', async () => {
    const held = gate()
    const slow = patient(held)
    const runtime = testRuntime({ agents: [slow, echo] })
    await until(await runtime.start({ agent: slow, session: 's', input: 'x' }), 'text-delta')
    const queued = { ...request, whenBusy: 'queue' } as const
    const both = await Promise.all(['a', 'b'].map(input => codeOf(runtime.start({ ...queued, input, runId: input }))))
    expect(both.toSorted()).toEqual(['none', 'validation_failed'])
    expect(await codeOf(runtime.start({ ...queued, input: 'c' }))).toBe('validation_failed')
    // The message of a cancelled request does not exist.
    expect(await runtime.stop('s', both[0] === 'none' ? 'a' : 'b')).toBe(true)
    const run = await runtime.start({ ...queued, input: 'd' })
    held.open()
    expect((await run.result()).text).toBe('1: d')
    expect((await textsOf(runtime, 's')).slice(-2)).toEqual(['d', '1: d'])
  })

  test('lets an edit keep the id of the replaced message, and rejects other used ids', async () => {
    const runtime = testRuntime({ agents: [echo] })
    await (await runtime.start({ ...request, input: 'one' })).result()
    await (await runtime.start({ ...request, input: 'two', messageId: 'm2' })).result()
    expect(await codeOf(runtime.edit('s', 'm2', 'x', { newMessageId: 'm1' }))).toBe('validation_failed')
    await (await runtime.edit('s', 'm2', 'TWO', { newMessageId: 'm2' })).result()
    expect(await textsOf(runtime, 's')).toEqual(['one', '0: one', 'TWO', '1: TWO'])
    // Ids of removed turns are free. A retry uses its own again.
    await (await runtime.edit('s', 'm1', 'ONE', { newMessageId: 'm2' })).result()
    await (await runtime.retry('s')).result()
    expect(await textsOf(runtime, 's')).toEqual(['ONE', '0: ONE'])
  })

  test('rejects a resume with a used message id', async () => {
    const held = gate()
    const slow = patient(held)
    const runtime = testRuntime({ agents: [slow] })
    const run = await runtime.start({ agent: slow, session: 's', input: 'x', messageId: 'm1' })
    await until(run, 'text-delta')
    await run.stop()
    await run.result()
    held.open()
    const options = { mode: 'with-message', input: 'rather so' } as const
    expect(await codeOf(runtime.resume('s', run.runId, { ...options, messageId: 'm1' }))).toBe('validation_failed')
    await (await runtime.resume('s', run.runId, { ...options, messageId: 'm2' })).result()
    expect(await textsOf(runtime, 's')).toEqual(['x', 'one ', 'rather so', 'one two'])
  })
})

describe('rejects invalid user messages before anything is stored', () => {
  const words = { type: 'text', text: 'Hello' }
  const kinds = 'expected text, file, source-url, source-document or data-*'
  const wrong: readonly [part: unknown, problem: string][] = [
    ...['tool', 'dynamic-tool', 'meta', 'step-start', 'structured', 'reasoning', 'hologram', 'data', ''].map(
      (type): [unknown, string] => [{ type, text: 'x' }, `.type: ${kinds}`],
    ),
    [{}, '.type: expected string, found undefined'],
    [{ type: 'text' }, '.text: expected string, found undefined'],
    [{ type: 'file', url: 'https://a.example' }, '.mediaType: expected string, found undefined'],
    [{ type: 'file', url: 5, mediaType: 'image/png' }, '.url: expected string, found 5'],
    [{ type: 'source-url', url: 'https://a.example' }, '.sourceId: expected string, found undefined'],
    [{ type: 'source-document', sourceId: 's', title: [] }, '.title: expected string, found array'],
    [{ type: 'data-place' }, '.data: expected json, found undefined'],
  ]

  test.each(wrong)('rejects %j', async (part, problem) => {
    const held = gate()
    const slow = patient(held)
    const runtime = testRuntime({ agents: [echo, slow] })
    await (await runtime.start({ agent: echo, session: 's', input: 'a', messageId: 'm' })).result()
    const run = await runtime.start({ agent: slow, session: 's', input: 'b' })
    await until(run, 'text-delta')
    await run.stop()
    await run.result()
    const before = await runtime.view('s')
    const input = { parts: [words, part] } as never
    const asks: readonly (() => Promise<unknown>)[] = [
      () => runtime.start({ agent: echo, session: 's', input }),
      () => runtime.start({ agent: echo, session: 'new', input }),
      () => runtime.edit('s', 'm', input),
      () => runtime.resume('s', run.runId, { mode: 'with-message', input }),
    ]
    for (const ask of asks) {
      const error = (await ask().catch(error => error)) as MillraceError
      expect([error.code, error.message]).toEqual(['validation_failed', `input.parts.1${problem}`])
    }
    expect(await runtime.view('s')).toEqual(before)
    expect(await codeOf(runtime.view('new'))).toBe('session_unknown')
  })

  test('shows every valid part in the view', async () => {
    const runtime = testRuntime({ agents: [echo] })
    const parts = [
      { type: 'text', text: 'Hello' },
      { type: 'file', url: 'data:,a', mediaType: 'text/plain', filename: 'a.txt' },
      { type: 'source-url', sourceId: 'u', url: 'https://a.example' },
      { type: 'source-document', sourceId: 'd', title: 'A document' },
      { type: 'data-place', data: { city: 'Ulm' } },
    ] as const
    await (await runtime.start({ agent: echo, session: 's', input: { parts, metadata: { from: 'a test' } } })).result()
    const { view } = await runtime.view('s')
    expect(view.messages[0]).toMatchObject({ parts, metadata: { from: 'a test' } })
  })
})
