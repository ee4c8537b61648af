// Two implementations of append. A writer's append is nearly always plain: the log is as the writer left it, and the
// ticket stays. Then one comparison with the expected record checks everything, and many such appends of one turn of
// the event loop share one script: a command costs Redis and its client more than an append does. (In a cluster they
// would be grouped by slot.) All other appends use the script that checks each condition in order.

import type { AppendResult, Batch, GuestAppend, TicketMove, WriterAppend } from '../../store/log-store.ts'
import type { Connection } from './connection.ts'
import { LUA } from './head.ts'
import { checkNonce, encodeName, encodeOptional, type Keys, markOr, Script } from './keys.ts'

const APPENDED = 'a'
const NOT_PLAIN = 'o'
const FAILED = 'f'
/** Number of digits of a time in ms. */
const TIME_DIGITS = 13

/**
 * KEYS: the records, then the streams. Four arguments each: the expected start of the record, its new start, the last
 * sequence, the batch. It returns the time, a letter for each append, and the first error, as one string, which is
 * cheaper for Redis than a list. It publishes the last sequence, only to channels with subscribers, which it counts
 * with one command.
 */
const PLAIN = new Script(`
local call, sub, find = redis.call, string.sub, string.find
local time = call('TIME')
local now = time[1] .. sub(time[2] + 1000000, 2, 4)
local count = #KEYS / 2
local records = call('MGET', unpack(KEYS, 1, count))
local listeners = call('PUBSUB', 'NUMSUB', unpack(KEYS, 1, count))
local codes, writes, failure = {}, {}, ''
local a, w = 1, 0
for i = 1, count do
  local expected, record = ARGV[a], records[i]
  if record and find(record, expected, 1, true) == 1 and sub(record, -13) <= now then
    local added = redis.pcall('XADD', KEYS[count + i], ARGV[a + 2] .. '-' .. now, 'b', ARGV[a + 3])
    if type(added) == 'table' then
      codes[i] = '${FAILED}'
      if failure == '' then failure = added.err end
    else
      writes[w + 1] = KEYS[i]
      writes[w + 2] = ARGV[a + 1] .. now
      w = w + 2
      if listeners[2 * i] ~= 0 then call('PUBLISH', KEYS[i], ARGV[a + 2]) end
      codes[i] = '${APPENDED}'
    end
  else
    codes[i] = '${NOT_PLAIN}'
  end
  a = a + 4
end
if w > 0 then call('MSET', unpack(writes)) end
return now .. table.concat(codes) .. failure`)

/**
 * Any append. KEYS: all of the log. Without a new incarnation it does not regress a log, but
 * returns `regresses`: a regression ends the lease, so the log must be marked dirty first (indexes.ts).
 */
