import { type LogStore, Memory, memoryStore, StreamManager } from '@millrace/log'
import fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import { agent } from '../define/agent.ts'
import { VirtualCluster } from '../drive/virtual-cluster.fixture.ts'
import { scriptedModel } from '../model/scripted-model.ts'
import { Session } from './session.ts'

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

test('laws 2 and 3: a log that a session gave back continues as if it were folded from the start', async () => {
  const acts = fc.array(fc.array(fc.constantFrom(...ACTS), { maxLength: 3 }), { minLength: 2, maxLength: 6 })
  let continued = 0
  let readAnew = 0
  await fc.assert(
    fc.asyncProperty(acts, fc.boolean(), async (rounds, hasReaders) => {
      const past = new ChangingSession()
      await past.act('turn')
      const read = vi.spyOn(past.store, 'read')
      let head = 0
      for (const round of rounds) {
        for (const act of round) await past.act(act)
        read.mockClear()
        const session = await Session.open(past.manager, 's')
        const isContinued = read.mock.calls.every(([, from]) => from.sequence >= head)
        const isBroken = round.some(act => act === 'rewind' || act === 'restored' || act === 'remade')
        if (head > 0 && !isBroken) expect(isContinued).toBe(true)
        if (isContinued) continued++
        else readAnew++
        if (hasReaders) expect((await past.manager.view('s')).view).toEqual(session.view)
        expect(snapshotOf(session)).toEqual(
          snapshotOf(await Session.open(new StreamManager({ store: past.store }), 's')),
        )
        session.close()
        head = session.head
      }
    }),
    { numRuns: 40 },
  )
  expect(Math.min(continued, readAnew)).toBeGreaterThan(10)
})

test('two sessions of one log do not share a fold, and a reservation ends with its session', async () => {
  const past = new ChangingSession()
  await past.act('turn')
  const first = await Session.open(past.manager, 's')
  const { head } = first
  expect(first.reserve('c', 'main')).toBe(true)
  expect(first.reserve('c', 'other')).toBe(false)
  await past.act('turn')
  const second = await Session.open(past.manager, 's')
  expect([first.head, second.head > head]).toEqual([head, true])
  second.close()
  first.close()
  const heads: number[] = []
  const third = await Session.open(past.manager, 's', { onRead: head => heads.push(head) })
  expect(third.head).toBe(second.head)
  expect(third.reserve('c', 'other')).toBe(true)
  await past.act('turn')
  await third.catchUp()
  expect(heads).toEqual([third.head])
})

test('a turn reads nothing that is older than the turn before, and sends the whole conversation', async () => {
  const cluster = new VirtualCluster()
  const seen: number[] = []
  const teller = agent({
    name: 'teller',
    model: scriptedModel(({ options, lastText }) => {
      seen.push(options.prompt.length)
      return { text: `you said ${lastText}` }
    }),
  })
  const { runtime, connection } = cluster.process(() => [teller])
  const read = vi.spyOn(connection.store, 'read')
  const heads = [0]
  for (const n of [1, 2, 3, 4]) {
    read.mockClear()
    const run = await runtime.start({ session: 's', runId: `r${n}`, agent: teller, input: `${n}` })
    await cluster.waitForEnd('s', run.runId)
    const firsts = read.mock.calls.flatMap(([, from, { batches }]) => (batches > 0 ? [from.sequence] : []))
    // The request of a turn may read the entries of the turn before, if that is being completed just now.
    expect(Math.min(...firsts)).toBeGreaterThanOrEqual(heads[n - 2] ?? 0)
    heads.push((await cluster.manager.getInfo('s'))?.head ?? 0)
  }
  // Another process drives a turn in between.
  const other = cluster.process(() => [teller], { engine: false })
  await other.runtime.start({ session: 's', runId: 'r5', agent: teller, input: '5' })
  await cluster.waitForEnd('s', 'r5')
  expect(seen).toEqual([1, 3, 5, 7, 9])
  const { view } = await runtime.view('s')
  expect(view.messages.map(({ runId }) => runId ?? 'ann')).toEqual(
    ['r1', 'r2', 'r3', 'r4', 'r5'].flatMap(runId => ['ann', runId]),
  )
  await cluster.clock.until(runtime.close())
})
