import { LogError } from '../../store/log-error.ts'
import type { Fork, ForkResult } from '../../store/log-store.ts'
import { randomName } from '../../store/names.ts'
import type { Argument, Connection } from './connection.ts'
import type { Indexes } from './indexes.ts'
import { checkNonce, encodeOptional, type Keys, type LogKeys } from './keys.ts'
import { readPage, readRecord } from './page.ts'
import { CREATE_FROM_COPY } from './scripts.ts'

/** How much is copied at once: batches; keys; snapshots or blobs, which may be large. */
const PAGE = { batches: 256, bytes: 1_048_576 }
const KEYS_AT_ONCE = 100
const VALUES_AT_ONCE = 4
/** Time after which an abandoned copy expires, in ms. */
const COPY_TTL_MS = 600_000
/** How often a copy is restarted because the source was trimmed or replaced meanwhile. */
const MAX_TRIES = 10

/**
 * Copies a log's beginning to temporary keys, page by page, and then renames them in one step, if the target still
 * does not exist.
 */
export async function fork(
  connection: Connection,
  keys: Keys,
  indexes: Indexes,
  source: string,
  at: number,
  target: string,
  { principal, ticket, closing }: Fork,
): Promise<ForkResult> {
  if (closing) checkNonce(closing.nonce)
  const from = keys.log(source)
  const to = keys.log(target)
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const start = await sourceOf(connection, from)
    if (start === undefined) return 'absent'
    if ((await connection.send(['EXISTS', to.record])) !== 0) return 'exists'
    if (at > start.head || at < start.floor) return 'out-of-range'

    const temporary = keys.log(target, randomName())
    const copy = new Copy(connection, from, temporary, at)
    const last = await copy.batches(start)
    await Promise.all([copy.keys(), copy.snapshots(), copy.blobs()])
    const end = await sourceOf(connection, from)
    if (end?.incarnation !== start.incarnation || end.floor !== start.floor) {
      await connection.send(['UNLINK', ...partsOf(temporary)])
      continue
    }
    const incarnation = randomName()
    const { state, due } = ticket
    const reply = await indexes.change(
      target,
      CREATE_FROM_COPY,
      [...Object.values(to), ...partsOf(temporary)],
      [
        incarnation,
        `${at}`,
        last.mark,
        `${start.floor}`,
        start.floorMark,
        last.timestamp,
        encodeOptional(principal),
        state,
        `${due.at ?? ''}`,
        encodeOptional(due.program),
        `${closing?.batch.count ?? 0}`,
        closing?.nonce ?? '',
        closing?.batch.body ?? '',
      ],
    )
    return reply[0] as ForkResult
  }
  throw new LogError(
    'unavailable',
    `fork: the source was trimmed or replaced ${MAX_TRIES} times while it was copied: try again`,
  )
}

/** The source of a fork. */
interface ForkSource {
  readonly incarnation: string
  readonly head: number
  readonly floor: number
  readonly floorMark: string
}

async function sourceOf(connection: Connection, { record, head }: LogKeys): Promise<ForkSource | undefined> {
  const read = [connection.send(['GET', record]), connection.send(['HMGET', head, 'f', 'fm'])] as const
  const [current, [floor, floorMark]] = (await Promise.all(read)) as [string | null, (string | null)[]]
  if (current === null || floor == null || floorMark == null) return undefined
  const { incarnation, head: at } = readRecord(current)
  return { incarnation, head: at, floor: Number(floor), floorMark }
}

/** The keys of a log except record and head, in the order of `CREATE_FROM_COPY`. */
function partsOf({ batches, keys, trimmed, snapshotIndex, snapshots, blobs }: LogKeys): string[] {
  return [batches, keys, trimmed, snapshotIndex, snapshots, blobs]
}

/** A copy in progress. */
class Copy {
  readonly #connection: Connection
  readonly #from: LogKeys
  readonly #to: LogKeys
  readonly #at: number

