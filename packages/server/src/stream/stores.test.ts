// A session that one process writes and another follows, on each store.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openStore, StreamManager, systemTimers } from '@millrace/log'
import { expect, onTestFinished, test } from 'vitest'
import { postgres } from '../../../../scripts/services/postgres.ts'
import { redis } from '../../../../scripts/services/redis.ts'
import { delta, eventually, ID, StreamServer, shownOf, viewOf } from './stream-server.fixture.ts'

async function sqlite() {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-streams-'))
  return { url: `sqlite:${join(folder, 'streams.db')}`, stop: async () => rmSync(folder, { recursive: true }) }
}

const STORES = [
  ['sqlite', sqlite],
  ['redis', redis],
  ['postgres', () => postgres({ settings: { fsync: 'off' } })],
] as const

async function opened(url: string) {
  const store = await openStore(url)
  onTestFinished(() => store.close())
  return store
}

test.each(STORES)(
  'law 2: on %s a follower gets all entries of another process, and the reason its stream ends',
  async (_, start) => {
    const service = await start()
    onTestFinished(async () => void (await service.stop()))
    const [here, there] = [await opened(service.url), await opened(service.url)]
    const testServer = new StreamServer({
      store: here,
      settings: { timers: systemTimers },
      manager: { timers: systemTimers },
    })
    const other = new StreamManager({ store: there })
    await other.createStream(ID)
    const early = testServer.follow()
    await eventually(() => expect(early.types).toEqual(['open', 'caught-up', 'status']))
    const writer = await other.createWriter(ID, { runId: 'r1', agentType: 'assistant' })
    for (let i = 0; i < 20; i++) await writer.write(delta(`${i} `)).appended
    const late = testServer.follow()
    await other.endStream(ID)
    await writer.close()
    const { view } = await other.view(ID)
    for (const client of [early, late]) {
      await eventually(() => expect(client.sequences.at(-1)).toBe(view.head))
      expect(shownOf(await viewOf(other, client))).toEqual(shownOf(view))
    }
    const again = testServer.follow({ after: early.cursor })
    await eventually(() => expect(again.types).toEqual(['open', 'caught-up', 'status']))
    await there.restored()
    await eventually(() => expect(again.isClosed && early.isClosed && late.isClosed).toBe(true))
    expect(early.frames.at(-1)).toMatchObject({ type: 'truncated', reason: 'incarnation' })
    const last = testServer.follow()
    await eventually(() => expect(last.of('caught-up')).toHaveLength(1))
    await other.deleteStream(ID)
    await eventually(() => expect(last.isClosed).toBe(true))
    expect(last.frames.at(-1)).toMatchObject({ type: 'fail', error: { code: 'session_unknown' } })
    await eventually(() => expect(testServer.resources).toMatchObject({ connections: 0, liveStreams: 0, watches: 0 }))
  },
)
