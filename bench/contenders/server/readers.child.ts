// Readers in a child process: raw sockets that count and check every event.
import { batches } from '../../fixtures/text.ts'
import { clock, handleRequests } from '../log/start-child.ts'
import { Reader } from './reader.ts'
import type { Address, ReceivedEntries } from './session-server.ts'

/** Connections that are opened at once. Servers accept no more. */
const WAVE = 200
/** Maximum number of reported times. Beyond it they are sampled evenly. */
const MAX_TIMES = 100_000

/** Connect `readers` readers per address; wait until each reader of an address has `entries` entries; or read one session until caught up and disconnect. */
export type ReadersRequest =
  | { kind: 'connect'; addresses: readonly Address[]; readers: number }
  | { kind: 'receive'; address: Address; entries: number }
  | { kind: 'catch-up'; address: Address }

/** Received entries of each reader since the last report, total bytes, and the latency of each entry that has a write time. */
export interface ReadersReply {
  received: ReceivedEntries[]
  bytes: number
  times: number[]
}

const readers = new Map<string, Reader[]>()
const keyOf = ({ port, path }: Address): string => `${port}${path}`

handleRequests<ReadersRequest, ReadersReply>(async request => {
  switch (request.kind) {
    case 'connect': {
      const all = request.addresses.flatMap(address => Array.from({ length: request.readers }, () => address))
      for (const wave of batches(all, WAVE)) await Promise.all(wave.map(connectReader))
      return takeReports([])
    }
    case 'receive': {
      const connected = readers.get(keyOf(request.address)) ?? []
      await Promise.all(connected.map(reader => reader.received(request.entries)))
      return takeReports(connected)
    }
    case 'catch-up': {
      const reader = new Reader(request.address, clock)
      await reader.caughtUp
      reader.close()
      return takeReports([reader])
    }
  }
})

async function connectReader(address: Address): Promise<void> {
  const reader = new Reader(address, clock)
  const connected = readers.get(keyOf(address))
  if (connected) connected.push(reader)
  else readers.set(keyOf(address), [reader])
  await reader.connected
}

function takeReports(reporting: readonly Reader[]): ReadersReply {
  const reports = reporting.map(reader => reader.take())
  const times = reports.flatMap(each => each.times)
  const sampleInterval = Math.ceil(times.length / MAX_TIMES)
  return {
    received: reports.map(({ entries, digest }) => ({ entries, digest })),
    bytes: reports.reduce((sum, { bytes }) => sum + bytes, 0),
    times: times.filter((_, n) => n % sampleInterval === 0),
  }
}
