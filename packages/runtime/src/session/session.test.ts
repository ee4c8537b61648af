import { Memory, memoryStore, StreamManager } from '@millrace/log'
import { type Chunk, Fold } from '@millrace/protocol'
import { expect, test, vi } from 'vitest'
import { Session } from './session.ts'

const LARGE = 'x'.repeat(200)
const USER = { messageId: 'm', role: 'user' as const, parts: [{ type: 'text' as const, text: 'Go on.' }] }

/** A session with a run whose context and tool output are stored as blobs. */
async function written() {
  const memory = new Memory()
  const manager = new StreamManager({ store: memoryStore(undefined, memory), blobBytes: 100 })
  await manager.createStream('s')
  const request = { type: 'run-requested', runId: 'r', program: 'agent:a@1' } as const
  await manager.append('s', 'ann', request, { context: { secret: LARGE } })
  const writer = await manager.createWriter('s', { runId: 'r', agentType: 'a', step: 1 })
  await writer.write({ type: 'step-start' })
  await writer.commit([
    { type: 'tool-input-available', toolCallId: 'c', toolName: 't', input: {} },
    { type: 'checkpoint-created', checkpointId: 'r/main/1+', stepCount: 1 },
  ])
  return { memory, manager, writer }
}

test('continues from its last position and resolves large values', async () => {
  const { manager, writer } = await written()
  const read: number[] = []
  const session = await Session.open(manager, 's', { writer, onRead: head => read.push(head) })
  expect(await session.context('r')).toEqual({ secret: LARGE })
  expect(session.hasCall('c')).toBe(true)
  expect(session.hasCall('d')).toBe(false)
  const done = await writer.lane({ lane: 'main/c' }).commit([
    { type: 'tool-output-available', toolCallId: 'c', output: { text: LARGE } },
    { type: 'checkpoint-created', checkpointId: 'r/main/c/1+', stepCount: 1 },
  ])
  const { sequence } = writer.cursor
  await session.current()
  await session.current()
  expect(read).toEqual([sequence])
  expect([session.head, done.outcome]).toEqual([sequence, 'appended'])
  const [message] = await session.history()
  expect(message?.parts.find(part => 'toolCallId' in part)).toMatchObject({ output: { text: LARGE } })
  expect(session.message('r', 'r')?.parts.find(part => 'toolCallId' in part)).toMatchObject({ output: null })
  // Checkpoints of calls do not count as checkpoints of the agent.
  expect(await session.lastCheckpoint('r')).toEqual({ checkpointId: 'r/main/1+', stepCount: 1 })
  expect(await session.lastCheckpoint('other')).toBeUndefined()
  await manager.close()
})

test('folds appends of its writer at once, and reads only what guests appended between', async () => {
  const { manager, writer } = await written()
  const session = await Session.open(manager, 's', { writer })
  const reads = vi.spyOn(manager, 'upTo')
  await writer.commit([{ type: 'state-snapshot', state: 1 }])
  expect([session.head, session.state]).toEqual([writer.cursor.sequence, 1])
  await manager.append('s', 'ann', { type: 'session-info', title: 'First' })
  await writer.commit([{ type: 'state-snapshot', state: 2 }])
  expect(session.state).toBe(1)
  expect((await session.current()).state).toBe(2)
  expect(reads).toHaveBeenCalledTimes(1)
  await writer.commit([{ type: 'state-snapshot', state: 3 }])
  expect([session.head, session.state]).toEqual([writer.cursor.sequence, 3])
  // An append during a read is in the read, or is read later.
  const caughtUp = session.catchUp()
  await writer.commit([{ type: 'state-snapshot', state: 4 }])
  await caughtUp
  expect((await session.current()).state).toBe(4)
  const { view } = await Session.open(manager, 's')
  expect(session.view).toEqual(view)
  session.close()
  await writer.commit([{ type: 'state-snapshot', state: 5 }])
  expect(session.state).toBe(4)
  await manager.close()
})