export const APPEND = new Script(`${LUA}
local by, count, body, is_large, moves, version, state, due, program, new_incarnation = unpack(ARGV, 1, 10)
local record = redis.call('GET', KEYS[1])
if not record then return {{by == 'writer' and 'fenced' or 'moved'}, {}} end
local incarnation, epoch, head, mark, counter, span, timestamp = parse(record)
local current, floor, floor_mark, expires_after = unpack(redis.call('HMGET', KEYS[2], 'v', 'f', 'fm', 'x'))
local function reply(...) return {{...}, index_fields(KEYS[2])} end

if by == 'writer' then
  local own_epoch, own_counter, sequence = ARGV[11], tonumber(ARGV[12]), tonumber(ARGV[13])
  if epoch ~= own_epoch or own_counter < tonumber(counter) then return reply('fenced') end
  if own_counter == tonumber(counter) then
    local first, last = bounds(span, head)
    return reply('duplicate', first, last, now)
  end
  local is_held = incarnation == ARGV[14] and sequence <= tonumber(head)
  -- Trimmed entries count as held.
  if is_held and sequence >= tonumber(floor) then
    is_held = mark_at(KEYS[3], sequence, head, mark, floor, floor_mark) == ARGV[15]
  end
  if not is_held then
    if new_incarnation == '' then return reply('regresses') end
    write(KEYS[1], new_incarnation, NO_EPOCH, head, mark, '0', '0', timestamp)
    redis.call('HDEL', KEYS[2], 'o', 'u')
    redis.call('PUBLISH', KEYS[1], '')
    return reply('regressed')
  end
else
  local earlier = redis.call('HGET', KEYS[4], ARGV[11])
  if earlier then
    local first, last = string.match(earlier, '^(%d+) (%d+)')
    return reply('duplicate', first, last, now)
  end
end
if moves == '1' and version ~= current then return reply('moved') end
if is_large == '1' then return reply('too-large') end

local first, last = number(head + 1), number(head + count)
if timestamp < now then timestamp = now end
if by == 'writer' then
  mark, counter, span = epoch, ARGV[12], count
else
  local from, to = bounds(span, head)
  mark, span = ARGV[12], from .. '-' .. to
end
redis.call('XADD', KEYS[3], last .. '-' .. timestamp, 'b', mark .. ' ' .. count .. ' ' .. body)
write(KEYS[1], incarnation, epoch, last, mark, counter, span, timestamp)
if by == 'guest' then
  redis.call('HSET', KEYS[4], ARGV[11], first .. ' ' .. last .. ' ' .. ARGV[13])
  if ARGV[13] == '0' then redis.call('ZADD', KEYS[5], last, ARGV[11]) end
end
if expires_after then
  -- Only a guest appends here: a claim ends the expiry.
  if moves == '0' then
    local expires_at = redis.call('PEXPIRETIME', KEYS[2])
    if expires_at > 0 then expire_at(expires_at, unpack(KEYS)) end
  elseif due == 'now' then
    persist(unpack(KEYS))
  else
    expire_at(number(now + expires_after), unpack(KEYS))
  end
end
if moves == '1' then
  if due == 'now' then due = timestamp end
  local cursor = last .. '.' .. incarnation .. '.' .. mark
  redis.call('HSET', KEYS[2], 'v', cursor, 't', state, 'd', due, 'g', program, 'n', timestamp)
end
redis.call('PUBLISH', KEYS[1], last)
return reply('appended', first, last, timestamp)`)

/** The arguments of any append. */
export function appendArguments(
  batch: Batch,
  by: WriterAppend | GuestAppend,
  ticket: TicketMove | undefined,
  isLarge: boolean,
  incarnation: string,
): string[] {
  const { state, due } = ticket?.next ?? { state: '', due: { at: null, program: null } }
  const batchArgs = [`${batch.count}`, isLarge ? '' : batch.body, isLarge ? '1' : '0']
  const move = [ticket ? '1' : '0', ticket?.ifVersion ?? '', state, `${due.at ?? ''}`, encodeOptional(due.program)]
  if ('epoch' in by) {
    const { sequence, incarnation: ackedIncarnation, epoch } = by.lastAcked
    return [
      'writer',
      ...batchArgs,
      ...move,
      incarnation,
      markOr(by.epoch),
      `${by.counter}`,
      `${sequence}`,
      ackedIncarnation,
      epoch,
    ]
  }
  checkNonce(by.nonce)
  return ['guest', ...batchArgs, ...move, incarnation, encodeName(by.key), by.nonce, by.keep ? '1' : '0']
}

/** The result of the script. */
export function appendResult([outcome, first, last, clock]: readonly string[]): AppendResult {
  if (outcome === 'appended' || outcome === 'duplicate') {
    return { outcome, first: Number(first), last: Number(last), clock: Number(clock) }
  }
  return { outcome: outcome as 'fenced' | 'regressed' | 'moved' | 'too-large' }
}

/** The form of the expected start of a record. A name that contains a space does not match. */
const EXPECTED = /^[\w-]+ [\w-]+ \d+ [\w-]+ \d+ $/

interface GatheredAppend {
  readonly streamId: string
  readonly batch: Batch
  readonly by: WriterAppend
  readonly expected: string
  resolve(result: AppendResult | Promise<AppendResult>): void
  reject(error: unknown): void
}

