import { memoryStore } from '@millrace/log'
import { describe, expect, test } from 'vitest'
import { InstrumentedStore } from '../../stream/stream-server.fixture.ts'
import { codeOf, openDialectServer, requestWith, user } from '../dialect-server.fixture.ts'

describe('a new message', () => {
  test('starts a run under the client’s id, and a repetition gets the same run', async () => {
    const at = await openDialectServer()
    const first = await at.runToEnd('s', requestWith(user('a', 'u1')))
    const second = await at.runToEnd('s', requestWith(user('a', 'u1'), user('b', 'u2')))
    expect(await at.runToEnd('s', requestWith(user('a', 'u1'), user('b', 'u2')))).toBe(second)
    expect(await at.runToEnd('s', requestWith(user('a', 'u1')))).toBe(first)
    expect(await at.userTexts('s')).toEqual(['a', 'b'])
    expect(at.count.calls).toBe(2)
    const { view } = await at.services.runtime.view('s')
    expect(view.messages.filter(({ role }) => role === 'user').map(({ id }) => id)).toEqual(['u1', 'u2'])
  })

  test('starts another turn for the same text in another turn, with or without ids', async () => {
    const at = await openDialectServer()
    await at.runToEnd('s', requestWith(user('yes', 'u1')))
    await at.runToEnd('s', requestWith(user('yes', 'u1'), user('yes', 'u2')))
    await at.runToEnd('t', requestWith(user('yes')))
    await at.runToEnd('t', requestWith(user('yes'), user('yes')))
    expect([await at.userTexts('s'), await at.userTexts('t')]).toEqual([
      ['yes', 'yes'],
      ['yes', 'yes'],
    ])
  })

  test('counts as a repetition without transcript and id while it is being answered, and as new afterwards', async () => {
    const at = await openDialectServer()
    const alone = { ...requestWith(user('yes')), isIncremental: true } as const
    const slow = await at.takeTurn('s', alone, { agent: 'slow' })
    expect((await at.takeTurn('s', alone, { agent: 'slow' })).run.runId).toBe(slow.run.runId)
    at.held.release()
    await slow.run.result()
    const again = await at.runToEnd('s', alone, { agent: 'slow' })
    expect(again).not.toBe(slow.run.runId)
    expect(await at.runs('s')).toBe(2)
  })

  test('ignores earlier messages of the client that never arrived', async () => {
    const at = await openDialectServer()
    await at.runToEnd('s', requestWith(user('lost', 'u0'), user('a', 'u1')))
    await at.runToEnd('s', requestWith(user('lost', 'u0'), user('a', 'u1'), user('lost too', 'u2'), user('b', 'u3')))
    await at.runToEnd('t', requestWith(user('lost'), user('a')))
    await at.runToEnd('t', requestWith(user('lost'), user('a'), user('lost too'), user('b')))
    for (const session of ['s', 't']) expect(await at.userTexts(session)).toEqual(['a', 'b'])
  })

  test('is sent if a client regenerates its answer and it never arrived', async () => {
    const at = await openDialectServer()
    await at.runToEnd('s', { ...requestWith(user('a', 'u1')), regenerate: true })
    await at.runToEnd('s', { ...requestWith(user('a', 'u1'), user('b', 'u2')), regenerate: 'no-message-of-ours' })
    expect(await at.userTexts('s')).toEqual(['a', 'b'])
    expect(at.count.calls).toBe(2)
  })

  test('runs once if it is sent twice at once, also in a new session on a slow store', async () => {
    const tap = new InstrumentedStore(memoryStore())
    const at = await openDialectServer({ store: tap.store })
    tap.delay = () => new Promise(resolve => setImmediate(resolve))
    for (const posted of [requestWith(user('a', 'u1')), requestWith(user('b'))]) {
      const session = posted.userMessages[0]?.id ?? 'none'
      const taken = await Promise.all([1, 2, 3, 4].map(() => at.takeTurn(session, posted)))
      expect(new Set(taken.map(({ run }) => run.runId)).size).toBe(1)
      await taken[0]?.run.result()
      expect(await at.runs(session)).toBe(1)
    }
  })

  test('runs after another message that is sent at once', async () => {
    const at = await openDialectServer()
    await Promise.all([at.runToEnd('s', requestWith(user('a', 'u1'))), at.runToEnd('s', requestWith(user('b', 'u2')))])
    expect((await at.userTexts('s')).sort()).toEqual(['a', 'b'])
  })
})

