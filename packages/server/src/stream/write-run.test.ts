import type { Entry } from '@millrace/protocol'
import type { Run } from '@millrace/runtime'
import type { PieceOptions, RunPiece } from '@millrace/runtime/internal'
import { expect, test } from 'vitest'
import { SlowClient } from './slow-client.fixture.ts'
import { StreamChannel } from './stream-channel.ts'
import { ID, StreamServer } from './stream-server.fixture.ts'
import { writeRun } from './write-run.ts'

test('law 7: resuming at a pause that is over meanwhile sends all later entries, then the end', async () => {
  const testServer = new StreamServer()
  await testServer.completeRun('r1', 'hello')
  const entries = (await testServer.publicEntries()).filter(({ origin }) => origin.runId === 'r1')
  const info = await testServer.manager.getInfo(ID)
  const cursorAt = (sequence: number) => `${sequence}.${info?.incarnation}.1-x`
  const reads: (string | number | undefined)[] = []
  const pause = entries[0] as Entry
  const run = {
    sessionId: ID,
    runId: 'r1',
    // At first it is paused: nothing follows the reader's position.
    async *pieces({ after }: PieceOptions = {}): AsyncGenerator<RunPiece> {
      reads.push(after)
      if (reads.length !== 2) return
      const rest = entries.filter(({ sequence }) => sequence > pause.sequence)
      const { sequence } = rest.at(-1) as Entry
      yield { after: pause.sequence, sequence, cursor: cursorAt(sequence), entries: rest, replayEnd: 0, cursorAt }
    },
    result: async () => ({ status: 'completed', output: undefined }),
  } as unknown as Run
  const client = new SlowClient()
  await writeRun(testServer.manager, run, new StreamChannel(client, 'sse', testServer.settings), {
    identity: await testServer.identity(),
    after: cursorAt(pause.sequence),
    merge: true,
    heartbeatMs: 1000,
  })
  const last = (entries.at(-1) as Entry).sequence
  expect(client.frames.map(({ type }) => type)).toEqual(['open', 'entries', 'end'])
  expect(client.frames[1]).toMatchObject({ after: pause.sequence, sequence: last })
  expect(client.frames[2]).toMatchObject({ status: 'completed', sequence: last })
  expect(reads).toEqual([cursorAt(pause.sequence), cursorAt(pause.sequence), cursorAt(last)])
})

test('law 10: does not send entries of another log, even with a cursor of the authorized log', async () => {
  const testServer = new StreamServer()
  await testServer.completeRun('r1', 'hello')
  const entries = (await testServer.publicEntries()).filter(({ origin }) => origin.runId === 'r1')
  const { incarnation } = await testServer.identity()
  const { sequence } = entries.at(-1) as Entry
  const run = {
    sessionId: ID,
    runId: 'r1',
    // As if the session was created again between the lookup of its pause and the first read.
    async *pieces(): AsyncGenerator<RunPiece> {
      const cursorAt = (at: number) => `${at}.another.1-x`
      yield { after: 0, sequence, cursor: `${sequence}.${incarnation}.1-x`, entries, replayEnd: 0, cursorAt }
    },
  } as unknown as Run
  const client = new SlowClient()
  await writeRun(testServer.manager, run, new StreamChannel(client, 'sse', testServer.settings), {
    identity: await testServer.identity(),
    merge: true,
    heartbeatMs: 1000,
  })
  expect(client.frames.map(({ type }) => type)).toEqual(['open', 'truncated'])
})
