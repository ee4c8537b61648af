import { type ChatConnection, createChat } from '@millrace/client'
import { SessionLog } from '@millrace/client/log'
import type { Entry } from '@millrace/protocol'
import { expect, onTestFinished, test } from 'vitest'
import { echoServer, meddling } from './echo-server.fixture.ts'
import { type Read, Reading } from './reading.ts'

/** A chat and a log of the same session, each with its connection, and the comparison of both after a second turn. */
async function readAfter(meddle: (connection: ChatConnection) => ChatConnection, words = 'Again'): Promise<Read> {
  const { connection, say } = echoServer()
  await say('Hello')
  const log = new SessionLog({ sessionId: 's', connection })
  onTestFinished(log.start())
  await expect.poll(() => endsOf(log).length).toBe(1)
  const chat = createChat({ session: 's', connection: meddle(connection) })
  onTestFinished(chat.start())
  const reading = new Reading(log, chat)
  onTestFinished(reading.start())
  await until(reading, log, 1)
  expect(reading.state).toMatchObject({ count: 2, found: [] })
  await say(words)
  await until(reading, log, 2)
  return reading.state
}

/** Waits until it was compared at the end of so many runs. */
const until = (reading: Reading, log: SessionLog, ends: number) =>
  new Promise<void>(done => {
    const look = () => {
      const ended = endsOf(log)
      if (ended.length === ends && reading.state.upTo >= (ended.at(-1)?.sequence ?? 0)) done()
    }
    onTestFinished(reading.subscribe(look))
    look()
  })

const endsOf = ({ entries }: SessionLog) => entries.filter(({ chunk }) => chunk.type === 'run-finished')

const isWord = ({ chunk }: Entry) => chunk.type === 'text-delta'

test('what the chat shows is what the log says', async () => {
  const { found, count } = await readAfter(connection => connection)
  expect(found).toEqual([])
  expect(count).toBe(4)
})

test('also of a turn that was begun again', async () => {
  expect(await readAfter(connection => connection, 'Twice')).toMatchObject({ found: [], count: 4 })
})

test('words that the chat never got are lost there, though its log has them', async () => {
  const { found } = await readAfter(connection => meddling(connection, entries => entries.filter(one => !isWord(one))))
  expect(found).toMatchObject([{ kind: 'lost', gist: '“You said: Again”' }])
})

test('words that came otherwise differ', async () => {
  const { found } = await readAfter(connection =>
    meddling(connection, entries =>
      entries.map(entry =>
        entry.chunk.type === 'text-delta' ? { ...entry, chunk: { ...entry.chunk, delta: 'something' } } : entry,
      ),
    ),
  )
  expect(found).toMatchObject([{ kind: 'differing', gist: '“You said: Again”' }])
})

test('a message that the chat never got at all is lost', async () => {
  const { found } = await readAfter(connection =>
    meddling(connection, entries => entries.filter(({ chunk }) => chunk.type !== 'message')),
  )
  expect(found).toMatchObject([{ kind: 'lost', gist: '“Again”' }])
})
