import { memoryStore } from '@millrace/log'
import { describe, expect, test } from 'vitest'
import { Tap } from '../../stream/stream-server.fixture.ts'
import { codeOf, openDialectServer, said, user } from '../dialect-server.fixture.ts'

describe('what is new', () => {
  test('is said, under the client’s id, and asked again it is the same run', async () => {
    const at = await openDialectServer()
    const first = await at.done('s', said(user('a', 'u1')))
    const second = await at.done('s', said(user('a', 'u1'), user('b', 'u2')))
    expect(await at.done('s', said(user('a', 'u1'), user('b', 'u2')))).toBe(second)
    expect(await at.done('s', said(user('a', 'u1')))).toBe(first)
    expect(await at.people('s')).toEqual(['a', 'b'])
    expect(at.count.calls).toBe(2)
    const { view } = await at.services.runtime.view('s')
    expect(view.messages.filter(({ role }) => role === 'user').map(({ id }) => id)).toEqual(['u1', 'u2'])
  })

  test('the same words in another turn are another turn, with ids or without', async () => {
    const at = await openDialectServer()
    await at.done('s', said(user('yes', 'u1')))
    await at.done('s', said(user('yes', 'u1'), user('yes', 'u2')))
    await at.done('t', said(user('yes')))
    await at.done('t', said(user('yes'), user('yes')))
    expect([await at.people('s'), await at.people('t')]).toEqual([
      ['yes', 'yes'],
      ['yes', 'yes'],
    ])
  })

  test('of a client without a transcript or ids, what is being answered is the same, and what was is new', async () => {
    const at = await openDialectServer()
    const alone = { ...said(user('yes')), isIncremental: true } as const
    const slow = await at.takeTurn('s', alone, { agent: 'slow' })
    expect((await at.takeTurn('s', alone, { agent: 'slow' })).run.runId).toBe(slow.run.runId)
    at.held.go()
    await slow.run.result()
    const again = await at.done('s', alone, { agent: 'slow' })
    expect(again).not.toBe(slow.run.runId)
    expect(await at.runs('s')).toBe(2)
  })

  test('what never arrived was never said, whatever the client has of it', async () => {
    const at = await openDialectServer()
    await at.done('s', said(user('lost', 'u0'), user('a', 'u1')))
    await at.done('s', said(user('lost', 'u0'), user('a', 'u1'), user('lost too', 'u2'), user('b', 'u3')))
    await at.done('t', said(user('lost'), user('a')))
    await at.done('t', said(user('lost'), user('a'), user('lost too'), user('b')))
    for (const session of ['s', 't']) expect(await at.people(session)).toEqual(['a', 'b'])
  })

  test('to be regenerated where it never arrived is said', async () => {
    const at = await openDialectServer()
    await at.done('s', { ...said(user('a', 'u1')), regenerate: true })
    await at.done('s', { ...said(user('a', 'u1'), user('b', 'u2')), regenerate: 'no-message-of-ours' })
    expect(await at.people('s')).toEqual(['a', 'b'])
    expect(at.count.calls).toBe(2)
  })

  test('two at once are one, also where the session is not there and the store is slow', async () => {
    const tap = new Tap(memoryStore())
    const at = await openDialectServer({ store: tap.store })
    tap.delay = () => new Promise(resolve => setImmediate(resolve))
    for (const posted of [said(user('a', 'u1')), said(user('b'))]) {
      const session = posted.userMessages[0]?.id ?? 'none'
      const taken = await Promise.all([1, 2, 3, 4].map(() => at.takeTurn(session, posted)))
      expect(new Set(taken.map(({ run }) => run.runId)).size).toBe(1)
      await taken[0]?.run.result()
      expect(await at.runs(session)).toBe(1)
    }
  })

  test('two that are different at once are both said, in turn', async () => {
    const at = await openDialectServer()
    await Promise.all([at.done('s', said(user('a', 'u1'))), at.done('s', said(user('b', 'u2')))])
    expect((await at.people('s')).sort()).toEqual(['a', 'b'])
  })
})

