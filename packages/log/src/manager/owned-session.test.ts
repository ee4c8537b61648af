import { expect, test } from 'vitest'
import { qualifiedId } from '../store/session-id.ts'
import { memoryStore } from '../stores/memory/memory-store.ts'
import { openOwned } from './owned-session.ts'
import { StreamManager } from './stream-manager.ts'

/** A manager whose first creation of a log is preceded by changes of other processes. */
function managerWith(changes: (manager: StreamManager) => Promise<unknown>) {
  const manager = new StreamManager({ store: memoryStore() })
  let isFirst = true
  const logs = {
    getInfo: (streamId: string) => manager.getInfo(streamId),
    expireStream: (streamId: string, idleMs: number, version?: string) =>
      manager.expireStream(streamId, idleMs, version),
    createStream: async (streamId: string, owner?: string) => {
      if (isFirst) await changes(manager)
      isFirst = false
      return manager.createStream(streamId, owner)
    },
  }
  return { manager, logs }
}

const QUALIFIED = qualifiedId('ann', 's')

const logsOfAnn = async (manager: StreamManager) =>
  (await manager.listStreams('ann')).streams.map(({ streamId }) => streamId)

test('returns the log that another process created with the plain id, after it became free', async () => {
  const { manager, logs } = managerWith(async manager => {
    await manager.deleteStream('s')
    await manager.createStream('s', 'ann')
  })
  await manager.createStream('s', 'bob')
  expect(await openOwned(logs, 'ann', 's')).toEqual({ streamId: 's', isNew: false })
  expect(await logsOfAnn(manager)).toEqual(['s'])
})

test('returns the log that another process created with the qualified id, before the plain id became free', async () => {
  const { manager, logs } = managerWith(manager => manager.createStream(QUALIFIED, 'ann'))
  expect(await openOwned(logs, 'ann', 's')).toEqual({ streamId: QUALIFIED, isNew: false })
  expect(await logsOfAnn(manager)).toEqual([QUALIFIED])
})

test('creates a log with a qualified id if another owner takes the plain id first', async () => {
  const { manager, logs } = managerWith(manager => manager.createStream('s', 'bob'))
  expect(await openOwned(logs, 'ann', 's')).toEqual({ streamId: QUALIFIED, isNew: true })
  expect(await logsOfAnn(manager)).toEqual([QUALIFIED])
})

test('does not use a log with a qualified id that belongs to another owner', async () => {
  const manager = new StreamManager({ store: memoryStore() })
  await manager.createStream('s', 'bob')
  await manager.createStream(QUALIFIED, 'eve')
  expect(await manager.findSession('ann', 's')).toBe(null)
  expect(await manager.openSession('ann', 's')).toBe(undefined)
})
