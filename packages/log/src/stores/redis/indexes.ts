// `list`, `listOldest` and `due` use indexes outside the logs' slots: sorted sets of logs, per principal and of all
// principals by touch time, per program by due time. They are derived data. One more set, of dirty logs, keeps them correct: every change that can make a log
// due earlier, touches it or creates it marks it dirty in the same transaction, before the log changes. A process that
// finds a dirty log reads it, updates its index entries and removes the dirty mark, if the mark is still the one from
// before the read (each mark has a unique number). So a log is dirty, or its index entries are right (in `due`,
// possibly too early). A process that dies in between leaves a dirty log for the next `list` or `due`.
//
// These must mark the log dirty: a change of the ticket (due, touched), `release` and `restored` (the lease ends now),
// a takeover, a renewal that shortens the lease, an append that finds the log regressed (its lease ends), `create` and
// `fork`. These need not, because they only make a log due later or never: a claim of a free log, a renewal that
// lengthens the lease, `remove`. They leave an outdated index entry, which `due` or `list` finds and updates.
//
// Processes of earlier releases do not know the set of all principals. So it may lack logs, hold removed ones, or have
// outdated times. `listOldest` compares its size with the number of all logs, and adds the logs that it lacks.
//
// A log that expired (head.ts) stays in the indexes until `due`, `list` or `listOldest` finds it missing.
//
// The transaction (MULTI) spans two slots. In a cluster it would be two steps, and a dirty mark would have to outlive
// the longest time that a command may be in flight.

import type { Connection, Reply } from './connection.ts'
import { isUnknownScript } from './failure.ts'
import { INDEX_FIELDS, type IndexFields, readIndexFields } from './head.ts'
import { ALLOW_OOM, decodeName, encodeName, encodeOptional, type Keys, Script } from './keys.ts'

/** Marks logs dirty. Returns the number of each mark, and the log's index position. */
const MARK_DIRTY = new Script(`${ALLOW_OOM}
local reply = {}
for i, name in ipairs(ARGV) do
  local mark = redis.call('INCR', KEYS[2])
  redis.call('ZADD', KEYS[1], mark, name)
  reply[2 * i - 1] = mark
  reply[2 * i] = redis.call('HGET', KEYS[3], name) or ''
end
return reply`)

/** Some of the dirty logs with marks up to a number, or up to now, with their index positions. */
const FIND_DIRTY = new Script(`
local bound = ARGV[1]
if bound == '' then bound = redis.call('GET', KEYS[2]) or '0' end
local found = redis.call('ZRANGE', KEYS[1], '-inf', bound, 'BYSCORE', 'LIMIT', 0, ARGV[2], 'WITHSCORES')
local reply = {bound}
for i = 1, #found, 2 do
  reply[#reply + 1] = found[i]
  reply[#reply + 1] = found[i + 1]
  reply[#reply + 1] = redis.call('HGET', KEYS[3], found[i]) or ''
end
return reply`)

/**
 * Updates a log's index entries and removes its dirty mark, unless it was marked again. KEYS: marks, where, due before
 * and after, list before and after, all by touch time.
 */
const UPDATE = new Script(`${ALLOW_OOM}
local name, mark, position, due, touched = unpack(ARGV)
if tonumber(redis.call('ZSCORE', KEYS[1], name) or '0') ~= tonumber(mark) then return 0 end
redis.call('ZREM', KEYS[1], name)
if KEYS[3] ~= KEYS[4] or due == '' then redis.call('ZREM', KEYS[3], name) end
if KEYS[5] ~= KEYS[6] or position == '' then redis.call('ZREM', KEYS[5], name) end
if position == '' then
  redis.call('HDEL', KEYS[2], name)
  redis.call('ZREM', KEYS[7], name)
else
  redis.call('HSET', KEYS[2], name, position)
  redis.call('ZADD', KEYS[6], -touched, name)
  redis.call('ZADD', KEYS[7], touched, name)
  if due ~= '' then redis.call('ZADD', KEYS[4], due, name) end
end
return 1`)

/** The due logs of each index, and the time. */
const CANDIDATES = new Script(`
local time = redis.call('TIME')
local now = time[1] .. string.sub(time[2] + 1000000, 2, 4)
local reply = {now}
for i, key in ipairs(KEYS) do
  reply[i + 1] = redis.call('ZRANGE', key, '-inf', now, 'BYSCORE', 'LIMIT', 0, ARGV[1], 'WITHSCORES')
end
return reply`)

