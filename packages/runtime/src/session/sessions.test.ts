import { type LogStore, Memory, memoryStore, StreamManager } from '@millrace/log'
import fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import { agent } from '../define/agent.ts'
import { VirtualCluster } from '../drive/virtual-processes.fixture.ts'
import { scriptedModel } from '../model/scripted-model.ts'
import { Session } from './session.ts'
import { Sessions } from './sessions.ts'

const plain = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T

/** Changes to a session while it is cached. */
const ACTS = ['turn', 'call', 'child', 'hidden', 'discard', 'rewind', 'restored', 'remade'] as const

/** A session that receives changes, each in a run of its own. */
class ChangingSession {
  readonly store: LogStore = memoryStore(undefined, new Memory())
  readonly manager = new StreamManager({ store: this.store, coalesceMs: 0 })
  #runs = 0

  async act(kind: (typeof ACTS)[number]): Promise<void> {
    const { manager, store } = this
    const runId = `r${++this.#runs}`
    if (kind === 'remade') await manager.deleteStream('s')
    if (kind === 'restored') await store.restored()
    await manager.createStream('s')
    const { view } = await manager.view('s')
    const last = view.runs.at(-1)
    const cut = kind === 'rewind' && last ? { cut: { toSequence: last.at - 1, reason: 'retry' } } : {}
    await manager.append('s', 'ann', { type: 'run-requested', runId, program: 'agent:a@1', ...cut })
    const writer = await manager.createWriter('s', { runId, agentType: 'a', step: 1 })
    await writer.write({ type: 'text-delta', id: 't', delta: `words of ${runId}` })
    const id = `c-${runId}`
    const call = { type: 'tool-input-available', toolCallId: id, toolName: 't', input: {} } as const
    if (kind === 'call') await writer.commit([call])
    if (kind === 'hidden') await writer.write(call, { internal: true })
    if (kind === 'discard') await writer.main.discard({ reason: 'cut off' })
    const child = { agentId: `child:${id}`, agentType: 'child', toolCallId: id } as const
    if (kind === 'child') await writer.commit([call, { type: 'subagent-start', lane: 'main/c', ...child }])
    await writer.flush()
    await manager.endStream('s')
    await writer.close()
  }
}

/** Everything that a session exposes. */
const snapshotOf = (session: Session) => {
  const { view, head } = session
  const runs = view.runs.map(({ runId }) => runId)
  return plain({
    view,
    head,
    calls: runs.map(runId => session.hasCall(`c-${runId}`)),
    agents: runs.map(runId => session.hasAgent(runId, `child:c-${runId}`)),
    runs: runs.map(runId => session.run(runId)),
  })
}

test('laws 2 and 3: a cached session equals a newly opened one after any change', async () => {
  const acts = fc.array(fc.array(fc.constantFrom(...ACTS), { maxLength: 3 }), { minLength: 2, maxLength: 6 })
  let kept = 0
  let opened = 0
  await fc.assert(
    fc.asyncProperty(acts, async rounds => {
      const past = new ChangingSession()
      const sessions = new Sessions(past.manager)
      await past.act('turn')
      let before: Session | undefined
      for (const round of rounds) {
        for (const act of round) await past.act(act)
        const session = await sessions.open('s', {})
        expect(snapshotOf(session)).toEqual(snapshotOf(await Session.open(past.manager, 's')))
        const isBroken = round.some(act => act === 'rewind' || act === 'restored' || act === 'remade')
        if (before) expect(session === before).toBe(!isBroken)
        if (session === before) kept++
        else opened++
        sessions.keep(session)
        before = session
      }
    }),
    { numRuns: 40 },
  )
  expect(Math.min(kept, opened)).toBeGreaterThan(10)
})

test('gives a session to one drive at a time, and clears the reservations of its run', async () => {
  const past = new ChangingSession()
  await past.act('turn')
  const sessions = new Sessions(past.manager)
  const first = await sessions.open('s', {})
  expect(first.reserve('c', 'main')).toBe(true)
  expect(first.reserve('c', 'other')).toBe(false)
  expect(await sessions.open('s', {})).not.toBe(first)
  sessions.keep(first)
  const modelCalls: number[] = []
  const again = await sessions.open('s', { onRead: head => modelCalls.push(head) })
  expect(again).toBe(first)
  expect(again.reserve('c', 'other')).toBe(true)
  await past.act('turn')
  await again.catchUp()
  expect(modelCalls).toEqual([again.head])
})

test('reuses the session of the last turn and sends the whole conversation', async () => {
  const stage = new VirtualCluster()
  const seen: number[] = []
  const teller = agent({
    name: 'teller',
    model: scriptedModel(({ options, lastText }) => {
      seen.push(options.prompt.length)
      return { text: `you said ${lastText}` }
    }),
  })
  const { runtime } = stage.process(() => [teller])
  const opened = vi.spyOn(Session, 'open')
  for (const n of [1, 2, 3]) {
    const run = await runtime.start({ session: 's', runId: `r${n}`, agent: teller, input: `${n}` })
    await stage.ended('s', run.runId)
  }
  // Another process drives a turn in between.
  const other = stage.process(() => [teller], { engine: false })
  await other.runtime.start({ session: 's', runId: 'r4', agent: teller, input: '4' })
  await stage.ended('s', 'r4')
  expect(opened).toHaveBeenCalledTimes(1)
  opened.mockRestore()
  expect(seen).toEqual([1, 3, 5, 7])
  const { view } = await runtime.view('s')
  expect(view.messages.map(({ runId }) => runId ?? 'ann')).toEqual(
    ['r1', 'r2', 'r3', 'r4'].flatMap(runId => ['ann', runId]),
  )
  await stage.clock.until(runtime.close())
})
