// What a session with a peer costs (law 11), counted.

import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { type Chunk, Fold, type View } from '@millrace/protocol'
import { expect, onTestFinished, test, vi } from 'vitest'
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

/** Lets go of all that nobody holds. */
async function collect(): Promise<void> {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as () => void
  // What a job held is let go of only after it.
  for (let i = 0; i < 3; i++) {
    await new Promise(resolve => setImmediate(resolve))
    gc()
  }
}

test('law 11: of a session with many turns no view is kept for each', async () => {
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
  const peer: ForeignServer = { name: 'peer', ask: () => reply }
  const connection = new ForeignConnection(peer)
  const input = { parts: [{ type: 'text', text: 'Hi' }] }
  for (let i = 0; i < 60; i++) {
    await connection.api.ask('POST', '/sessions/s/runs', { runId: `r${i}`, messageId: `m${i}`, input })
    await new Promise(resolve => setImmediate(resolve))
  }
  expect(views.length).toBeGreaterThan(300)
  await collect()
  expect(views.filter(one => one.deref()).length).toBeLessThan(12)
  // And all of it is there.
  const shown = new Promise<View>(resolve => {
    connection.follow('s', { snapshot: ({ view }) => resolve(view), entries: () => {} })
  })
  expect((await shown).messages).toHaveLength(120)
})

test('law 11: to name the texts of a run takes as many steps as there are texts', () => {
  const looks = vi.spyOn(Set.prototype, 'has')
  onTestFinished(() => looks.mockRestore())
  const looksFor = (count: number): number => {
    const names = new RunIds('r', new SessionIds())
    looks.mockClear()
    const ids = new Set<string>()
    for (let i = 0; i < count; i++) {
      ids.add((names.own({ type: 'text-start', id: '0' }, 'r') as { id: string }).id)
      names.own({ type: 'text-end', id: '0' }, 'r')
    }
    const { length } = looks.mock.calls
    expect(ids.size).toBe(count)
    return length
  }
  expect(looksFor(2_000)).toBeLessThan(2.2 * looksFor(1_000))
})

test('a name that a peer gave itself is not given again', () => {
  const names = new RunIds('r', new SessionIds())
  const start = (id: string) => (names.own({ type: 'text-start', id }, 'r') as { id: string }).id
  expect(['a~2', 'a', 'a', 'a', 'a~2', 'a~3'].map(start)).toEqual(['a~2', 'a', 'a~3', 'a~4', 'a~2~2', 'a~3~2'])
})
