// A server in this process, with one session for readers in another process.
import { deepStrictEqual } from 'node:assert/strict'
import type { Chunk, Origin } from '@millrace/protocol'
import { openOnce } from '../../harness/cleanup.ts'
import { startChild } from '../log/start-child.ts'
import type { Backend } from '../log/target.ts'
import { type Digest, digestOf } from './digest.ts'
import type { ReadersReply, ReadersRequest } from './readers.child.ts'

/** Format of the entries: ours, one event per entry, JSON arrays in a stream, or one JSON array as the response. */
export type Form = 'ours' | 'events' | 'arrays' | 'array'

/** Address of a session for readers. */
export interface Address {
  readonly port: number
  readonly path: string
  readonly form: Form
}

/** An entry of a server without our log: ours without the origin. */
export interface PlainEntry {
  readonly sequence: number
  readonly timestamp: number
  readonly chunk: Chunk
}

/** A server with a function that appends to its session, in the server's process. Entries of one call are one append. */
export interface Served {
  /** Address of the session from its end. */
  readonly live: Address
  append(chunks: readonly Chunk[]): void | Promise<void>
}

/** Origin of all measured entries. */
export const ORIGIN: Origin = { runId: 'run-1', lane: 'main', agentId: 'run-1', agentType: 'writer', step: 1 }

/** Text of an entry, as far as readers report it. */
export const saidBy = (chunk: Chunk): string => (chunk.type === 'text-delta' ? chunk.delta : chunk.type)

/** Entries that a reader received. */
export interface Got {
  readonly entries: number
  readonly digest: Digest
}

/** Expected entries of a reader. */
export function expectedOf(chunks: readonly Chunk[]): Got {
  return { entries: chunks.length, digest: digestOf(chunks.map(saidBy).join('')) }
}

/** @throws unless `readers` readers received everything. */
export function checkGot(received: readonly Got[], readers: number, expected: Got): void {
  deepStrictEqual(
    [...new Set(received.map(each => JSON.stringify(each)))],
    readers > 0 ? [JSON.stringify(expected)] : [],
  )
  deepStrictEqual(received.length, readers)
}

/** The child process with all readers of this process's servers. */
export const readersChild = openOnce(() => startChild<ReadersRequest, ReadersReply>('../server/readers.child.ts'))

/** The server: ours on a store, plain node http, Hono per event or per batch, or `@durable-streams/server`. */
export type Way = `ours ${Backend}` | 'http' | 'hono each' | 'hono batch' | 'durable memory' | 'durable file'

/** Opens a new session. A process has one server of each kind. */
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