/** Some logs of the index positions that the set of all logs lacks. KEYS: where, all by touch time. */
const FIND_UNLISTED = new Script(`
local page = redis.call('HSCAN', KEYS[1], ARGV[1], 'COUNT', ARGV[2])
local reply = {page[1]}
for i = 1, #page[2], 2 do
  if not redis.call('ZSCORE', KEYS[2], page[2][i]) then reply[#reply + 1] = page[2][i] end
end
return reply`)

/** How many logs are handled at once. */
const PAGE_SIZE = 200

/** A dirty log: the number of its mark, and its index position. */
interface DirtyLog {
  readonly streamId: string
  readonly mark: string
  /** `program principal`; empty for none. */
  readonly position: string
}

/** An entry of an index. */
export interface IndexEntry {
  readonly streamId: string
  readonly score: number
}

/** The indexes behind `list`, `listOldest` and `due`. */
export class Indexes {
  readonly #connection: Pick<Connection, 'run' | 'send' | 'transaction'>
  readonly #keys: Keys
  readonly #background: (work: Promise<unknown>) => void
  /** The keys of the marks, of their counter and of the index positions. */
  readonly #dirtyKeys: readonly [marks: string, count: string, positions: string]

  /** Optional maintenance work is passed to `background`, and may fail. */
  constructor(
    connection: Pick<Connection, 'run' | 'send' | 'transaction'>,
    keys: Keys,
    background: (work: Promise<unknown>) => void,
  ) {
    this.#connection = connection
    this.#keys = keys
    this.#background = background
    this.#dirtyKeys = [keys.index('marks'), keys.index('count'), keys.index('where')]
  }

  /**
   * Runs a script that changes a log, and marks the log dirty in the same transaction. The script returns its result
   * and then the log's index fields.
   */
  async change(streamId: string, script: Script, keys: readonly string[], args: readonly string[]): Promise<Reply[]> {
    // The mark script is sent as text: by hash, it could be unknown where the other script is known.
    const mark = ['EVAL', MARK_DIRTY.text, '3', ...this.#dirtyKeys, encodeName(streamId)]
    const rest = [`${keys.length}`, ...keys, ...args]
    const [marked, result] = await this.#connection
      .transaction([mark, ['EVALSHA', script.sha, ...rest]])
      .catch(error => {
        if (!isUnknownScript(error)) throw error
        return this.#connection.transaction([mark, ['EVAL', script.text, ...rest]])
      })
    const [number, position] = marked as [number, string]
    const [reply, fields] = result as [Reply[], (string | null)[]]
    this.#background(this.#update({ streamId, mark: `${number}`, position }, readIndexFields(fields)))
    return reply
  }

  /** Updates the index entries of logs, which may be outdated. */
  async refresh(streamIds: readonly string[]): Promise<void> {
    const marks = this.#connection.run(MARK_DIRTY, this.#dirtyKeys, streamIds.map(encodeName))
    const reply = (await marks) as (number | string)[]
    await this.#updateAll(
      streamIds.map((streamId, i) => ({ streamId, mark: `${reply[2 * i]}`, position: `${reply[2 * i + 1]}` })),
    )
  }

