// A server in this process, with one session for readers in another process.
import { deepStrictEqual } from 'node:assert/strict'
import type { Chunk, Origin } from '@millrace/protocol'
import { openOnce } from '../../harness/cleanup.ts'
import { startChild } from '../log/start-child.ts'
import type { Backend } from '../log/target.ts'
import { type Digest, digestOf } from './digest.ts'
import type { ReadersReply, ReadersRequest } from './readers.child.ts'

/** Format of the entries: ours, one event per entry, JSON arrays in a stream, or one JSON array as the response. */
export type EntryFormat = 'ours' | 'events' | 'arrays' | 'array'

/** Address of a session for readers. */
export interface Address {
  readonly port: number
  readonly path: string
  readonly format: EntryFormat
}

/** An entry of a server without our log: ours without the origin. */
export interface PlainEntry {
  readonly sequence: number
  readonly timestamp: number
  readonly chunk: Chunk
}

/** A server with a function that appends to its session, in the server's process. Entries of one call are one append. */
export interface SessionServer {
  /** Address of the session from its end. */
  readonly live: Address
  append(chunks: readonly Chunk[]): void | Promise<void>
}

/** Origin of all measured entries. */
export const ORIGIN: Origin = { runId: 'run-1', lane: 'main', agentId: 'run-1', agentType: 'writer', step: 1 }

/** The part of an entry that readers include in their digest. */
export const entryText = (chunk: Chunk): string => (chunk.type === 'text-delta' ? chunk.delta : chunk.type)

/** Number and digest of the entries that a reader received. */
export interface ReceivedEntries {
  readonly entries: number
  readonly digest: Digest
}

/** The expected report of a reader of these chunks. */
export function expectedEntries(chunks: readonly Chunk[]): ReceivedEntries {
  return { entries: chunks.length, digest: digestOf(chunks.map(entryText).join('')) }
}

/** @throws unless `readers` readers received everything. */
export function checkReceived(received: readonly ReceivedEntries[], readers: number, expected: ReceivedEntries): void {
  deepStrictEqual(
    [...new Set(received.map(each => JSON.stringify(each)))],
    readers > 0 ? [JSON.stringify(expected)] : [],
  )
  deepStrictEqual(received.length, readers)
}

/** The child process with all readers of this process's servers. */
export const readersChild = openOnce(() => startChild<ReadersRequest, ReadersReply>('../server/readers.child.ts'))

/** The server: ours on a store, plain node http, Hono per event or per batch, or `@durable-streams/server`. */
export type ServerName = `ours ${Backend}` | 'http' | 'hono each' | 'hono batch' | 'durable memory' | 'durable file'

/** Opens a new session. A process has one server of each kind. */
export async function serve(serverName: ServerName): Promise<SessionServer> {
  switch (serverName) {
    case 'http':
      return (await import('./plain.ts')).servePlain()
    case 'hono each':
    case 'hono batch':
      return (await import('./hono.ts')).serveHono(serverName === 'hono each')
    case 'durable memory':
    case 'durable file':
      return (await import('./durable.ts')).serveDurable(serverName === 'durable file')
    default:
      return (await import('./ours.ts')).serveOurs(serverName.slice('ours '.length) as Backend)
  }
}
