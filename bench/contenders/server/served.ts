// A server in this process, with one session that any number may follow from another.
import { deepStrictEqual } from 'node:assert/strict'
import type { Chunk, Origin } from '@millrace/protocol'
import { openOnce } from '../../harness/cleanup.ts'
import { startChild } from '../log/start-child.ts'
import type { Backend } from '../log/target.ts'
import { type Digest, digestOf } from './digest.ts'
import type { ReadersReply, ReadersRequest } from './readers.child.ts'

/** In which form a server sends entries: ours, an event each, or as JSON arrays; the last also as one reply that is no stream. */
export type Form = 'ours' | 'events' | 'arrays' | 'array'

/** Where readers find a server. */
export interface Address {
  readonly port: number
  readonly path: string
  readonly form: Form
}

/** An entry as a server that knows nothing of our log would have it: what ours writes, but for the origin. */
export interface PlainEntry {
  readonly sequence: number
  readonly timestamp: number
  readonly chunk: Chunk
}

/** A server, and a way to put entries into its session: all of one call at once, in the server's own process. */
export interface Served {
  /** Where the session is followed from its end on. */
  readonly live: Address
  append(chunks: readonly Chunk[]): void | Promise<void>
}

/** Who wrote all that is measured. */
export const ORIGIN: Origin = { runId: 'run-1', lane: 'main', agentId: 'run-1', agentType: 'writer', step: 1 }

/** What an entry says, as far as readers are asked about it. */
export const saidBy = (chunk: Chunk): string => (chunk.type === 'text-delta' ? chunk.delta : chunk.type)

/** What a reader got. */
export interface Got {
  readonly entries: number
  readonly digest: Digest
}

/** What a reader is to get of so many chunks. */
export function expectedOf(chunks: readonly Chunk[]): Got {
  return { entries: chunks.length, digest: digestOf(chunks.map(saidBy).join('')) }
}

/** Throws unless so many readers got all of it. */
export function checkGot(got: readonly Got[], readers: number, expected: Got): void {
  deepStrictEqual([...new Set(got.map(each => JSON.stringify(each)))], readers > 0 ? [JSON.stringify(expected)] : [])
  deepStrictEqual(got.length, readers)
}

/** The readers of this process's servers, in one process of their own. */
export const readersChild = openOnce(() => startChild<ReadersRequest, ReadersReply>('../server/readers.child.ts'))

/** Which server: ours on a store, plain node http, Hono by the event or by the batch, or the durable streams of their test server. */
export type Way = `ours ${Backend}` | 'http' | 'hono each' | 'hono batch' | 'durable memory' | 'durable file'

/** A new session of such a server, of which a process has one a kind. */
export async function serve(way: Way): Promise<Served> {
  switch (way) {
    case 'http':
      return (await import('./plain.ts')).servePlain()
    case 'hono each':
    case 'hono batch':
      return (await import('./hono.ts')).serveHono(way === 'hono each')
    case 'durable memory':
    case 'durable file':
      return (await import('./durable.ts')).serveDurable(way === 'durable file')
    default:
      return (await import('./ours.ts')).serveOurs(way.slice('ours '.length) as Backend)
  }
}
