import { LogError, memoryStore } from '@millrace/log'
import { describe, expect, test } from 'vitest'
import { MillraceError } from '../error/error.ts'
import type { Runtime } from './runtime.ts'
import type { RunStream, StreamOptions } from './stream.ts'
import { codeOf, echo, testRuntime } from './test-runtime.fixture.ts'

const all = async (stream: RunStream) => {
  for await (const _ of stream);
}

/** Calls without compile-time types. */
type Loose = Record<'start' | 'resume' | 'retry' | 'edit' | 'fork' | 'stop' | 'run', (...args: unknown[]) => unknown>

const cyclic: { self?: unknown } = {}
cyclic.self = cyclic

describe('typed errors', () => {
  const request = { agent: echo, input: 'x', session: 's', whenBusy: 'queue' }
  const wrong: readonly [string, (runtime: Loose) => unknown][] = [
    ['start without options', runtime => runtime.start()],
    ['start with null', runtime => runtime.start(null)],
    ['start with a string', runtime => runtime.start('echo')],
    ...[undefined, null, 5, {}, [], { kind: 'agent' }].map((agent): [string, (runtime: Loose) => unknown] => [
      `the agent ${JSON.stringify(agent)}`,
      runtime => runtime.start({ ...request, agent }),
    ]),
    ...[null, 5, true, {}, [], { parts: 5 }, { parts: null }, { parts: [null] }, { parts: [5] }, { parts: ['x'] }].map(
      (input): [string, (runtime: Loose) => unknown] => [
        `the input ${JSON.stringify(input)}`,
        runtime => runtime.start({ ...request, input }),
      ],
    ),
    [
      'parts that are not JSON',
      runtime => runtime.start({ ...request, input: { parts: [{ type: 'text', text: 1n }] } }),
    ],
    ['metadata that is a number', runtime => runtime.start({ ...request, input: { parts: [], metadata: 5 } })],
    ...[null, 5, {}].flatMap((id): [string, (runtime: Loose) => unknown][] => [
      [`the messageId ${id}`, runtime => runtime.start({ ...request, messageId: id })],
      [`the newMessageId ${id}`, runtime => runtime.edit('s', 'm', 'x', { newMessageId: id })],
      [`the runId ${id}`, runtime => runtime.start({ ...request, runId: id })],
      [`the session ${id}`, runtime => runtime.start({ ...request, session: id })],
      [`the guest ${id}`, runtime => runtime.start({ ...request, guest: id })],
    ]),
    ['a principal that is a number', runtime => runtime.start({ ...request, session: 'new', principal: 5 })],
    ['cyclic data', runtime => runtime.start({ ...request, data: cyclic })],
    ['data that is not JSON', runtime => runtime.start({ ...request, data: { n: 1n } })],
    ['a cyclic context', runtime => runtime.start({ ...request, context: cyclic })],
    ['a context that is not JSON', runtime => runtime.start({ ...request, context: { n: 1n } })],
    ['an edit without input', runtime => runtime.edit('s', 'm')],
    ['an edit with null as input', runtime => runtime.edit('s', 'm', null)],
    ['an edit with null as options', runtime => runtime.edit('s', 'm', 'x', null)],
    ['a retry with null as options', runtime => runtime.retry('s', 'r', null)],
    ['a retry with a number as session', runtime => runtime.retry(5, 'r')],
    ['a resume with null as options', runtime => runtime.resume('s', 'r', null)],
    ['a resume with an unknown mode', runtime => runtime.resume('s', 'r', { mode: 'x' })],
    ['a resume without a message', runtime => runtime.resume('s', 'r', { mode: 'with-message' })],
    ['a fork with null as options', runtime => runtime.fork('s', null)],
    ['a fork at a negative position', runtime => runtime.fork('s', { at: -1 })],
    ['a fork at a position beyond the end', runtime => runtime.fork('s', { at: 1e9 })],
    ['a stop with null as options', runtime => runtime.stop('s', 'r', null)],
    ['a stop with an unknown mode', runtime => runtime.stop('s', 'r', { mode: 'x' })],
    ['a stop with a number as run id', runtime => runtime.stop('s', 5)],
  ]

  const prepared = async (): Promise<Runtime> => {
    const runtime = testRuntime({ agents: [echo], store: memoryStore() })
    await (await runtime.start({ agent: echo, input: 'a', session: 's', runId: 'r', messageId: 'm' })).result()
    return runtime
  }

  test.each(wrong)('rejects %s and changes nothing', async (_, ask) => {
    const runtime = await prepared()
    const { view } = await runtime.view('s')
    const code = await codeOf((async () => ask(runtime as unknown as Loose))())
    expect(code).toMatch(/^(validation_failed|run_not_resumable|run_cut_refused|run_unknown)$/)
    expect((await runtime.view('s')).view).toEqual(view)
    expect(await codeOf(runtime.view('new'))).toBe('session_unknown')
  })

  test('rejects invalid arguments when a run is read', async () => {
    const runtime = await prepared()
    const run = runtime.run('s', 'r')
    for (const after of ['zzz', '', 1e9, -1, 1.5, Number.NaN, {}, true]) {
      const options = { after } as StreamOptions
      expect([after, await codeOf(all(run.stream(options)))]).toEqual([
        after,
        after === 1e9 ? 'session_trimmed' : 'validation_failed',
      ])
    }
    expect(() => run.stream(null as never)).toThrow(expect.objectContaining({ code: 'validation_failed' }))
    expect(await codeOf(run.result(null as never))).toBe('validation_failed')
    const nowhere = runtime.run(5 as never, 'r')
    expect(await codeOf(nowhere.result())).toBe('validation_failed')
    expect(await codeOf(all(nowhere.stream()))).toBe('validation_failed')
    await runtime.manager.trimStream('s', { maxEntries: 0 })
    expect(await codeOf(all(run.stream()))).toBe('session_trimmed')
    expect(await codeOf(run.result())).toBe('none')
  })

  test('throws a retryable error if the store is unavailable', async () => {
    const store = memoryStore()
    const runtime = testRuntime({ store, engine: false, log: { retryTimeoutMs: 0 } })
    const run = await runtime.start({ agent: echo, input: 'a', session: 's', runId: 'r' })
    store.read = () => Promise.reject(new LogError('unavailable', 'secret:pass@host is down'))
    const asks: readonly (() => Promise<unknown>)[] = [
      () => runtime.start({ agent: echo, session: 's', input: 'b' }),
      () => runtime.retry('s'),
      () => runtime.resume('s', 'r'),
      () => runtime.stop('s', 'r'),
      () => runtime.fork('s'),
      () => runtime.view('s'),
      () => runtime.status('s'),
      () => run.result(),
      () => all(run.stream()),
    ]
    for (const ask of asks) {
      const error = await ask().catch(error => error)
      expect(MillraceError.isInstance(error)).toBe(true)
      expect(error).toMatchObject({ code: 'store_unavailable', retryable: true, cause: expect.any(LogError) })
      expect(String(error)).not.toContain('secret')
    }
  })
})
