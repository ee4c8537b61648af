// Readers in a process of their own: raw sockets that count and check every event they get.
import { batches } from '../../fixtures/text.ts'
import { clock, handleRequests } from '../log/start-child.ts'
import { Reader } from './reader.ts'
import type { Address, Got } from './served.ts'

/** How many come at once: a server takes no more connections at a time. */
const WAVE = 200
/** Of so many times at most each is told, of more one in so many. */
const MOST_TIMES = 100_000

/** Come and stay, so many to each; get so many entries each of where they came to; or read one session to where it is now, and leave. */
export type ReadersRequest =
  | { kind: 'connect'; addresses: readonly Address[]; readers: number }
  | { kind: 'receive'; address: Address; entries: number }
  | { kind: 'catch-up'; address: Address }

/** What each got since it was last asked, how many bytes that were, and how long each entry took to arrive that says when it was written. */
export interface ReadersReply {
  got: Got[]
  bytes: number
  times: number[]
}

const readers = new Map<string, Reader[]>()
const keyOf = ({ port, path }: Address): string => `${port}${path}`

handleRequests<ReadersRequest, ReadersReply>(async asked => {
  switch (asked.kind) {
    case 'connect': {
      const all = asked.addresses.flatMap(address => Array.from({ length: asked.readers }, () => address))
      for (const wave of batches(all, WAVE)) await Promise.all(wave.map(come))
      return told([])
    }
    case 'receive': {
      const here = readers.get(keyOf(asked.address)) ?? []
      await Promise.all(here.map(reader => reader.got(asked.entries)))
      return told(here)
    }
    case 'catch-up': {
      const reader = new Reader(asked.address, clock)
      await reader.isCaughtUp
      reader.close()
      return told([reader])
    }
  }
})

async function come(address: Address): Promise<void> {
  const reader = new Reader(address, clock)
  const here = readers.get(keyOf(address))
  if (here) here.push(reader)
  else readers.set(keyOf(address), [reader])
  await reader.isHere
}

function told(those: readonly Reader[]): ReadersReply {
  const all = those.map(reader => reader.take())
  const times = all.flatMap(each => each.times)
  const every = Math.ceil(times.length / MOST_TIMES)
  return {
    got: all.map(({ entries, digest }) => ({ entries, digest })),
    bytes: all.reduce((sum, { bytes }) => sum + bytes, 0),
    times: times.filter((_, n) => n % every === 0),
  }
}