describe('a run id of the client', () => {
  test('identifies a request, whatever its messages are; Idempotency-Key is one', async () => {
    const at = await openDialectServer()
    const alone = { ...requestWith(user('yes')), isIncremental: true } as const
    for (const identification of [{ runId: 'k1' }, { headers: { 'idempotency-key': 'k2' } }]) {
      const first = await at.runToEnd('s', alone, identification)
      expect(first).toMatch(/^k[12]$/)
      expect(await at.runToEnd('s', alone, identification)).toBe(first)
    }
    expect(await at.userTexts('s')).toEqual(['yes', 'yes'])
    expect(at.count.calls).toBe(2)
  })

  test('is refused with another text, and if it is invalid', async () => {
    const at = await openDialectServer()
    await at.runToEnd('s', requestWith(user('a')), { runId: 'k' })
    expect(await at.refused('s', requestWith(user('b')), { runId: 'k' })).toBe('run_ended')
    expect(await at.refused('s', requestWith(user('b')), { headers: { 'idempotency-key': 'x'.repeat(300) } })).toBe(
      'request_invalid',
    )
    const both = await Promise.all(
      ['b', 'c'].map(words => codeOf(at.takeTurn('t', requestWith(user(words)), { runId: 'k' }))),
    )
    expect(both.sort()).toEqual(['none', 'run_ended'])
  })

  test('runs a regeneration once', async () => {
    const at = await openDialectServer()
    await at.runToEnd('s', requestWith(user('a', 'u1')))
    const posted = { ...requestWith(user('a', 'u1')), regenerate: true }
    const identification = { headers: { 'idempotency-key': 'once' } }
    expect(await at.runToEnd('s', posted, identification)).toBe('once')
    expect(await at.runToEnd('s', posted, identification)).toBe('once')
    expect(at.count.calls).toBe(2)
  })
})

