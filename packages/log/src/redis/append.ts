// Two ways to the same append. A writer's is nearly always plain: the log is as it left it, and the ticket stays. Then all that can be refused follows
// from one comparison, with a text that the writer's own words make, and many such appends of one turn of the event loop share one script: a
// command costs Redis and its client more than an append does. In a cluster they would be gathered by slot. Everything else goes through the script
// that looks at each thing in its order.

import { ErrorReply } from 'redis'
import type { AppendResult, Batch, GuestAppend, TicketMove, WriterAppend } from '../store.ts'
import type { Connection } from './connection.ts'
import { isUnknownScript } from './failure.ts'
import { LUA } from './head.ts'
import { checkNonce, encodeName, encodeOptional, isMark, type LogKeys, markOr, Script } from './keys.ts'

/** Seven arguments each: the record as it must begin, as it begins then and ends then, the id, the mark, the count, the body. */
const PLAIN = new Script(`
local time = redis.call('TIME')
local now = time[1] .. string.sub(time[2] + 1000000, 2, 4)
local call, sub = redis.call, string.sub
local told = {now}
for i = 1, #KEYS / 2 do
  local key, a = KEYS[2 * i - 1], 7 * i - 6
  local expected, record = ARGV[a], call('HGET', key, 'w')
  if record and sub(record, 1, #expected) == expected then
    local timestamp = sub(record, #expected + 1, #expected + 13)
    if timestamp < now then timestamp = now end
    local added = redis.pcall('XADD', KEYS[2 * i], ARGV[a + 3], 't', timestamp, 'm', ARGV[a + 4], 'n', ARGV[a + 5], 'b', ARGV[a + 6])
    if type(added) == 'table' then
      told[i + 1] = added.err
    else
      call('HSET', key, 'w', ARGV[a + 1] .. timestamp .. ARGV[a + 2])
      call('PUBLISH', key, '')
      told[i + 1] = 1
    end
  else
    told[i + 1] = 0
  end
end
return told`)

/**
 * Any append. KEYS: head, batches, keys, trimmed. Without a new incarnation it does not regress a log, but tells that it would: that ends the
 * lease, and so must be marked.
 */
export const APPEND = new Script(`${LUA}
local by, count, body, large, moves, version, state, due, program, fresh = unpack(ARGV, 1, 10)
local record, current, floor, floormark = unpack(redis.call('HMGET', KEYS[1], 'w', 'v', 'f', 'fm'))
if not record then return {{by == 'writer' and 'fenced' or 'moved'}, {}} end
local incarnation, epoch, head, mark, counter, timestamp, first, last = parse(record)
local function tell(...) return {{...}, facts(KEYS[1])} end

if by == 'writer' then
  local own, nth, sequence = ARGV[11], tonumber(ARGV[12]), tonumber(ARGV[13])
  if epoch ~= own or nth < tonumber(counter) then return tell('fenced') end
  if nth == tonumber(counter) then return tell('duplicate', first, last, now) end
  local held = incarnation == ARGV[14] and sequence <= tonumber(head)
  -- What was trimmed was held.
  if held and sequence >= tonumber(floor) then
    held = markat(KEYS[2], sequence, head, mark, floor, floormark) == ARGV[15]
  end
  if not held then
    if fresh == '' then return tell('regresses') end
    write(KEYS[1], fresh, NOBODY, head, mark, '0', timestamp, '0', '0')
    redis.call('HDEL', KEYS[1], 'o', 'u')
    redis.call('PUBLISH', KEYS[1], '')
    return tell('regressed')
  end
else
  local known = redis.call('HGET', KEYS[3], ARGV[11])
  if known then
    local from, to = string.match(known, '^(%d+) (%d+)')
    return tell('duplicate', from, to, now)
  end
end
if moves == '1' and version ~= current then return tell('moved') end
if large == '1' then return tell('too-large') end

local from, to = number(head + 1), number(head + count)
if timestamp < now then timestamp = now end
if by == 'writer' then
  mark, counter, first, last = epoch, ARGV[12], from, to
else
  mark = ARGV[12]
end
redis.call('XADD', KEYS[2], to .. '-0', 't', timestamp, 'm', mark, 'n', count, 'b', body)
write(KEYS[1], incarnation, epoch, to, mark, counter, timestamp, first, last)
if by == 'guest' then
  redis.call('HSET', KEYS[3], ARGV[11], from .. ' ' .. to .. ' ' .. ARGV[13])
  if ARGV[13] == '0' then redis.call('ZADD', KEYS[4], to, ARGV[11]) end
end
if moves == '1' then
  if due == 'now' then due = timestamp end
  local cursor = to .. '.' .. incarnation .. '.' .. mark
  redis.call('HSET', KEYS[1], 'v', cursor, 't', state, 'd', due, 'g', program, 'n', timestamp)
end
redis.call('PUBLISH', KEYS[1], '')
return tell('appended', from, to, now)`)

