// A session that is followed here and written elsewhere, on each store: what one process says, the other's readers see.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type LogStore, openStore, StreamManager, systemTimers } from '@millrace/log'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { postgres } from '../../../../scripts/services/postgres.ts'
import { redis } from '../../../../scripts/services/redis.ts'
import { delta, eventually, ID, Stage, shownOf, viewOf } from './stage.fixture.ts'

const folder = mkdtempSync(join(tmpdir(), 'millrace-streams-'))
const stopped: (() => Promise<void>)[] = []

afterAll(async () => {
  for (const stop of stopped) await stop()
  rmSync(folder, { recursive: true })
})

const urls: Record<string, () => Promise<string>> = {
  sqlite: async () => `sqlite:${join(folder, 'streams.db')}`,
  redis: async () => {
    const { url, stop } = await redis()
    stopped.push(stop)
    return url
  },
  postgres: async () => {
    const { url, stop } = await postgres({ settings: { fsync: 'off' } })
    stopped.push(stop)
    return url
  },
}

describe.each(Object.keys(urls))('%s', name => {
  let here: LogStore
  let there: LogStore

  beforeAll(async () => {
    const url = await (urls[name] as () => Promise<string>)()
    here = await openStore(url)
    there = await openStore(url)
    return async () => {
      await here.close()
      await there.close()
    }
  })

  const worlds = () => ({
    stage: new Stage({ store: here, settings: { timers: systemTimers }, manager: { timers: systemTimers } }),
    other: new StreamManager({ store: there }),
  })

  test('law 2: from before the first entry to the last, and what closes a stream is told', async () => {
    const { stage, other } = worlds()
    await other.createStream(ID)
    const early = stage.follow()
    await eventually(() => expect(early.types).toEqual(['open', 'caught-up', 'status']))
    const writer = await other.createWriter(ID, { runId: 'r1', agentType: 'assistant' })
    for (let i = 0; i < 20; i++) await writer.write(delta(`${i} `)).appended
    const late = stage.follow()
    await other.endStream(ID)
    await writer.close()
    const { view } = await other.view(ID)
    for (const client of [early, late]) {
      await eventually(() => expect(client.sequences.at(-1)).toBe(view.head))
      expect(shownOf(await viewOf(other, client))).toEqual(shownOf(view))
    }
    const again = stage.follow({ after: early.cursor })
    await eventually(() => expect(again.types).toEqual(['open', 'caught-up', 'status']))
    await there.restored()
    await eventually(() => expect(again.isClosed && early.isClosed && late.isClosed).toBe(true))
    expect(early.frames.at(-1)).toMatchObject({ type: 'truncated', reason: 'incarnation' })
    const last = stage.follow()
    await eventually(() => expect(last.of('caught-up')).toHaveLength(1))
    await other.deleteStream(ID)
    await eventually(() => expect(last.isClosed).toBe(true))
    expect(last.frames.at(-1)).toMatchObject({ type: 'fail', error: { code: 'session_unknown' } })
    await eventually(() => expect(stage.held).toMatchObject({ open: 0, fed: 0, watches: 0 }))
  })
})