  constructor(connection: Connection, from: LogKeys, to: LogKeys, at: number) {
    this.#connection = connection
    this.#from = from
    this.#to = to
    this.#at = at
  }

  /**
   * Copies the batches up to the fork's sequence. The last body is not cut: readers take only `count` entries of it.
   * Returns mark and timestamp of the last entry.
   */
  async batches({ floor, floorMark }: ForkSource): Promise<{ mark: string; timestamp: string }> {
    let last = { mark: floorMark, timestamp: '0' }
    let sequence = floor
    while (sequence < this.#at) {
      const page = await readPage(this.#connection, this.#from, { sequence }, PAGE)
      // Trimmed or removed meanwhile: this copy will not be used.
      if (!page?.batches.length) break
      const adds: Argument[][] = []
      for (const { first, last: end, timestamp, mark, body } of page.batches) {
        if (first > this.#at) break
        sequence = Math.min(end, this.#at)
        last = { mark, timestamp: `${timestamp}` }
        const cut = `${mark} ${sequence - first + 1} ${body}`
        adds.push(['XADD', this.#to.batches, `${sequence}-${timestamp}`, 'b', cut])
      }
      await this.#send(this.#to.batches, adds)
    }
    return last
  }

  /** Copies the keys of guests. */
  async keys(): Promise<void> {
    for await (const pairs of this.#scan(this.#from.keys, KEYS_AT_ONCE)) {
      const keys: Argument[][] = []
      const trimmed: Argument[][] = []
      for (const [key, value] of pairs) {
        const [first, last, keep] = value.toString().split(' ')
        if (Number(first) > this.#at) continue
        keys.push(['HSET', this.#to.keys, key, value])
        if (keep === '0') trimmed.push(['ZADD', this.#to.trimmed, last as string, key])
      }
      await this.#send(this.#to.keys, keys)
      await this.#send(this.#to.trimmed, trimmed)
    }
  }

  /** Copies the snapshots up to the fork's sequence. */
  async snapshots(): Promise<void> {
    for await (const pairs of this.#scan(this.#from.snapshots, VALUES_AT_ONCE)) {
      const copiedPairs = pairs.filter(([sequence]) => Number(sequence) <= this.#at)
      await this.#send(
        this.#to.snapshots,
        copiedPairs.map(([sequence, value]) => ['HSET', this.#to.snapshots, sequence, value]),
      )
      await this.#send(
        this.#to.snapshotIndex,
        copiedPairs.map(([sequence]) => ['ZADD', this.#to.snapshotIndex, sequence, sequence]),
      )
    }
  }

  /** Copies all blobs: the store does not know which entry needs which. */
  async blobs(): Promise<void> {
    for await (const pairs of this.#scan(this.#from.blobs, VALUES_AT_ONCE)) {
      await this.#send(
        this.#to.blobs,
        pairs.map(([hash, data]) => ['HSET', this.#to.blobs, hash, data]),
      )
    }
  }

  async *#scan(key: string, count: number): AsyncGenerator<[Buffer, Buffer][]> {
    let cursor = '0'
    do {
      const page = await this.#connection.send(['HSCAN', key, cursor, 'COUNT', `${count}`], true)
      const [next, flat] = page as [Buffer, Buffer[]]
      const pairs: [Buffer, Buffer][] = []
      for (let i = 0; i < flat.length; i += 2) pairs.push([flat[i] as Buffer, flat[i + 1] as Buffer])
      if (pairs.length > 0) yield pairs
      cursor = next.toString()
    } while (cursor !== '0')
  }

  /** Writes with an expiry, so that an abandoned copy disappears. */
  async #send(key: string, commands: readonly Argument[][]): Promise<void> {
    if (commands.length > 0) await this.#connection.transaction([...commands, ['PEXPIRE', key, `${COPY_TTL_MS}`]])
  }
}
