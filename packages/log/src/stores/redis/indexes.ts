// `list` and `due` use indexes outside the logs' slots: sorted sets of logs, per principal by touch time, per program
// by due time. They are derived data. A third set, the marks, keeps them correct: every change that can make a log
// due earlier, touches it or creates it marks it in the same transaction, before the log changes. A process that
// finds a mark reads the log and settles it: it updates the indexes and removes the mark, if the mark is still the
// one from before the read (each mark has a unique number). So a log is marked, or its index entries are right (in
// `due`, possibly too early). A process that dies in between leaves a mark for the next `list` or `due`.
//
// These must mark: a change of the ticket (due, touched), `release` and `restored` (the lease ends now), a takeover,
// a renewal that shortens the lease, an append that finds the log regressed (its lease ends), `create` and `fork`.
// These need not, because they only make a log due later or never: a claim of a free log, a renewal that lengthens
// the lease, `remove`. They leave a candidate that `due` or `list` reads, finds outdated, and settles again.
//
// The transaction (MULTI) spans two slots. In a cluster it would be two steps, and a mark would have to outlive the
// longest time that a command may be in flight.

import type { Connection, Reply } from './connection.ts'
import { isUnknownScript } from './failure.ts'
import { FACT_FIELDS, type Facts, readFacts } from './head.ts'
import { ALLOW_OOM, decodeName, encodeName, encodeOptional, type Keys, Script } from './keys.ts'

/** Marks logs. Returns each mark, and the log's index position. */
const MARK = new Script(`${ALLOW_OOM}
local told = {}
for i, name in ipairs(ARGV) do
  local mark = redis.call('INCR', KEYS[2])
  redis.call('ZADD', KEYS[1], mark, name)
  told[2 * i - 1] = mark
  told[2 * i] = redis.call('HGET', KEYS[3], name) or ''
end
return told`)

/** Some of the marks up to a number, or up to now, with the index positions of their logs. */
const MARKED = new Script(`
local bound = ARGV[1]
if bound == '' then bound = redis.call('GET', KEYS[2]) or '0' end
local found = redis.call('ZRANGE', KEYS[1], '-inf', bound, 'BYSCORE', 'LIMIT', 0, ARGV[2], 'WITHSCORES')
local told = {bound}
for i = 1, #found, 2 do
  told[#told + 1] = found[i]
  told[#told + 1] = found[i + 1]
  told[#told + 1] = redis.call('HGET', KEYS[3], found[i]) or ''
end
return told`)

/**
 * Updates a log's index entries, unless it was marked again. KEYS: marks, where, due before and after, list before
 * and after.
 */
const SETTLE = new Script(`${ALLOW_OOM}
local name, mark, place, due, touched = unpack(ARGV)
if tonumber(redis.call('ZSCORE', KEYS[1], name) or '0') ~= tonumber(mark) then return 0 end
redis.call('ZREM', KEYS[1], name)
if KEYS[3] ~= KEYS[4] or due == '' then redis.call('ZREM', KEYS[3], name) end
if KEYS[5] ~= KEYS[6] or place == '' then redis.call('ZREM', KEYS[5], name) end
if place == '' then
  redis.call('HDEL', KEYS[2], name)
else
  redis.call('HSET', KEYS[2], name, place)
  redis.call('ZADD', KEYS[6], touched, name)
  if due ~= '' then redis.call('ZADD', KEYS[4], due, name) end
end
return 1`)

/** The due logs of each index, and the time. */
const CANDIDATES = new Script(`
local time = redis.call('TIME')
local now = time[1] .. string.sub(time[2] + 1000000, 2, 4)
local told = {now}
for i, key in ipairs(KEYS) do
  told[i + 1] = redis.call('ZRANGE', key, '-inf', now, 'BYSCORE', 'LIMIT', 0, ARGV[1], 'WITHSCORES')
end
return told`)

/** How many logs are handled at once. */
const PAGE = 200

/** A marked log: its mark, and its index position. */
interface MarkedLog {
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

/** The indexes behind `list` and `due`. */
export class Indexes {
  readonly #connection: Pick<Connection, 'run' | 'send' | 'transaction'>
  readonly #keys: Keys
  readonly #background: (work: Promise<unknown>) => void
  readonly #marks: readonly [string, string, string]

  /** Optional maintenance work is passed to `background`, and may fail. */
  constructor(
    connection: Pick<Connection, 'run' | 'send' | 'transaction'>,
    keys: Keys,
    background: (work: Promise<unknown>) => void,
  ) {
    this.#connection = connection
    this.#keys = keys
    this.#background = background
    this.#marks = [keys.index('marks'), keys.index('count'), keys.index('where')]
  }

