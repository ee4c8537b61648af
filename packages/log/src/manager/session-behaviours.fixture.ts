// Sessions by owner and id, on every store.

import { expect } from 'vitest'
import { qualifiedId, sessionIdOf } from '../store/session-id.ts'
import { type Behaviour, define } from './managers-on-store.fixture.ts'

export const sessionBehaviours: Behaviour[] = [
  define('opens a session for each owner, all with the same id', async harness => {
    const [here, there] = [await harness.process(), await harness.process()]
    const owners = ['ann', 'bob', 'eve'].map(name => harness.id(name))
    const id = harness.id()
    const opened = []
    for (const owner of owners) {
      expect(await there.findSession(owner, id)).toBe(null)
      opened.push(await here.openSession(owner, id))
    }
    expect(new Set(opened.map(session => session?.streamId)).size).toBe(3)
    expect(opened.map(session => session?.isNew)).toEqual([true, true, true])
    for (const [i, owner] of owners.entries()) {
      const { streamId = '' } = opened[i] ?? {}
      expect(sessionIdOf(streamId)).toBe(id)
      expect(await there.openSession(owner, id)).toEqual({ streamId, isNew: false })
      // The id of the log is an id of the session, too.
      expect(await there.openSession(owner, streamId)).toEqual({ streamId, isNew: false })
      expect(await there.findSession(owner, streamId)).toMatchObject({ streamId, principal: owner })
    }
    expect(opened[0]?.streamId).toBe(id)
    expect(await there.findSession(null, id)).toBe(null)
    expect(await there.openSession(null, id)).toBe(undefined)
  }),

  define('opens one session for concurrent requests of an owner, in any process', async harness => {
    const processes = [await harness.process(), await harness.process()]
    const [ann, bob] = [harness.id('ann'), harness.id('bob')]
    for (const isTaken of [false, true]) {
      const id = harness.id(isTaken ? 'taken' : 'free')
      if (isTaken) await processes[0]?.createStream(id, bob)
      const opened = await Promise.all([...processes, ...processes].map(manager => manager.openSession(ann, id)))
      expect(new Set(opened.map(session => session?.streamId)).size).toBe(1)
      expect(opened.filter(session => session?.isNew)).toHaveLength(1)
    }
  }),

  define('accepts ids and owners of maximum length', async harness => {
    const manager = await harness.process()
    const id = `${harness.id()}-`.padEnd(256, '語')
    const owners = ['a', 'b'].map(name => `${harness.id(name)}-`.padEnd(512, '語'))
    for (const owner of owners) await manager.openSession(owner, id)
    for (const owner of owners) {
      const { streams } = await manager.listStreams(owner)
      expect(streams.map(({ streamId }) => sessionIdOf(streamId))).toEqual([id])
    }
  }),

  define('lists sessions page by page, with tokens that do not reveal the ids of logs', async harness => {
    const manager = await harness.process()
    const [ann, bob] = [harness.id('ann'), harness.id('bob')]
    const ids = ['a', 'b', 'c', 'd'].map(name => harness.id(name))
    for (const id of [ids[1], ids[3]]) await manager.createStream(id as string, bob)
    for (const id of ids) await manager.openSession(ann, id)
    const found: string[] = []
    for (let after: string | undefined; ; ) {
      const { streams, next } = await manager.listStreams(ann, { limit: 1, ...(after !== undefined && { after }) })
      found.push(...streams.map(({ streamId }) => sessionIdOf(streamId)))
      if (next === null) break
      after = next
      const hash = qualifiedId(ann, '').slice(1)
      const decoded = [next, ...next.split(/[^\w-]/).map(part => Buffer.from(part, 'base64url').toString())]
      for (const text of decoded) expect(text).not.toContain(hash)
    }
    expect(found.toSorted()).toEqual(ids.toSorted())
  }),
]
