// Many readers of one process on quiet sessions: latency from an append, and memory.
import { deepStrictEqual } from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { setTimeout as pause, setImmediate as turn } from 'node:timers/promises'
import type { Chunk } from '@millrace/protocol'
import { openOnce } from '../../harness/cleanup.ts'
import { type Job, job } from '../../harness/suite.ts'
import { clock } from '../log/start-child.ts'
import { expectedEntries, type ReceivedEntries, readersChild } from '../server/session-server.ts'
import { type Memory, memory, memoryRemark } from './memory.ts'
import { openSessions, type ServedSession, type SessionServerName } from './open-sessions.ts'

/** All readers follow one session, or each its own. */
export type SessionSharing = 'shared' | 'distinct'

/** Sessions that are appended to in turn, with `distinct`. */
const MAX_WRITTEN_SESSIONS = 16
/** Interval between two appends in ms. With `shared` it grows with the readers, so that the deliveries per second are constant. */
const APPEND_INTERVAL_MS: Record<SessionSharing, (readers: number) => number> = {
  shared: readers => readers / 10,
  distinct: () => 10,
}
/** Warm-up appends, without a pause. */
const WARM_UP_APPENDS: Record<SessionSharing, number> = { shared: 20, distinct: 500 }
/** Open files of a process besides its readers. */
const OTHER_FILES = 200

interface FollowedSessions {
  readonly sessions: readonly ServedSession[]
  /** Readers per session, and in total. */
  readonly readersPerSession: number
  readonly readers: number
  readonly before: Memory
  readonly after: Memory
}

const time = (): Chunk => ({ type: 'data-time', data: clock() }) as Chunk

const openFollowed = openOnce(
  async (serverName: SessionServerName, sharing: SessionSharing, maxReaders: number): Promise<FollowedSessions> => {
    const readers = Math.min(maxReaders, maxOpenFiles() - OTHER_FILES)
    const [count, readersPerSession] = sharing === 'shared' ? [1, readers] : [readers, 1]
    const sessions = await openSessions(serverName, count, MAX_WRITTEN_SESSIONS)
    const addresses = sessions.map(({ address }) => address)
    const before = await memory(readers)
    await readersChild().request({ kind: 'connect', addresses, readers: readersPerSession })
    const after = await memory(readers)
    const followed = { sessions, readersPerSession, readers, before, after }
    // At the measured pace the server's code would not be optimised for minutes.
    for (let n = 0; n < WARM_UP_APPENDS[sharing]; n++) {
      await append(followed, n)
      await turn()
    }
    await receiveAll(followed, WARM_UP_APPENDS[sharing])
    return followed
  },
)

/** Latencies in ms of `count` appends to their readers, while `readers` readers are connected. */
export async function followedAppends(
  serverName: SessionServerName,
  sharing: SessionSharing,
  readers: number,
  count: number,
): Promise<Job> {
  const followed = await openFollowed(serverName, sharing, readers)
  return job(
    async () => {
      for (let n = 0; n < count; n++) {
        await append(followed, n)
        await pause(APPEND_INTERVAL_MS[sharing](followed.readers))
      }
      return receiveAll(followed, count)
    },
    ({ received: all }) => {
      const expected = checkedSessions(followed).map((_, n) =>
        expectedEntries(Array.from({ length: appendsTo(followed, n, count) }, time)),
      )
      deepStrictEqual(
        all,
        expected.map(each => [[JSON.stringify(each), followed.readersPerSession]]),
      )
    },
    ({ times }) => times,
    () => [
      memoryRemark(followed.before, followed.after, followed.readers, 'reader'),
      ...(followed.readers < readers
        ? [`only ${followed.readers} readers: the machine allows no more open files`]
        : []),
    ],
  )
}

function append({ sessions }: FollowedSessions, n: number): void | Promise<void> {
  return sessions[n % Math.min(MAX_WRITTEN_SESSIONS, sessions.length)]?.append?.(time())
}

/** Number of appends that went to session `n`. */
function appendsTo({ sessions }: FollowedSessions, n: number, count: number): number {
  const written = Math.min(MAX_WRITTEN_SESSIONS, sessions.length)
  return n < written ? Math.floor((count + written - 1 - n) / written) : 0
}

/** Sessions with checked readers: those with appends, and as many without. */
const checkedSessions = ({ sessions }: FollowedSessions): readonly ServedSession[] =>
  sessions.slice(0, 2 * MAX_WRITTEN_SESSIONS)

/** Received entries by session, with the number of readers that got them. */
async function receiveAll(
  followed: FollowedSessions,
  count: number,
): Promise<{ received: [received: string, readers: number][][]; times: number[] }> {
  const all: { received: [string, number][][]; times: number[] } = { received: [], times: [] }
  for (const [n, { address }] of checkedSessions(followed).entries()) {
    const reply = await readersChild().request({ kind: 'receive', address, entries: appendsTo(followed, n, count) })
    all.received.push(countEqual(reply.received))
    all.times.push(...reply.times)
  }
  return all
}

function countEqual(received: readonly ReceivedEntries[]): [received: string, readers: number][] {
  const counts = new Map<string, number>()
  for (const each of received) counts.set(JSON.stringify(each), (counts.get(JSON.stringify(each)) ?? 0) + 1)
  return [...counts]
}

/** Maximum number of open files of a process. */
function maxOpenFiles(): number {
  const limit = execFileSync('sh', ['-c', 'ulimit -n'], { encoding: 'utf8' }).trim()
  return limit === 'unlimited' ? Number.POSITIVE_INFINITY : Number(limit)
}