  /** Updates the index entries of every log that is dirty now. */
  async updateDirty(): Promise<void> {
    for (let bound = ''; ; ) {
      const [until, ...reply] = (await this.#connection.run(FIND_DIRTY, this.#dirtyKeys, [
        bound,
        `${PAGE_SIZE}`,
      ])) as string[]
      const dirty: DirtyLog[] = []
      for (let i = 0; i < reply.length; i += 3) {
        const [name, mark, position] = reply.slice(i, i + 3) as [string, string, string]
        dirty.push({ streamId: decodeName(name), mark, position })
      }
      await this.#updateAll(dirty)
      if (dirty.length < PAGE_SIZE) return
      bound = until as string
    }
  }

  /** Logs in the indexes of these programs and of every driver that are due, the longest due first, and the time. */
  async candidates(programs: readonly string[], limit: number): Promise<{ now: number; candidates: IndexEntry[] }> {
    const keys = [...new Set([null, ...programs])].map(program => this.#dueKey(program))
    const count = `${Math.max(limit, PAGE_SIZE)}`
    const [now, ...found] = (await this.#connection.run(CANDIDATES, keys, [count])) as [string, ...string[][]]
    const candidates = found.flatMap(indexEntriesOf).sort((a, b) => a.score - b.score)
    return { now: Number(now), candidates }
  }

  /** Some logs of a principal from a time on, last touched first. The score is the negative time. */
  listed(principal: string | null, from: number, offset: number, limit: number): Promise<IndexEntry[]> {
    return this.#range(this.#listKey(principal), from, offset, limit)
  }

  /** Some logs of all principals from a time on, least recently touched first. The score is the time. */
  oldest(from: number, offset: number, limit: number): Promise<IndexEntry[]> {
    return this.#range(this.#allKey, from, offset, limit)
  }

  /** Adds the logs that only processes of an earlier release have indexed to the set of all logs. */
  async addUnlisted(): Promise<void> {
    const positions = this.#dirtyKeys[2]
    const counts = [this.#connection.send(['HLEN', positions]), this.#connection.send(['ZCARD', this.#allKey])]
    const [known, listed] = await Promise.all(counts)
    if (known === listed) return
    for (let cursor = '0'; ; ) {
      const reply = await this.#connection.run(FIND_UNLISTED, [positions, this.#allKey], [cursor, `${PAGE_SIZE}`])
      const [next, ...names] = reply as [string, ...string[]]
      if (names.length > 0) await this.refresh(names.map(decodeName))
      if (next === '0') return
      cursor = next
    }
  }

  async #range(key: string, from: number, offset: number, limit: number): Promise<IndexEntry[]> {
    const range = [`${from}`, '+inf', 'BYSCORE', 'LIMIT', `${offset}`, `${Math.min(limit, PAGE_SIZE)}`, 'WITHSCORES']
    const found = (await this.#connection.send(['ZRANGE', key, ...range])) as [string, number][]
    return found.map(([name, score]) => ({ streamId: decodeName(name), score }))
  }

  async #updateAll(dirty: readonly DirtyLog[]): Promise<void> {
    const heads = dirty.map(({ streamId }) =>
      this.#connection.send(['HMGET', this.#keys.head(streamId), ...INDEX_FIELDS]),
    )
    const fields = await Promise.all(heads)
    await Promise.all(dirty.map((log, i) => this.#update(log, readIndexFields(fields[i] as (string | null)[]))))
  }

  async #update({ streamId, mark, position }: DirtyLog, fields: IndexFields | undefined): Promise<void> {
    const name = encodeName(streamId)
    const next = fields ? `${encodeOptional(fields.program)} ${encodeOptional(fields.principal)}` : ''
    const [[dueBefore, listBefore], [due, list]] = [
      this.#indexKeys(position || next),
      this.#indexKeys(next || position),
    ]
    const keys = [this.#dirtyKeys[0], this.#dirtyKeys[2], dueBefore, due, listBefore, list, this.#allKey]
    await this.#connection.run(UPDATE, keys, [name, mark, next, `${fields?.due ?? ''}`, `${fields?.touchedAt ?? 0}`])
  }

  get #allKey(): string {
    return this.#keys.index('all')
  }

  /** The keys of the indexes that contain a log. */
  #indexKeys(position: string): [string, string] {
    const [program = '', principal = ''] = position.split(' ')
    return [this.#keys.index(`due:${program}`), this.#keys.index(`list:${principal}`)]
  }

  #dueKey(program: string | null): string {
    return this.#keys.index(`due:${encodeOptional(program)}`)
  }

  #listKey(principal: string | null): string {
    return this.#keys.index(`list:${encodeOptional(principal)}`)
  }
}

/** Whether an entry is behind another in an index. */
export const isAfter = (entry: IndexEntry, other: IndexEntry): boolean =>
  entry.score > other.score || (entry.score === other.score && encodeName(entry.streamId) > encodeName(other.streamId))

function indexEntriesOf(found: readonly string[]): IndexEntry[] {
  const entries: IndexEntry[] = []
  for (let i = 0; i < found.length; i += 2) {
    entries.push({ streamId: decodeName(found[i] as string), score: Number(found[i + 1]) })
  }
  return entries
}