  /**
   * Runs a script that changes a log, together with the mark. The script returns its result and then the log's facts.
   */
  async change(streamId: string, script: Script, keys: readonly string[], args: readonly string[]): Promise<Reply[]> {
    // The mark script is sent as text: by hash, it could be unknown where the other script is known.
    const mark = ['EVAL', MARK.text, '3', ...this.#marks, encodeName(streamId)]
    const rest = [`${keys.length}`, ...keys, ...args]
    const [marked, result] = await this.#connection
      .transaction([mark, ['EVALSHA', script.sha, ...rest]])
      .catch(error => {
        if (!isUnknownScript(error)) throw error
        return this.#connection.transaction([mark, ['EVAL', script.text, ...rest]])
      })
    const [number, position] = marked as [number, string]
    const [reply, facts] = result as [Reply[], (string | null)[]]
    this.#background(this.#settle({ streamId, mark: `${number}`, position }, readFacts(facts)))
    return reply
  }

  /** Settles logs whose index entries are outdated. */
  async refresh(streamIds: readonly string[]): Promise<void> {
    const marks = this.#connection.run(MARK, this.#marks, streamIds.map(encodeName))
    const reply = (await marks) as (number | string)[]
    await this.#settleAll(
      streamIds.map((streamId, i) => ({ streamId, mark: `${reply[2 * i]}`, position: `${reply[2 * i + 1]}` })),
    )
  }

  /** Settles every log that is marked now. */
  async settle(): Promise<void> {
    for (let bound = ''; ; ) {
      const [until, ...reply] = (await this.#connection.run(MARKED, this.#marks, [bound, `${PAGE}`])) as string[]
      const marked: MarkedLog[] = []
      for (let i = 0; i < reply.length; i += 3) {
        const [name, mark, position] = reply.slice(i, i + 3) as [string, string, string]
        marked.push({ streamId: decodeName(name), mark, position })
      }
      await this.#settleAll(marked)
      if (marked.length < PAGE) return
      bound = until as string
    }
  }

  /** Logs in the indexes of these programs and of every driver that are due, the longest due first, and the time. */
  async candidates(programs: readonly string[], limit: number): Promise<{ now: number; lines: IndexEntry[] }> {
    const keys = [...new Set([null, ...programs])].map(program => this.#dueKey(program))
    const count = `${Math.max(limit, PAGE)}`
    const [now, ...found] = (await this.#connection.run(CANDIDATES, keys, [count])) as [string, ...string[][]]
    const lines = found.flatMap(linesOf).sort((a, b) => a.score - b.score)
    return { now: Number(now), lines }
  }

  /** Some logs of a principal from a time on, last touched first. The score is the negative time. */
  async listed(principal: string | null, from: number, offset: number, limit: number): Promise<IndexEntry[]> {
    const range = [`${from}`, '+inf', 'BYSCORE', 'LIMIT', `${offset}`, `${Math.min(limit, PAGE)}`, 'WITHSCORES']
    const found = (await this.#connection.send(['ZRANGE', this.#listKey(principal), ...range])) as [string, number][]
    return found.map(([name, score]) => ({ streamId: decodeName(name), score }))
  }

  async #settleAll(marked: readonly MarkedLog[]): Promise<void> {
    const heads = marked.map(({ streamId }) =>
      this.#connection.send(['HMGET', this.#keys.head(streamId), ...FACT_FIELDS]),
    )
    const facts = await Promise.all(heads)
    await Promise.all(marked.map((one, i) => this.#settle(one, readFacts(facts[i] as (string | null)[]))))
  }

  async #settle({ streamId, mark, position }: MarkedLog, facts: Facts | undefined): Promise<void> {
    const name = encodeName(streamId)
    const next = facts ? `${encodeOptional(facts.program)} ${encodeOptional(facts.principal)}` : ''
    const [[dueBefore, listBefore], [due, list]] = [this.#places(position || next), this.#places(next || position)]
    const keys = [this.#marks[0], this.#marks[2], dueBefore, due, listBefore, list]
    await this.#connection.run(SETTLE, keys, [name, mark, next, `${facts?.due ?? ''}`, `${-(facts?.touchedAt ?? 0)}`])
  }

  /** The keys of the indexes that contain a log. */
  #places(position: string): [string, string] {
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

function linesOf(found: readonly string[]): IndexEntry[] {
  const lines: IndexEntry[] = []
  for (let i = 0; i < found.length; i += 2) {
    lines.push({ streamId: decodeName(found[i] as string), score: Number(found[i + 1]) })
  }
  return lines
}
