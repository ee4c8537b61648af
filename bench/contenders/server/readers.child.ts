// Readers in a child process: raw sockets that count and check every event.
import { batches } from '../../fixtures/text.ts'
import { clock, handleRequests } from '../log/start-child.ts'
import { Reader } from './reader.ts'
import type { Address, Got } from './served.ts'

/** Connections that are opened at once. Servers accept no more. */
const WAVE = 200
/** Maximum number of reported times. Beyond it they are sampled evenly. */
const MOST_TIMES = 100_000

/** Connect `readers` readers per address; wait until each reader of an address has `entries` entries; or read one session until caught up and disconnect. */
export type ReadersRequest =
  | { kind: 'connect'; addresses: readonly Address[]; readers: number }
  | { kind: 'receive'; address: Address; entries: number }
  | { kind: 'catch-up'; address: Address }

/** Received entries of each reader since the last report, total bytes, and the latency of each entry that has a write time. */
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