/** The arguments of any append. */
export function appendArguments(
  batch: Batch,
  by: WriterAppend | GuestAppend,
  ticket: TicketMove | undefined,
  isLarge: boolean,
  incarnation: string,
): string[] {
  const { state, due } = ticket?.next ?? { state: '', due: { at: null, program: null } }
  const what = [`${batch.count}`, isLarge ? '' : batch.body, isLarge ? '1' : '0']
  const move = [ticket ? '1' : '0', ticket?.ifVersion ?? '', state, `${due.at ?? ''}`, encodeOptional(due.program)]
  if ('epoch' in by) {
    const { sequence, incarnation: known, epoch } = by.lastAcked
    return ['writer', ...what, ...move, incarnation, markOr(by.epoch), `${by.counter}`, `${sequence}`, known, epoch]
  }
  checkNonce(by.nonce)
  return ['guest', ...what, ...move, incarnation, encodeName(by.key), by.nonce, by.keep ? '1' : '0']
}

/** What the script told. */
export function appendResult([outcome, first, last, clock]: readonly string[]): AppendResult {
  if (outcome === 'appended' || outcome === 'duplicate') {
    return { outcome, first: Number(first), last: Number(last), clock: Number(clock) }
  }
  return { outcome: outcome as 'fenced' | 'regressed' | 'moved' | 'too-large' }
}

interface Waiting {
  readonly keys: LogKeys
  readonly args: readonly string[]
  resolve(clock: number | undefined): void
  reject(error: unknown): void
}

/** One script holds at most so many appends, and no more once their bodies have so many characters: others wait meanwhile. */
const GATHERED = 32
const GATHERED_LENGTH = 262_144

/** Gathers plain appends. */
export class PlainAppends {
  readonly #connection: Connection
  #waiting: Waiting[] = []

  constructor(connection: Connection) {
    this.#connection = connection
  }

  /** Appends a writer's batch if that is plain, and tells the time; tells nothing if it is not, and then nothing has happened. */
  append(
    keys: LogKeys,
    { body, count }: Batch,
    { epoch, counter, lastAcked }: WriterAppend,
  ): Promise<number | undefined> {
    const { sequence, incarnation, epoch: mark } = lastAcked
    // A text with a space in it could pass for two fields.
    if (!isMark(epoch) || !isMark(incarnation) || !isMark(mark)) return Promise.resolve(undefined)
    const last = sequence + count
    const args = [
      `${incarnation} ${epoch} ${sequence} ${mark} ${counter - 1} `,
      `${incarnation} ${epoch} ${last} ${epoch} ${counter} `,
      ` ${sequence + 1} ${last}`,
      `${last}-0`,
      epoch,
      `${count}`,
      body,
    ]
    return new Promise((resolve, reject) => {
      // After all that this turn of the event loop still does, and before the client writes.
      if (this.#waiting.push({ keys, args, resolve, reject }) === 1) process.nextTick(() => this.#flush())
    })
  }

  #flush(): void {
    const waiting = this.#waiting
    this.#waiting = []
    let from = 0
    let length = 0
    for (const [i, { args }] of waiting.entries()) {
      length += (args[6] as string).length
      if (i + 1 - from < GATHERED && length < GATHERED_LENGTH && i + 1 < waiting.length) continue
      void this.#send(waiting.slice(from, i + 1))
      from = i + 1
      length = 0
    }
  }

  async #send(appends: readonly Waiting[]): Promise<void> {
    const keys = appends.flatMap(({ keys }) => [keys.head, keys.batches])
    const rest = [`${keys.length}`, ...keys, ...appends.flatMap(({ args }) => args)]
    try {
      const sent = this.#connection.send(['EVALSHA', PLAIN.sha, ...rest])
      const [now, ...told] = (await sent.catch(error => {
        if (!isUnknownScript(error)) throw error
        return this.#connection.send(['EVAL', PLAIN.text, ...rest])
      })) as [string, ...(number | string)[]]
      for (const [i, { resolve, reject }] of appends.entries()) {
        const one = told[i]
        if (typeof one === 'string') reject(new ErrorReply(one))
        else resolve(one === 1 ? Number(now) : undefined)
      }
    } catch (error) {
      for (const { reject } of appends) reject(error)
    }
  }
}