test('gives a model no message of a run that has only begun', async () => {
  const { manager, writer } = await written()
  await writer.decide(() => [{ type: 'run-finished', status: 'completed' }])
  await writer.close()
  const request = { type: 'run-requested', runId: 'q', program: 'agent:a@1', message: USER } satisfies Chunk
  await manager.append('s', 'ann', request)
  const next = await manager.createWriter('s', { runId: 'q', agentType: 'a', step: 1 })
  await next.write({ type: 'start' }).appended
  await next.write({ type: 'step-start' }).appended
  const session = await Session.open(manager, 's', { writer: next })
  expect(session.message('q', 'q')).toBeDefined()
  expect((await session.history()).at(-1)?.role).toBe('user')
  expect(await session.agentHistory('q', 'q')).toEqual([])
  await manager.close()
})

test('tracks its calls incrementally, without searching', async () => {
  const { manager, writer } = await written()
  const session = await Session.open(manager, 's', { writer })
  const knownIds = async (...ids: string[]) => {
    await session.current()
    const views = vi.spyOn(Fold.prototype, 'view')
    const has = ids.filter(id => session.hasCall(id))
    expect(views).not.toHaveBeenCalled()
    views.mockRestore()
    return has
  }
  expect(await knownIds('c', 'd')).toEqual(['c'])
  await writer.write({ type: 'tool-input-start', toolCallId: 'd', toolName: 't' }).appended
  await writer.write({ type: 'tool-input-delta', toolCallId: 'd', delta: '{}' }).appended
  expect(await knownIds('c', 'd')).toEqual(['c', 'd'])
  // A discarded id is free again, and can be used by a new call.
  await writer.main.discard({ reason: 'cut off' })
  expect(await knownIds('c', 'd')).toEqual(['c'])
  await writer.write({ type: 'tool-input-start', toolCallId: 'd', toolName: 't' }).appended
  expect(await knownIds('c', 'd')).toEqual(['c', 'd'])
  const again = await Session.open(manager, 's')
  expect(['c', 'd', 'e'].filter(id => again.hasCall(id))).toEqual(['c', 'd'])
  await manager.close()
})

test('throws if a large value is missing', async () => {
  const { memory, manager } = await written()
  memory.logs.get('s')?.blobs.clear()
  const session = await Session.open(manager, 's')
  await expect(session.context('r')).rejects.toThrow('a large value of the session is missing')
  await manager.close()
})

test('tracks open sub-agents incrementally, without searching', async () => {
  const { manager, writer } = await written()
  const lane = writer.lane({ lane: 'main/c' })
  const child = { agentId: 'child:c', agentType: 'child', toolCallId: 'c' } as const
  const start = { type: 'subagent-start', lane: 'main/c', ...child } as const
  const session = await Session.open(manager, 's', { writer })
  const isAtWork = async (reader: Session) => {
    await reader.current()
    const views = vi.spyOn(Fold.prototype, 'view')
    const found = [reader.hasAgent('r', 'child:c'), reader.hasAgent('other', 'child:c'), reader.hasAgent('r', 'r')]
    expect(views).not.toHaveBeenCalled()
    views.mockRestore()
    return found
  }
  expect(await isAtWork(session)).toEqual([false, false, false])
  await lane.commit([start, { type: 'checkpoint-created', checkpointId: 'r/main/c/1+', stepCount: 1 }])
  expect(await isAtWork(session)).toEqual([true, false, false])
  const later = await Session.open(manager, 's', { writer })
  expect(await isAtWork(later)).toEqual([true, false, false])
  const { startedAt = 0 } = later.view.agents[0] ?? {}
  expect(await session.activeTime('r', 'child:c', startedAt + 7)).toBe(7)
  expect(await later.activeTime('r', 'child:c', startedAt + 7)).toBe(7)
  await lane.commit([
    { type: 'subagent-end', ...child, status: 'completed' },
    { type: 'tool-output-available', toolCallId: 'c', output: 'done' },
    { type: 'checkpoint-created', checkpointId: 'r/main/c/1+', stepCount: 1 },
  ])
  for (const opened of [session, later, await Session.open(manager, 's', { writer })]) {
    expect(await isAtWork(opened)).toEqual([false, false, false])
  }
  await manager.close()
})
