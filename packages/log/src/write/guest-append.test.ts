import type { Chunk, JsonObject } from '@millrace/protocol'
import { describe, expect, test } from 'vitest'
import { settled } from '../../../../scripts/clock.ts'
import {
  approve,
  ask,
  clientCall,
  delta,
  failure,
  ID,
  output,
  request,
  stop,
  World,
} from '../manager/manager-world.fixture.ts'
import type { GuestOutcome } from './guest-append.ts'

const interrupt: Chunk = { type: 'interrupt', interruptId: 'i', input: { kind: 'text' } }
const answer = (response: string | number = 1): Chunk => ({ type: 'interrupt-response', interruptId: 'i', response })
const claim = (world: World, by: string, ms = 1000): Chunk => {
  return { type: 'tool-claimed', toolCallId: 'c1', until: world.clock.now() + ms, by }
}

/** A paused run that waits for an approval, a client's result and a user's answer. */
async function waiting(world: World, more: object = {}) {
  const writer = await world.writer()
  await writer.commit([
    { type: 'tool-input-available', toolCallId: 'call-a', toolName: 'rm', input: 1 },
    ask('a', more),
    clientCall('c1', more),
    { ...interrupt, ...more },
  ])
  await world.manager.pauseStream(ID)
  await writer.close()
}

const append = (world: World, chunk: Chunk, guest = 'ada') => world.manager.append(ID, guest, chunk)
const refusal = async (world: World, chunk: Chunk, guest = 'ada'): Promise<string> => {
  const done = await append(world, chunk, guest)
  return done.outcome === 'refused' ? done.reason : done.outcome
}

