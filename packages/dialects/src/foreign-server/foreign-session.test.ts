// The cost of a session with a foreign server (law 11), counted.

import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { type Chunk, Fold, type View } from '@millrace/protocol'
import { expect, onTestFinished, test, vi } from 'vitest'
import { foreignId } from '../dialect/distinct-id.ts'
import { ForeignConnection } from './foreign-connection.ts'
import type { ForeignReply, ForeignServer } from './foreign-server.ts'
import { RunIds, SessionIds } from './session-ids.ts'

const reply: ForeignReply = {
  status: 'completed',
  async *[Symbol.asyncIterator]() {
    yield [{ type: 'start' }, { type: 'text-start', id: '0' }, { type: 'text-delta', id: '0', delta: 'ok' }].map(
      chunk => ({ chunk: chunk as Chunk }),
    )
  },
}

/** Collects all garbage. */
async function collect(): Promise<void> {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as () => void
  // A task's own references are freed only after the task.
  for (let i = 0; i < 3; i++) {
    await new Promise(resolve => setImmediate(resolve))
    gc()
  }
}

test('law 11: keeps no view per turn in a long session', async () => {
  const views: WeakRef<View>[] = []
  const { view } = Fold.prototype
  onTestFinished(() => {
    Fold.prototype.view = view
  })
  Fold.prototype.view = function (this: Fold) {
    const found = view.call(this)
    views.push(new WeakRef(found), new WeakRef(found.messages as unknown as View))
    return found
  }
  const server: ForeignServer = { name: 'peer', ask: () => reply }
  const connection = new ForeignConnection(server)
  const input = { parts: [{ type: 'text', text: 'Hi' }] }
  for (let i = 0; i < 60; i++) {
    await connection.api.ask('POST', '/sessions/s/runs', { runId: `r${i}`, messageId: `m${i}`, input })
    await new Promise(resolve => setImmediate(resolve))
  }
  expect(views.length).toBeGreaterThan(300)
  await collect()
  expect(views.filter(one => one.deref()).length).toBeLessThan(12)
  // Nothing is lost.
  const latestView = new Promise<View>(resolve => {
    connection.follow('s', { snapshot: ({ view }) => resolve(view), entries: () => {} })
  })
  expect((await latestView).messages).toHaveLength(120)
})

test('law 11: takes constant time to give a text of a run a unique id', () => {
  const looks = vi.spyOn(Set.prototype, 'has')
  onTestFinished(() => looks.mockRestore())
  const looksFor = (count: number): number => {
    const ids = new RunIds('r', new SessionIds())
    looks.mockClear()
    const ownIds = new Set<string>()
    for (let i = 0; i < count; i++) {
      ownIds.add((ids.withUniqueIds({ type: 'text-start', id: '0' }, 'r') as { id: string }).id)
      ids.withUniqueIds({ type: 'text-end', id: '0' }, 'r')
    }
    const { length } = looks.mock.calls
    expect(ownIds.size).toBe(count)
    return length
  }
  expect(looksFor(2_000)).toBeLessThan(2.2 * looksFor(1_000))
})

test('gives texts and calls that share an id distinct ids, from which the server’s own follow', () => {
  const session = new SessionIds()
  const ids = new RunIds('r', session)
  const start = (id: string) => (ids.withUniqueIds({ type: 'text-start', id }, 'r') as { id: string }).id
  const foreign = ['a~2', 'a', 'a', 'a', 'a~2', 'a~3']
  const ownIds = foreign.map(start)
  expect(ownIds.slice(0, 2)).toEqual(['a~2', 'a'])
  expect(new Set(ownIds).size).toBe(ownIds.length)
  expect(ownIds.map(foreignId)).toEqual(foreign)
  const call = (run: RunIds) => run.withUniqueIds({ type: 'tool-input-start', toolCallId: 'c', toolName: 'x' }, 'r')
  const calls = [call(ids), call(ids), call(new RunIds('s', session))].map(
    one => (one as { toolCallId: string }).toolCallId,
  )
  expect(calls.slice(0, 2)).toEqual(['c', 'c'])
  expect(calls[2]).not.toBe('c')
  expect(session.foreignAnswer({ kind: 'tool-result', id: calls[2] as string, output: 1 })).toMatchObject({ id: 'c' })
})
