// Many readers of one process on quiet sessions: latency from an append, and memory.
import { deepStrictEqual } from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { setTimeout as pause, setImmediate as turn } from 'node:timers/promises'
import type { Chunk } from '@millrace/protocol'
import { openOnce } from '../../harness/cleanup.ts'
import { type Job, job } from '../../harness/suite.ts'
import { clock } from '../log/start-child.ts'
import { expectedOf, type Got, readersChild } from '../server/served.ts'
import { type Memory, memory, memoryRemark } from './memory.ts'
import { openSessions, type ServedSession, type SessionServerName } from './open-sessions.ts'

/** All readers follow one session, or each its own. */
export type Spread = 'shared' | 'distinct'

/** Sessions that are appended to in turn, with `distinct`. */
const WRITTEN = 16
/** Interval between two appends in ms. With `shared` it grows with the readers, so that the deliveries per second are constant. */
const PACE: Record<Spread, (readers: number) => number> = { shared: readers => readers / 10, distinct: () => 10 }
/** Warm-up appends, without a pause. */
const BEFORE: Record<Spread, number> = { shared: 20, distinct: 500 }
/** Open files of a process besides its readers. */
const OTHER_FILES = 200

interface FollowedSessions {
  readonly sessions: readonly ServedSession[]
  /** Readers per session, and in total. */
  readonly each: number
  readonly readers: number
  readonly before: Memory
  readonly after: Memory
}

const time = (): Chunk => ({ type: 'data-time', data: clock() }) as Chunk

const openFollowed = openOnce(
  async (serverName: SessionServerName, spread: Spread, wanted: number): Promise<FollowedSessions> => {
    const readers = Math.min(wanted, maxOpenFiles() - OTHER_FILES)
    const [count, each] = spread === 'shared' ? [1, readers] : [readers, 1]
    const sessions = await openSessions(serverName, count, WRITTEN)
    const addresses = sessions.map(({ address }) => address)
    const before = await memory(readers)
    await readersChild().request({ kind: 'connect', addresses, readers: each })
    const after = await memory(readers)
    const held = { sessions, each, readers, before, after }
    // At the measured pace the server's code would not be optimised for minutes.
    for (let n = 0; n < BEFORE[spread]; n++) {
      await append(held, n)
      await turn()
    }
    await receiveAll(held, BEFORE[spread])
    return held
  },
)

/** Latencies in ms of `count` appends to their readers, while `readers` readers are connected. */
export async function followedAppends(
  serverName: SessionServerName,
  spread: Spread,
  readers: number,
  count: number,
): Promise<Job> {
  const held = await openFollowed(serverName, spread, readers)
  return job(
    async () => {
      for (let n = 0; n < count; n++) {
        await append(held, n)
        await pause(PACE[spread](held.readers))
      }
      return receiveAll(held, count)
    },
    ({ received: all }) => {
      const expected = looked(held).map((_, n) => expectedOf(Array.from({ length: share(held, n, count) }, time)))
      deepStrictEqual(
        all,
        expected.map(each => [[JSON.stringify(each), held.each]]),
      )
    },
    ({ times }) => times,
    () => [
      memoryRemark(held.before, held.after, held.readers, 'reader'),
      ...(held.readers < readers ? [`only ${held.readers} readers: the machine allows no more open files`] : []),
    ],
  )
}

function append({ sessions }: FollowedSessions, n: number): void | Promise<void> {
  return sessions[n % Math.min(WRITTEN, sessions.length)]?.append?.(time())
}

/** Number of appends that went to session `n`. */
function share({ sessions }: FollowedSessions, n: number, count: number): number {
  const written = Math.min(WRITTEN, sessions.length)
  return n < written ? Math.floor((count + written - 1 - n) / written) : 0
}

/** Sessions with checked readers: those with appends, and as many without. */
const looked = ({ sessions }: FollowedSessions): readonly ServedSession[] => sessions.slice(0, 2 * WRITTEN)

/** Received entries by session, with the number of readers that got them. */
async function receiveAll(
  held: FollowedSessions,
  count: number,
): Promise<{ received: [got: string, readers: number][][]; times: number[] }> {
  const all: { received: [string, number][][]; times: number[] } = { received: [], times: [] }
  for (const [n, { address }] of looked(held).entries()) {
    const reply = await readersChild().request({ kind: 'receive', address, entries: share(held, n, count) })
    all.received.push(counted(reply.received))
    all.times.push(...reply.times)
  }
  return all
}

function counted(received: readonly Got[]): [got: string, readers: number][] {
  const counts = new Map<string, number>()
  for (const each of received) counts.set(JSON.stringify(each), (counts.get(JSON.stringify(each)) ?? 0) + 1)
  return [...counts]
}

/** Maximum number of open files of a process. */
function maxOpenFiles(): number {
  const limit = execFileSync('sh', ['-c', 'ulimit -n'], { encoding: 'utf8' }).trim()
  return limit === 'unlimited' ? Number.POSITIVE_INFINITY : Number(limit)
}
