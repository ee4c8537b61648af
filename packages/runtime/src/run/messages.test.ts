import { describe, expect, test } from 'vitest'
import { codeOf, echo, gate, patient, stage, textsOf, until } from './stage.fixture.ts'

describe('no message is lost for an id that another has', () => {
  const asked = { agent: echo, session: 's', messageId: 'm1' }

  test('a start is refused under a used id, and leaves the session as it is; under a new one it is not', async () => {
    const runtime = stage({ agents: [echo] })
    await (await runtime.start({ ...asked, input: 'first', runId: 'r1' })).result()
    const before = await runtime.view('s')
    expect(await codeOf(runtime.start({ ...asked, input: 'SECOND' }))).toBe('validation_failed')
    expect(await codeOf(runtime.start({ ...asked, input: 'SECOND', whenBusy: 'queue' }))).toBe('validation_failed')
    expect(await runtime.view('s')).toEqual(before)
    // Who asks for the same run again asks with the same message.
    expect((await (await runtime.start({ ...asked, input: 'first', runId: 'r1' })).result()).text).toBe('0: first')
    await (await runtime.start({ ...asked, input: 'second', messageId: 'm2' })).result()
    // What is forked holds it too.
    const session = await runtime.fork('s')
    expect(await codeOf(runtime.start({ ...asked, session, input: 'x' }))).toBe('validation_failed')
    expect(await textsOf(runtime, 's')).toEqual(['first', '0: first', 'second', '1: second'])
  })

  test('also while its run waits, and where both come at once', async () => {
    const held = gate()
    const slow = patient(held)
    const runtime = stage({ agents: [slow, echo] })
    await until(await runtime.start({ agent: slow, session: 's', input: 'x' }), 'text-delta')
    const queued = { ...asked, whenBusy: 'queue' } as const
    const both = await Promise.all(['a', 'b'].map(input => codeOf(runtime.start({ ...queued, input, runId: input }))))
    expect(both.toSorted()).toEqual(['none', 'validation_failed'])
    expect(await codeOf(runtime.start({ ...queued, input: 'c' }))).toBe('validation_failed')
    // One that was taken back is said by nobody.
    expect(await runtime.stop('s', both[0] === 'none' ? 'a' : 'b')).toBe(true)
    const run = await runtime.start({ ...queued, input: 'd' })
    held.open()
    expect((await run.result()).text).toBe('1: d')
    expect((await textsOf(runtime, 's')).slice(-2)).toEqual(['d', '1: d'])
  })

  test('an edit keeps the id of what it replaces if it likes, and takes no other', async () => {
    const runtime = stage({ agents: [echo] })
    await (await runtime.start({ ...asked, input: 'one' })).result()
    await (await runtime.start({ ...asked, input: 'two', messageId: 'm2' })).result()
    expect(await codeOf(runtime.edit('s', 'm2', 'x', { newMessageId: 'm1' }))).toBe('validation_failed')
    await (await runtime.edit('s', 'm2', 'TWO', { newMessageId: 'm2' })).result()
    expect(await textsOf(runtime, 's')).toEqual(['one', '0: one', 'TWO', '1: TWO'])
    // What went with the turns after it is free; a retry says its own again.
    await (await runtime.edit('s', 'm1', 'ONE', { newMessageId: 'm2' })).result()
    await (await runtime.retry('s')).result()
    expect(await textsOf(runtime, 's')).toEqual(['ONE', '0: ONE'])
  })

  test('a message that resumes a run is refused under a used id', async () => {
    const held = gate()
    const slow = patient(held)
    const runtime = stage({ agents: [slow] })
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