/** Maximum number of appends in one script, and of characters of their bodies: other commands wait meanwhile. */
const MAX_GATHERED = 64
const MAX_GATHERED_LENGTH = 262_144

/** What gathered appends need from their store. */
interface AppendHost {
  /** Appends with the other script, if the append is not plain. */
  appendChecked(streamId: string, batch: Batch, by: WriterAppend): Promise<AppendResult>
  /** Tracks a group in flight, which does not reject. */
  track(group: Promise<void>): void
  /** The error of a failed append. */
  failure(error: unknown): Error
  /** The error of an append that the script rejected. */
  refusal(message: string): Error
}

/** Gathers plain appends. */
export class PlainAppends {
  readonly #connection: Connection
  readonly #keys: Keys
  readonly #host: AppendHost
  #gathered: GatheredAppend[] = []

  constructor(connection: Connection, keys: Keys, host: AppendHost) {
    this.#connection = connection
    this.#keys = keys
    this.#host = host
  }

  /**
   * Appends a writer's batch that is within the size limit: with the plain script if possible, otherwise with the
   * other.
   */
  append(streamId: string, batch: Batch, by: WriterAppend): Promise<AppendResult> {
    const { sequence, incarnation, epoch } = by.lastAcked
    const expected = `${incarnation} ${by.epoch} ${sequence} ${epoch} ${by.counter - 1} `
    if (!EXPECTED.test(expected)) return this.#host.appendChecked(streamId, batch, by)
    return new Promise((resolve, reject) => {
      const count = this.#gathered.push({ streamId, batch, by, expected, resolve, reject })
      // After the rest of this turn of the event loop, and before the client writes.
      if (count === 1) process.nextTick(() => this.flush())
    })
  }

  /** Sends the gathered appends, in order. */
  flush(): void {
    const gathered = this.#gathered
    this.#gathered = []
    let group: GatheredAppend[] = []
    let length = 0
    const streams = new Set<string>()
    const send = () => {
      if (group.length > 0) this.#host.track(this.#send(group))
      group = []
      length = 0
      streams.clear()
    }
    for (const append of gathered) {
      // The script reads all records first, so a repeated append must be in a later group to find the result of the
      // first.
      if (streams.has(append.streamId)) send()
      group.push(append)
      length += append.batch.body.length
      streams.add(append.streamId)
      if (group.length === MAX_GATHERED || length >= MAX_GATHERED_LENGTH) send()
    }
    send()
  }

  async #send(appends: readonly GatheredAppend[]): Promise<void> {
    const keys: string[] = []
    for (const { streamId } of appends) keys.push(this.#keys.record(streamId))
    for (const { streamId } of appends) keys.push(this.#keys.batches(streamId))
    const args: string[] = []
    for (const { batch, by, expected } of appends) {
      const { epoch, counter, lastAcked } = by
      const last = lastAcked.sequence + batch.count
      const next = `${lastAcked.incarnation} ${epoch} ${last} ${epoch} ${counter} ${batch.count} `
      args.push(expected, next, `${last}`, `${epoch} ${batch.count} ${batch.body}`)
    }
    try {
      const reply = (await this.#connection.run(PLAIN, keys, args)) as string
      const clock = Number(reply.slice(0, TIME_DIGITS))
      const failure = reply.slice(TIME_DIGITS + appends.length)
      for (let i = 0; i < appends.length; i++)
        this.#settle(appends[i] as GatheredAppend, reply[TIME_DIGITS + i], clock, failure)
    } catch (error) {
      for (const { reject } of appends) reject(this.#host.failure(error))
    }
  }

  #settle(append: GatheredAppend, code: string | undefined, clock: number, failure: string): void {
    const { streamId, batch, by, resolve, reject } = append
    const { sequence } = by.lastAcked
    if (code === APPENDED) resolve({ outcome: 'appended', first: sequence + 1, last: sequence + batch.count, clock })
    else if (code === NOT_PLAIN) resolve(this.#host.appendChecked(streamId, batch, by))
    else reject(this.#host.refusal(failure))
  }
}
