// Readers in a process of their own: raw sockets that count and check every event they get.
import { answer, clock } from '../log/apart.ts'
import { Reader } from './reader.ts'
import type { Address, Got } from './served.ts'

/** Come and stay; get so many entries each of where they came to; or read one session to where it is now, and leave. */
export type Asked =
  | { kind: 'come'; address: Address; readers: number }
  | { kind: 'get'; address: Address; entries: number }
  | { kind: 'catch-up'; address: Address }

/** What each got since it was last asked, how many bytes that were, and how long each entry took to arrive that says when it was written. */
export interface Told {
  got: Got[]
  bytes: number
  times: number[]
}

const readers = new Map<string, Reader[]>()
const keyOf = ({ port, path }: Address): string => `${port}${path}`

answer<Asked, Told>(async asked => {
  switch (asked.kind) {
    case 'come': {
      const come = Array.from({ length: asked.readers }, () => new Reader(asked.address, clock))
      readers.set(keyOf(asked.address), come)
      await Promise.all(come.map(reader => reader.isHere))
      return told([])
    }
    case 'get': {
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

function told(those: readonly Reader[]): Told {
  const all = those.map(reader => reader.take())
  return {
    got: all.map(({ entries, digest }) => ({ entries, digest })),
    bytes: all.reduce((sum, { bytes }) => sum + bytes, 0),
    times: all.flatMap(({ times }) => times),
  }
}