describe('an edit', () => {
  test('is another text under a known id, and takes effect once', async () => {
    const at = await openDialectServer()
    await at.runToEnd('s', requestWith(user('a', 'u1')))
    await at.runToEnd('s', requestWith(user('a', 'u1'), user('b', 'u2')))
    const posted = requestWith(user('a', 'u1'), user('c', 'u2'))
    const edit = await at.runToEnd('s', posted)
    expect(await at.runToEnd('s', posted)).toBe(edit)
    expect(await at.userTexts('s')).toEqual(['a', 'c'])
    await at.runToEnd('s', requestWith(user('e', 'u1')))
    expect(await at.userTexts('s')).toEqual(['e'])
    expect(at.count.calls).toBe(4)
  })

  test('does not replace messages for a message under a new id, even while they are being answered', async () => {
    const at = await openDialectServer()
    await at.runToEnd('s', requestWith(user('a', 'u1')))
    const phone = await at.takeTurn('s', requestWith(user('a', 'u1'), user('from the phone', 'u2')), { agent: 'slow' })
    const desktopRequest = requestWith(user('a', 'u1'), user('from the desk', 'u3'))
    const { run, action } = await at.takeTurn('s', desktopRequest)
    expect(action).toBe('run')
    at.held.release()
    expect((await phone.run.result()).status).toBe('completed')
    expect((await run.result()).status).toBe('completed')
    expect(await at.userTexts('s')).toEqual(['a', 'from the phone', 'from the desk'])
    expect(await at.runToEnd('s', desktopRequest)).toBe(run.runId)
  })

  test('is another message at the same position for a client without ids', async () => {
    const at = await openDialectServer()
    await at.runToEnd('s', requestWith(user('a')))
    await at.runToEnd('s', requestWith(user('a'), user('b')))
    const other = requestWith(user('a'), user('d'))
    expect(await at.runToEnd('s', other)).toBe(await at.runToEnd('s', other))
    expect(await at.userTexts('s')).toEqual(['a', 'd'])
  })

  test('is not undone by a repetition of the replaced message', async () => {
    const at = await openDialectServer()
    for (const id of ['u1', undefined]) {
      const session = id ?? 'none'
      await at.runToEnd(session, requestWith(user('a', id)))
      await at.runToEnd(session, requestWith(user('a', id), user('b', id && 'u2')))
      await at.runToEnd(session, requestWith(user('a', id), user('c', id && 'u2')))
      const old = requestWith(user('a', id), user('b', id && 'u2'))
      expect(await at.refused(session, old)).toBe('transcript_diverged')
      // A new id or key makes it a new message.
      await at.runToEnd(session, old, { runId: 'k' })
      expect(await at.userTexts(session)).toEqual(['a', 'b'])
    }
  })

  test.each([
    ['open', 'slow'],
    ['paused', 'seller'],
  ])('stops a run that is %s', async (_, agent) => {
    const at = await openDialectServer()
    const first = await at.takeTurn('s', requestWith(user('a', 'u1')), { agent })
    if (agent === 'seller') await first.run.result()
    else for await (const { chunk } of first.run.stream()) if (chunk.type === 'text-delta') break
    const { run, action } = await at.takeTurn('s', requestWith(user('b', 'u1')), { agent })
    expect(action).toBe('edit')
    expect((await first.run.result()).status).toBe('interrupted')
    at.held.release()
    await run.result()
    expect(await at.userTexts('s')).toEqual(['b'])
  })

  test('removes a queued message and sends the new one', async () => {
    const at = await openDialectServer()
    const agent = 'slow'
    const first = await at.takeTurn('s', requestWith(user('a', 'u1')), { agent })
    const second = await at.takeTurn('s', requestWith(user('a', 'u1'), user('b', 'u2')), { agent })
    const third = await at.takeTurn('s', requestWith(user('a', 'u1'), user('c', 'u2')), { agent })
    expect(await codeOf(second.run.result())).toBe('run_taken_back')
    at.held.release()
    await Promise.all([first.run.result(), third.run.result()])
    expect(await at.userTexts('s')).toEqual(['a', 'c'])
  })

  test('is refused for a turn of another program', async () => {
    const at = await openDialectServer()
    await at.runToEnd('s', requestWith(user('a', 'u1')))
    expect(await at.refused('s', requestWith(user('b', 'u1')), { agent: 'other' })).toBe('transcript_diverged')
    expect(await at.refused('s', { ...requestWith(user('a', 'u1')), regenerate: true }, { agent: 'other' })).toBe(
      'transcript_diverged',
    )
    // The message says what to do.
    const posted = requestWith(user('b', 'u1'))
    await expect(at.takeTurn('s', posted, { agent: 'other' })).rejects.toThrow(/found agent:teller.*new message/)
    // Both programs may still run in the session.
    await at.runToEnd('s', requestWith(user('a', 'u1'), user('b', 'u2')), { agent: 'other' })
    expect(await at.userTexts('s')).toEqual(['a', 'b'])
  })
})