describe('a name that the client gives', () => {
  test('makes a request the same, whatever its messages say of it; Idempotency-Key is one', async () => {
    const at = await openDialectServer()
    const alone = { ...said(user('yes')), isIncremental: true } as const
    for (const asked of [{ runId: 'k1' }, { headers: { 'idempotency-key': 'k2' } }]) {
      const first = await at.done('s', alone, asked)
      expect(first).toMatch(/^k[12]$/)
      expect(await at.done('s', alone, asked)).toBe(first)
    }
    expect(await at.people('s')).toEqual(['yes', 'yes'])
    expect(at.count.calls).toBe(2)
  })

  test('with other words is refused, and so is none', async () => {
    const at = await openDialectServer()
    await at.done('s', said(user('a')), { runId: 'k' })
    expect(await at.refused('s', said(user('b')), { runId: 'k' })).toBe('run_ended')
    expect(await at.refused('s', said(user('b')), { headers: { 'idempotency-key': 'x'.repeat(300) } })).toBe(
      'request_invalid',
    )
    const both = await Promise.all(['b', 'c'].map(words => codeOf(at.takeTurn('t', said(user(words)), { runId: 'k' }))))
    expect(both.sort()).toEqual(['none', 'run_ended'])
  })

  test('of a request to regenerate does it once', async () => {
    const at = await openDialectServer()
    await at.done('s', said(user('a', 'u1')))
    const posted = { ...said(user('a', 'u1')), regenerate: true }
    const asked = { headers: { 'idempotency-key': 'once' } }
    expect(await at.done('s', posted, asked)).toBe('once')
    expect(await at.done('s', posted, asked)).toBe('once')
    expect(at.count.calls).toBe(2)
  })
})

describe('an edit', () => {
  test('is other words under a known id; once', async () => {
    const at = await openDialectServer()
    await at.done('s', said(user('a', 'u1')))
    await at.done('s', said(user('a', 'u1'), user('b', 'u2')))
    const posted = said(user('a', 'u1'), user('c', 'u2'))
    const edit = await at.done('s', posted)
    expect(await at.done('s', posted)).toBe(edit)
    expect(await at.people('s')).toEqual(['a', 'c'])
    await at.done('s', said(user('e', 'u1')))
    expect(await at.people('s')).toEqual(['e'])
    expect(at.count.calls).toBe(4)
  })

  test('is no message under a new id: what others said meanwhile stays, also while it is being answered', async () => {
    const at = await openDialectServer()
    await at.done('s', said(user('a', 'u1')))
    const phone = await at.takeTurn('s', said(user('a', 'u1'), user('from the phone', 'u2')), { agent: 'slow' })
    const desk = said(user('a', 'u1'), user('from the desk', 'u3'))
    const { run, action } = await at.takeTurn('s', desk)
    expect(action).toBe('run')
    at.held.go()
    expect((await phone.run.result()).status).toBe('completed')
    expect((await run.result()).status).toBe('completed')
    expect(await at.people('s')).toEqual(['a', 'from the phone', 'from the desk'])
    expect(await at.done('s', desk)).toBe(run.runId)
  })

  test('of a client without ids is another message in a known place', async () => {
    const at = await openDialectServer()
    await at.done('s', said(user('a')))
    await at.done('s', said(user('a'), user('b')))
    const other = said(user('a'), user('d'))
    expect(await at.done('s', other)).toBe(await at.done('s', other))
    expect(await at.people('s')).toEqual(['a', 'd'])
  })

  test('what it has replaced is not said again by who repeats it', async () => {
    const at = await openDialectServer()
    for (const id of ['u1', undefined]) {
      const session = id ?? 'none'
      await at.done(session, said(user('a', id)))
      await at.done(session, said(user('a', id), user('b', id && 'u2')))
      await at.done(session, said(user('a', id), user('c', id && 'u2')))
      const old = said(user('a', id), user('b', id && 'u2'))
      expect(await at.refused(session, old)).toBe('transcript_diverged')
      // Who means it says so.
      await at.done(session, old, { runId: 'k' })
      expect(await at.people(session)).toEqual(['a', 'b'])
    }
  })

  test.each([
    ['open', 'slow'],
    ['paused', 'seller'],
  ])('stops a run that is %s', async (_, agent) => {
    const at = await openDialectServer()
    const first = await at.takeTurn('s', said(user('a', 'u1')), { agent })
    if (agent === 'seller') await first.run.result()
    else for await (const { chunk } of first.run.stream()) if (chunk.type === 'text-delta') break
    const { run, action } = await at.takeTurn('s', said(user('b', 'u1')), { agent })
    expect(action).toBe('edit')
    expect((await first.run.result()).status).toBe('interrupted')
    at.held.go()
    await run.result()
    expect(await at.people('s')).toEqual(['b'])
  })

  test('of what waits takes that back, and says the other', async () => {
    const at = await openDialectServer()
    const agent = 'slow'
    const first = await at.takeTurn('s', said(user('a', 'u1')), { agent })
    const second = await at.takeTurn('s', said(user('a', 'u1'), user('b', 'u2')), { agent })
    const third = await at.takeTurn('s', said(user('a', 'u1'), user('c', 'u2')), { agent })
    expect(await codeOf(second.run.result())).toBe('run_taken_back')
    at.held.go()
    await Promise.all([first.run.result(), third.run.result()])
    expect(await at.people('s')).toEqual(['a', 'c'])
  })

  test('of another’s turn is refused: the other would answer it', async () => {
    const at = await openDialectServer()
    await at.done('s', said(user('a', 'u1')))
    expect(await at.refused('s', said(user('b', 'u1')), { agent: 'other' })).toBe('transcript_diverged')
    expect(await at.refused('s', { ...said(user('a', 'u1')), regenerate: true }, { agent: 'other' })).toBe(
      'transcript_diverged',
    )
    // It says what to do.
    const posted = said(user('b', 'u1'))
    await expect(at.takeTurn('s', posted, { agent: 'other' })).rejects.toThrow(/agent:teller answered it.*new message/)
    // And yet both may speak in it.
    await at.done('s', said(user('a', 'u1'), user('b', 'u2')), { agent: 'other' })
    expect(await at.people('s')).toEqual(['a', 'b'])
  })
})

