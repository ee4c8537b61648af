// Readers that one process holds, who follow sessions in which little happens: how soon they have what is appended, and what they take.
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

/** How many sessions are appended to, in turn, where there are several. */
const WRITTEN = 16
/** Milliseconds between two appends: where all read each, they have the longer the more they are, so that as much is delivered in a second. */
const PACE: Record<Spread, (readers: number) => number> = { shared: readers => readers / 10, distinct: () => 10 }
/** How many appends come before those that are measured, at once. */
const BEFORE: Record<Spread, number> = { shared: 20, distinct: 500 }
/** Files that a process has open beside its readers. */
const OTHER_FILES = 200

interface FollowedSessions {
  readonly sessions: readonly ServedSession[]
  /** How many follow each, and all together. */
  readonly each: number
  readonly readers: number
  readonly before: Memory
  readonly after: Memory
}

const time = (): Chunk => ({ type: 'data-time', data: clock() }) as Chunk

const openFollowed = openOnce(
  async (serverName: SessionServerName, spread: Spread, wanted: number): Promise<FollowedSessions> => {
    const readers = Math.min(wanted, mostFiles() - OTHER_FILES)
    const [count, each] = spread === 'shared' ? [1, readers] : [readers, 1]
    const sessions = await openSessions(serverName, count, WRITTEN)
    const addresses = sessions.map(({ address }) => address)
    const before = await memory(readers)
    await readersChild().request({ kind: 'connect', addresses, readers: each })
    const after = await memory(readers)
    const held = { sessions, each, readers, before, after }
    // At the pace that is measured a server's code would stay cold for minutes.
    for (let n = 0; n < BEFORE[spread]; n++) {
      await append(held, n)
      await turn()
    }
    await got(held, BEFORE[spread])
    return held
  },
)

/** The milliseconds that each of so many appends takes to who follows it, while that many are held. */
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
      return got(held, count)
    },
    ({ got: all }) => {
      const expected = looked(held).map((_, n) => expectedOf(Array.from({ length: share(held, n, count) }, time)))
      deepStrictEqual(
        all,
        expected.map(each => [[JSON.stringify(each), held.each]]),
      )
    },
    ({ times }) => times,
    () => [
      memoryRemark(held.before, held.after, held.readers, 'reader'),
      ...(held.readers < readers
        ? [`no more than ${held.readers} readers: the machine allows so many open files`]
        : []),
    ],
  )
}

function append({ sessions }: FollowedSessions, n: number): void | Promise<void> {
  return sessions[n % Math.min(WRITTEN, sessions.length)]?.append?.(time())
}

/** How many of so many appends went to the session of that number. */
function share({ sessions }: FollowedSessions, n: number, count: number): number {
  const written = Math.min(WRITTEN, sessions.length)
  return n < written ? Math.floor((count + written - 1 - n) / written) : 0
}

/** The sessions whose readers are asked: those that are appended to, and as many that are not. */
const looked = ({ sessions }: FollowedSessions): readonly ServedSession[] => sessions.slice(0, 2 * WRITTEN)

/** What they got of so many appends: of each session, how many readers got what. */
async function got(
  held: FollowedSessions,
  count: number,
): Promise<{ got: [got: string, readers: number][][]; times: number[] }> {
  const all: { got: [string, number][][]; times: number[] } = { got: [], times: [] }
  for (const [n, { address }] of looked(held).entries()) {
    const told = await readersChild().request({ kind: 'receive', address, entries: share(held, n, count) })
    all.got.push(counted(told.got))
    all.times.push(...told.times)
  }
  return all
}

function counted(got: readonly Got[]): [got: string, readers: number][] {
  const counts = new Map<string, number>()
  for (const each of got) counts.set(JSON.stringify(each), (counts.get(JSON.stringify(each)) ?? 0) + 1)
  return [...counts]
}

/** How many files a process may have open here. */
function mostFiles(): number {
  const said = execFileSync('sh', ['-c', 'ulimit -n'], { encoding: 'utf8' }).trim()
  return said === 'unlimited' ? Number.POSITIVE_INFINITY : Number(said)
}