describe('a regeneration', () => {
  const a = user('a', 'u1')

  test('repeats the last turn if it has ended, and joins it otherwise', async () => {
    const at = await openDialectServer()
    const agent = 'slow'
    const posted = { ...requestWith(a), regenerate: true }
    const { run } = await at.takeTurn('s', posted, { agent })
    expect((await at.takeTurn('s', posted, { agent })).run.runId).toBe(run.runId)
    at.held.release()
    await run.result()
    const [one, two] = await Promise.all([at.runToEnd('s', posted, { agent }), at.runToEnd('s', posted, { agent })])
    expect(one).toBe(two)
    expect(one).not.toBe(run.runId)
    expect(await at.runs('s')).toBe(2)
  })

  test('repeats any ended turn with a new run id, and joins the run with the same id', async () => {
    const at = await openDialectServer()
    const first = await at.runToEnd('s', requestWith(a), { runId: 'r1' })
    await at.runToEnd('s', requestWith(a, user('b', 'u2')), { runId: 'r2' })
    const posted = { ...requestWith(a), regenerate: true }
    expect(await at.runToEnd('s', posted, { runId: first })).toBe('r1')
    expect(await at.userTexts('s')).toEqual(['a', 'b'])
    const { run, action } = await at.takeTurn('s', posted, { runId: 'r3' })
    await run.result()
    expect([run.runId, action]).toEqual(['r3', 'retry'])
    expect(await at.runToEnd('s', posted, { runId: 'r3' })).toBe('r3')
    expect([await at.userTexts('s'), at.count.calls]).toEqual([['a'], 3])
    // Without a run id, an earlier turn is returned as it is.
    await at.runToEnd('s', requestWith(a, user('b', 'u2')), { runId: 'r4' })
    expect(await at.runToEnd('s', posted)).toBe('r3')
    // A request without regenerate does not regenerate.
    expect(await at.runToEnd('s', requestWith(a), { runId: 'r5' })).toBe('r3')
    expect([await at.userTexts('s'), at.count.calls]).toEqual([['a', 'b'], 4])
  })

  test('runs once by the id of an answer, for any turn, even while it is open', async () => {
    const at = await openDialectServer()
    const first = await at.runToEnd('s', requestWith(a))
    await at.runToEnd('s', requestWith(a, user('b', 'u2')))
    const posted = { ...requestWith(a), regenerate: `${first}::${first}` }
    const { view } = await at.services.runtime.view('s')
    const answer = view.messages.find(({ runId }) => runId === first)
    const named = { ...posted, regenerate: answer?.id as string }
    const again = await at.runToEnd('s', named)
    expect(again).not.toBe(first)
    expect(await at.runToEnd('s', named)).toBe(again)
    expect(await at.userTexts('s')).toEqual(['a'])
    expect(await at.runs('s')).toBe(3)
    const { run } = await at.takeTurn('t', requestWith(a), { agent: 'slow' })
    for await (const { chunk } of run.stream()) if (chunk.type === 'text-delta') break
    const { view: open } = await at.services.runtime.view('t')
    const now = { ...requestWith(a), regenerate: open.messages.at(-1)?.id as string }
    const next = await at.takeTurn('t', now, { agent: 'slow' })
    expect((await run.result()).status).toBe('interrupted')
    at.held.release()
    expect((await next.run.result()).status).toBe('completed')
  })

  test('returns an earlier turn unchanged without a run id', async () => {
    const at = await openDialectServer()
    const first = await at.runToEnd('s', requestWith(a))
    await at.runToEnd('s', requestWith(a, user('b', 'u2')))
    for (const regenerate of [true, 'u1']) expect(await at.runToEnd('s', { ...requestWith(a), regenerate })).toBe(first)
    expect(await at.userTexts('s')).toEqual(['a', 'b'])
  })

  test('sends a request again that was removed before it started', async () => {
    const at = await openDialectServer()
    const agent = 'slow'
    const first = await at.takeTurn('s', requestWith(a), { agent })
    // From here on the model writes nothing.
    for await (const { chunk } of first.run.stream()) if (chunk.type === 'text-delta') break
    const posted = requestWith(a, user('b', 'u2'))
    const waiting = await at.takeTurn('s', posted, { agent })
    await waiting.run.stop()
    expect(await at.refused('s', posted, { agent })).toBe('run_taken_back')
    const { run } = await at.takeTurn('s', { ...posted, regenerate: true }, { agent })
    at.held.release()
    expect((await run.result()).status).toBe('completed')
    expect(await at.userTexts('s')).toEqual(['a', 'b'])
  })
})