describe('who regenerates', () => {
  const a = user('a', 'u1')

  test('gets the last turn anew once it has ended, and joins it while it has not', async () => {
    const at = await openDialectServer()
    const agent = 'slow'
    const posted = { ...said(a), regenerate: true }
    const { run } = await at.takeTurn('s', posted, { agent })
    expect((await at.takeTurn('s', posted, { agent })).run.runId).toBe(run.runId)
    at.held.go()
    await run.result()
    const [one, two] = await Promise.all([at.done('s', posted, { agent }), at.done('s', posted, { agent })])
    expect(one).toBe(two)
    expect(one).not.toBe(run.runId)
    expect(await at.runs('s')).toBe(2)
  })

  test('under a new name of a run gets any turn anew that has ended, and under the same name the same run', async () => {
    const at = await openDialectServer()
    const first = await at.done('s', said(a), { runId: 'r1' })
    await at.done('s', said(a, user('b', 'u2')), { runId: 'r2' })
    const posted = { ...said(a), regenerate: true }
    expect(await at.done('s', posted, { runId: first })).toBe('r1')
    expect(await at.people('s')).toEqual(['a', 'b'])
    const { run, action } = await at.takeTurn('s', posted, { runId: 'r3' })
    await run.result()
    expect([run.runId, action]).toEqual(['r3', 'retry'])
    expect(await at.done('s', posted, { runId: 'r3' })).toBe('r3')
    expect([await at.people('s'), at.count.calls]).toEqual([['a'], 3])
    // Who names no run, and only says so of an earlier turn, is told that again.
    await at.done('s', said(a, user('b', 'u2')), { runId: 'r4' })
    expect(await at.done('s', posted)).toBe('r3')
    // Nor does who does not ask for another answer get one.
    expect(await at.done('s', said(a), { runId: 'r5' })).toBe('r3')
    expect([await at.people('s'), at.count.calls]).toEqual([['a', 'b'], 4])
  })

  test('by the id of an answer does so once, in any turn, also while it is open', async () => {
    const at = await openDialectServer()
    const first = await at.done('s', said(a))
    await at.done('s', said(a, user('b', 'u2')))
    const posted = { ...said(a), regenerate: `${first}::${first}` }
    const { view } = await at.services.runtime.view('s')
    const answer = view.messages.find(({ runId }) => runId === first)
    const named = { ...posted, regenerate: answer?.id as string }
    const again = await at.done('s', named)
    expect(again).not.toBe(first)
    expect(await at.done('s', named)).toBe(again)
    expect(await at.people('s')).toEqual(['a'])
    expect(await at.runs('s')).toBe(3)
    const { run } = await at.takeTurn('t', said(a), { agent: 'slow' })
    for await (const { chunk } of run.stream()) if (chunk.type === 'text-delta') break
    const { view: open } = await at.services.runtime.view('t')
    const now = { ...said(a), regenerate: open.messages.at(-1)?.id as string }
    const next = await at.takeTurn('t', now, { agent: 'slow' })
    expect((await run.result()).status).toBe('interrupted')
    at.held.go()
    expect((await next.run.result()).status).toBe('completed')
  })

  test('a turn that is not the last, without a name, gets it as it was', async () => {
    const at = await openDialectServer()
    const first = await at.done('s', said(a))
    await at.done('s', said(a, user('b', 'u2')))
    for (const regenerate of [true, 'u1']) expect(await at.done('s', { ...said(a), regenerate })).toBe(first)
    expect(await at.people('s')).toEqual(['a', 'b'])
  })

  test('what was taken back before it began says it again', async () => {
    const at = await openDialectServer()
    const agent = 'slow'
    const first = await at.takeTurn('s', said(a), { agent })
    // From here on it says nothing.
    for await (const { chunk } of first.run.stream()) if (chunk.type === 'text-delta') break
    const posted = said(a, user('b', 'u2'))
    const waiting = await at.takeTurn('s', posted, { agent })
    await waiting.run.stop()
    expect(await at.refused('s', posted, { agent })).toBe('run_taken_back')
    const { run } = await at.takeTurn('s', { ...posted, regenerate: true }, { agent })
    at.held.go()
    expect((await run.result()).status).toBe('completed')
    expect(await at.people('s')).toEqual(['a', 'b'])
  })
})
