import { type ChatConnection, createChat } from '@millrace/client'
import { SessionLog } from '@millrace/client/log'
import type { Entry } from '@millrace/protocol'
import { expect, onTestFinished, test } from 'vitest'
import { ChatVerification, type VerifiedChat } from './chat-verification.ts'
import { echoServer, tamperingConnection } from './echo-server.fixture.ts'

/** Compares a chat and a log of the same session, each with its own connection, after a second turn. */
async function verifyAfter(
  tamper: (connection: ChatConnection) => ChatConnection,
  words = 'Again',
): Promise<VerifiedChat> {
  const { connection, runAgent } = echoServer()
  await runAgent('Hello')
  const log = new SessionLog({ sessionId: 's', connection })
  onTestFinished(log.start())
  await expect.poll(() => endsOf(log).length).toBe(1)
  const chat = createChat({ session: 's', connection: tamper(connection) })
  onTestFinished(chat.start())
  const verification = new ChatVerification(log, chat)
  onTestFinished(verification.start())
  await waitForVerification(verification, log, 1)
  expect(verification.state).toMatchObject({ count: 2, found: [] })
  await runAgent(words)
  await waitForVerification(verification, log, 2)
  return verification.state
}

/** Waits until the state at the end of run number `ends` was compared. */
const waitForVerification = (verification: ChatVerification, log: SessionLog, ends: number) =>
  new Promise<void>(done => {
    const check = () => {
      const ended = endsOf(log)
      if (ended.length === ends && verification.state.upTo >= (ended.at(-1)?.sequence ?? 0)) done()
    }
    onTestFinished(verification.subscribe(check))
    check()
  })

const endsOf = ({ entries }: SessionLog) => entries.filter(({ chunk }) => chunk.type === 'run-finished')

const isDraftChunk = ({ chunk }: Entry) => chunk.type === 'text-delta'

test('finds no discrepancy in an unmodified chat', async () => {
  const { found, count } = await verifyAfter(connection => connection)
  expect(found).toEqual([])
  expect(count).toBe(4)
})

test('finds no discrepancy after a retried turn', async () => {
  expect(await verifyAfter(connection => connection, 'Twice')).toMatchObject({ found: [], count: 4 })
})

test('reports deltas that the chat missed as lost', async () => {
  const { found } = await verifyAfter(connection =>
    tamperingConnection(connection, entries => entries.filter(entry => !isDraftChunk(entry))),
  )
  expect(found).toMatchObject([{ kind: 'lost', excerpt: '“You said: Again”' }])
})

test('reports changed deltas as differing', async () => {
  const { found } = await verifyAfter(connection =>
    tamperingConnection(connection, entries =>
      entries.map(entry =>
        entry.chunk.type === 'text-delta' ? { ...entry, chunk: { ...entry.chunk, delta: 'something' } } : entry,
      ),
    ),
  )
  expect(found).toMatchObject([{ kind: 'differing', excerpt: '“You said: Again”' }])
})

test('reports a missed message as lost', async () => {
  const { found } = await verifyAfter(connection =>
    tamperingConnection(connection, entries => entries.filter(({ chunk }) => chunk.type !== 'message')),
  )
  expect(found).toMatchObject([{ kind: 'lost', excerpt: '“Again”' }])
})