describe('a guest', () => {
  test('answers an open pending in its lane, and the run can continue', async () => {
    const world = new World()
    await waiting(world)
    expect(await world.manager.due(['agent:assistant@1'])).toEqual([])
    expect(await append(world, approve('a'))).toMatchObject({ outcome: 'appended', first: 9, last: 9 })
    expect(await append(world, output('c1'), 'bob')).toMatchObject({ outcome: 'appended' })
    expect(await world.manager.due(['agent:assistant@1'])).toEqual([])
    expect(await append(world, answer())).toMatchObject({ outcome: 'appended' })
    expect(await world.manager.due(['agent:assistant@1'])).toEqual([ID])
    const log = await world.log()
    expect(log.at(-2)).toMatchObject({ origin: { guest: 'bob', runId: 'r1', lane: 'main' } })
    const { view, ticket } = await world.manager.view(ID)
    expect(view.pendings).toEqual([])
    expect(ticket).toEqual((await world.manager.getInfo(ID))?.ticket)
  })

  test('is refused for every possible reason, and nothing enters the log', async () => {
    const world = new World()
    await world.manager.createStream(ID)
    expect(await refusal(world, approve('a'))).toBe('unknown')
    expect(await refusal(world, stop('r1'))).toBe('ended')
    await waiting(world, { deadline: world.clock.now() + 10_000 })
    await append(world, claim(world, 'tab1'))
    const before = await world.lines()
    expect(await refusal(world, claim(world, 'tab2'))).toBe('claimed')
    expect(await refusal(world, request('r2'))).toBe('busy')
    expect(await refusal(world, request('r2', { cut: { toSequence: 4, reason: 'x' } }))).toBe('gone')
    expect(await refusal(world, approve('missing'))).toBe('unknown')
    expect(await refusal(world, stop('r9'))).toBe('ended')
    await world.clock.advance(10_000)
    expect(await refusal(world, approve('a'))).toBe('late')
    expect(await refusal(world, claim(world, 'tab1'))).toBe('late')
    expect(await world.lines()).toEqual(before)
    await append(world, request('r2', { cut: { toSequence: 0, reason: 'x' } }))
    expect(await refusal(world, request('r3', { cut: { toSequence: 0, reason: 'x' } }))).toBe('cut-waiting')
    for (let i = 0; i < 31; i++) await append(world, request(`q${i}`, { whenBusy: 'queue' }))
    expect(await refusal(world, request('q31', { whenBusy: 'queue' }))).toBe('full')
    await append(world, stop('r1'))
    expect(await refusal(world, stop('r1'), 'bob')).toBe('already-settled')
  })

  test('law 5: of a client’s late result and the writer’s settlement of the deadline, the first wins', async () => {
    for (const isFirst of [true, false]) {
      const world = new World()
      const writer = await world.writer()
      await writer.commit([clientCall('c1', { deadline: world.clock.now() + 10 })])
      await world.clock.advance(1000)
      const settle = () =>
        writer.decide(({ pendings }) => {
          if (pendings.length === 0) return undefined
          return [{ type: 'tool-output-error', toolCallId: 'c1', errorText: 'nobody answered', code: 'late' }]
        })
      if (isFirst) expect(await refusal(world, output('c1'))).toBe('appended')
      const settled = await settle()
      expect(settled === undefined).toBe(isFirst)
      expect(await refusal(world, output('c1'))).toBe(isFirst ? 'duplicate' : 'already-settled')
    }
  })

  test('law 5: a client’s result never counts as an approval', async () => {
    const world = new World()
    const writer = await world.writer()
    await writer.commit([
      { type: 'tool-input-available', toolCallId: 'call-a', toolName: 'rm', input: 1 },
      ask('a'),
      clientCall('call-b'),
      ask('b'),
    ])
    expect(await refusal(world, output('call-a'))).toBe('unknown')
    expect(await refusal(world, output('call-b'))).toBe('unapproved')
    expect(await refusal(world, { type: 'tool-output-error', toolCallId: 'call-b', errorText: 'x' })).toBe('unapproved')
    const { view } = await world.manager.view(ID)
    expect(view.messages[0]?.parts.map(part => (part as { state?: string }).state)).toEqual([
      'approval-requested',
      'approval-requested',
    ])
    await append(world, approve('b'))
    expect(await refusal(world, output('call-b'))).toBe('appended')
  })

  test('law 5: session info is appended once per call, also if the answer is lost', async () => {
    const world = new World()
    await world.manager.createStream(ID)
    const info: Chunk = { type: 'session-info', title: 'A walk', metadata: { pinned: true } }
    world.tap.lose('append')
    const saying = append(world, info)
    await settled()
    await world.clock.advance(1000)
    expect(await saying).toMatchObject({ outcome: 'duplicate', first: 1, last: 1 })
    expect(await append(world, info)).toMatchObject({ outcome: 'appended', first: 2 })
    expect(await world.lines()).toEqual(['ada: session-info', 'ada: session-info'])
    expect((await world.log())[0]?.origin).toEqual({ guest: 'ada' })
  })

  test('law 5: session info is copied when given', async () => {
    const world = new World()
    await world.manager.createStream(ID)
    let attempts = 0
    const metadata = { gone: undefined, at: { toJSON: () => ++attempts } } as unknown as JsonObject
    await append(world, { type: 'session-info', metadata })
    expect((await world.log())[0]?.chunk).toEqual({ type: 'session-info', metadata: { at: 1 } })
    expect((await world.manager.getInfo(ID))?.ticket.about).toEqual({ metadata: { at: 1 } })
    const ring: JsonObject = {}
    ring['self'] = ring
    expect(await failure(append(world, { type: 'session-info', metadata: ring }))).toBe('invalid')
    expect(await failure(append(world, { type: 'session-info', title: 1 } as unknown as Chunk))).toBe('invalid')
    expect(await world.lines()).toHaveLength(1)
  })

  test('cannot set the info of a missing session', async () => {
    expect(await refusal(new World(), { type: 'session-info', title: 'A walk' })).toBe('unknown')
  })

  test('law 5: a repeated append is a duplicate before all other checks', async () => {
    const world = new World()
    const deadline = world.clock.now() + 10_000
    await waiting(world, { deadline })
    const claimed = claim(world, 'tab1', 5000)
    const invalid: [Chunk, string][] = [
      [claimed, 'ada'],
      [approve('a'), 'ada'],
      [output('c1'), 'bob'],
      [answer(), 'ada'],
      [request('r2', { whenBusy: 'queue' }), 'ada'],
      [stop('r1'), 'ada'],
    ]
    const first: GuestOutcome[] = []
    for (const [chunk, guest] of invalid) first.push(await append(world, chunk, guest))
    expect(first.map(({ outcome }) => outcome)).toEqual(Array(6).fill('appended'))
    const repeat = async (when: string) => {
      for (const [i, [chunk, guest]] of invalid.entries()) {
        const { first: from, last } = first[i] as { first: number; last: number }
        const again = await append(world, chunk, guest)
        expect(again, `${chunk.type} ${when}`).toMatchObject({ outcome: 'duplicate', first: from, last })
      }
    }
    await repeat('while the run is open')
    await world.clock.advance(20_000)
    await repeat('after the deadline')
    await world.manager.endStream(ID)
    await repeat('after the end')
    const next = await world.manager.createWriter(ID, { runId: 'r2', agentType: 'assistant' })
    await next.commit([])
    await world.manager.endStream(ID)
    await repeat('after the next run')
    // Another content or another guest is not a duplicate.
    expect(await refusal(world, approve('a', false))).toBe('already-settled')
    expect(await refusal(world, approve('a'), 'bob')).toBe('already-settled')
    expect(await refusal(world, answer('other'))).toBe('already-settled')
  })

  test('is refused if a concurrent answer was appended first', async () => {
    const world = new World()
    await waiting(world)
    const held = world.tap.hold('append')
    const slow = append(world, approve('a'))
    await held.arrived
    expect(await append(world, approve('a', false), 'bob')).toMatchObject({ outcome: 'appended' })
    held.open()
    expect(await slow).toEqual({ outcome: 'refused', reason: 'already-settled' })
    const { view } = await world.manager.view(ID)
    expect(view.messages[0]?.parts[0]).toMatchObject({ approval: { approved: false } })
  })

  test('may repeat its answer when the same question is asked again after a rewind', async () => {
    const world = new World()
    const call: Chunk = { type: 'tool-input-available', toolCallId: 'call-a', toolName: 'rm', input: 1 }
    let sequence = 0
    for (const runId of ['r1', 'r2', 'r3']) {
      const writer = await world.writer(runId)
      await writer.commit([call, ask('a')])
      const answered = (await append(world, approve('a'))) as { outcome: string; first: number }
      expect(answered.outcome).toBe('appended')
      expect(answered.first).toBeGreaterThan(sequence)
      sequence = answered.first
      expect((await world.manager.getInfo(ID))?.ticket.pendings).toEqual([])
      expect(await refusal(world, approve('a'))).toBe('duplicate')
      await world.manager.endStream(ID)
      await writer.close()
      await append(world, request(runId === 'r1' ? 'r2' : 'r3', { cut: { toSequence: 0, reason: 'regenerate' } }))
    }
  })

  test('law 5: a late stop of one run never stops the next', async () => {
    const world = new World()
    const writer = await world.writer()
    await world.manager.endStream(ID)
    await writer.close()
    await world.writer('r2')
    expect(await refusal(world, stop('r1'))).toBe('ended')
    expect((await world.manager.getInfo(ID))?.ticket.stop).toBe(false)
  })

  test('a claim of a client’s call excludes others until it expires; the first result wins', async () => {
    const world = new World()
    await waiting(world)
    expect(await refusal(world, claim(world, 'tab1'))).toBe('appended')
    expect(await refusal(world, claim(world, 'tab2'))).toBe('claimed')
    await world.clock.advance(999)
    expect(await refusal(world, claim(world, 'tab2'))).toBe('claimed')
    await world.clock.advance(1)
    expect(await refusal(world, claim(world, 'tab2'))).toBe('appended')
    expect(await refusal(world, claim(world, 'tab1'))).toBe('claimed')
    expect(await refusal(world, output('c1'), 'bob')).toBe('appended')
    expect(await refusal(world, output('c1', 2))).toBe('already-settled')
  })

  test('appends only to a log of the expected principal, also if another log was created meanwhile', async () => {
    const world = new World()
    const { manager, tap } = world
    await manager.createStream(ID, 'ada')
    const requestRun = (runId: string, principal: string | null) =>
      manager.append(ID, 'ada', { ...request(runId), whenBusy: 'queue' } as Chunk, { principal })
    expect(await requestRun('r1', 'ada')).toMatchObject({ outcome: 'appended' })
    expect(await failure(requestRun('r2', 'bob'))).toBe('absent')
    expect(await failure(requestRun('r2', null))).toBe('absent')
    expect(await manager.append(ID, 'ada', stop('r1'), { principal: 'bob' })).toMatchObject({ reason: 'unknown' })
    // Between the read of the log and the append.
    const { append } = tap.store
    let isFirst = true
    tap.store.append = async (...args) => {
      if (isFirst) {
        isFirst = false
        await manager.deleteStream(ID)
        await manager.createStream(ID, 'bob')
      }
      return append.apply(tap.store, args)
    }
    expect(await failure(requestRun('r3', 'ada'))).toBe('absent')
    expect(await manager.getInfo(ID)).toMatchObject({ principal: 'bob', head: 0 })
  })

  test('cannot answer, stop or request a run of a missing log', async () => {
    const world = new World()
    expect(await refusal(world, approve('a'))).toBe('unknown')
    expect(await failure(append(world, request('r1')))).toBe('absent')
    expect(await world.manager.getInfo(ID)).toBeNull()
  })

  test('cannot append writer chunks, too large chunks, or values that are not JSON', async () => {
    const world = new World({ maxEntryBytes: 4096 })
    await waiting(world)
    const before = await world.lines()
    const cycle: Record<string, unknown> = {}
    cycle['self'] = cycle
    expect(await failure(append(world, delta('I am the agent')))).toBe('invalid')
    expect(await failure(append(world, { type: 'run-finished', status: 'completed' }))).toBe('invalid')
    expect(await failure(append(world, answer('x'.repeat(5000))))).toBe('too-large')
    expect(await failure(append(world, { ...answer(), response: cycle } as unknown as Chunk))).toBe('invalid')
    expect(await failure(append(world, { ...answer(), response: 1n } as unknown as Chunk))).toBe('invalid')
    expect(await failure(append(world, approve('a'), ''))).toBe('invalid')
    expect(await failure(append(world, approve('a'), 'x'.repeat(513)))).toBe('invalid')
    expect(await world.lines()).toEqual(before)
  })

  test('names of Object.prototype are ordinary content', async () => {
    const world = new World()
    await waiting(world)
    const response = JSON.parse('{"__proto__":{"admin":true},"constructor":1,"toString":2}') as never
    expect(await append(world, { type: 'interrupt-response', interruptId: 'i', response })).toMatchObject({
      outcome: 'appended',
    })
    const { chunk } = (await world.log()).at(-1) as { chunk: { response: object } }
    expect(Object.keys(chunk.response)).toEqual(['__proto__', 'constructor', 'toString'])
    expect(({} as { admin?: boolean }).admin).toBeUndefined()
    const forged = JSON.parse(
      '{"type":"tool-approval-response","toolCallId":"call-a","approvalId":"a","__proto__":{"approved":true}}',
    )
    expect(await failure(append(world, forged))).toBe('invalid')
  })

  test('distinguishes names with any characters', async () => {
    const world = new World()
    const writer = await world.writer()
    const ids = ['a', 'a ', 'A', 'á', 'a\u0301', '"', '\\', '\u0000', ':', 'approval:a', '😀', '\ud800']
    await writer.commit(ids.map(id => ask(id)))
    for (const [i, id] of ids.entries()) expect(await refusal(world, approve(id, i % 2 === 0))).toBe('appended')
    for (const id of ids) expect(await refusal(world, approve(id), 'bob')).toBe('already-settled')
    expect((await world.manager.getInfo(ID))?.ticket.pendings).toEqual([])
  })

  test('many concurrent guests are served one after the other, each once', async () => {
    const world = new World()
    const writer = await world.writer()
    await writer.commit(Array.from({ length: 30 }, (_, i) => ask(`a${i}`)))
    const done = await Promise.all(
      Array.from({ length: 30 }, (_, i) => append(world, approve(`a${i}`), `guest${i % 7}`)),
    )
    expect(new Set(done.map(result => ('first' in result ? result.first : -1))).size).toBe(30)
    expect((await world.manager.getInfo(ID))?.ticket.pendings).toEqual([])
    await settled()
  })
})

test('law 5: an answer with its fields in another order is the same answer', async () => {
  const world = new World()
  const writer = await world.writer()
  await writer.commit([{ type: 'interrupt', interruptId: 'i', input: { kind: 'text' } }])
  const { outcome } = await world.manager.append(ID, 'ada', {
    type: 'interrupt-response',
    interruptId: 'i',
    response: { a: 1, b: [{ c: 1, d: 2 }] },
  })
  const type = 'interrupt-response' as const
  const again = { response: { b: [{ d: 2, c: 1 }], a: 1 }, interruptId: 'i', type }
  expect([outcome, (await world.manager.append(ID, 'ada', again)).outcome]).toEqual(['appended', 'duplicate'])
  const other = { ...again, response: { b: [{ d: 1, c: 2 }], a: 1 } }
  expect((await world.manager.append(ID, 'ada', other)).outcome).toBe('refused')
})
