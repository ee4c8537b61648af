// The state of a log. The fields that every append changes are one string, so that a script reads and writes those of
// many logs at once:
//
//   incarnation epoch head mark counter span timestamp
//
// The epoch is `!` for none. Counter and span belong to the epoch's latest append: its number of entries if it is the
// log's last append, and `first-last` otherwise. The rest is a hash:
//
//   f   the floor, fm its mark         c   the number of epochs so far       o, u   the lease: its owner, its end
//   v   the ticket's version           t   its text                          d, g   its due: a time or empty, a program or empty
//   p   the principal or empty         m   created                           n      touched
//   x   after how many ms the log expires; absent for never
//
// A log that expires has the same expiry on all its keys, and no epoch: a claim ends the expiry, so no append of a
// writer finds one. Each key that a script creates for such a log gets the expiry too.
//
// Numbers stay text: Lua would write large ones with an exponent, hence `%.0f` for computed ones. A batch's id in the
// stream is its last sequence and its timestamp, so that the batches after a sequence begin at the next one.

import { decodeOptional } from './keys.ts'

/** Lua: the server's time in ms, with thirteen digits, so that times compare as text. */
const NOW = `
local function clock()
  local time = redis.call('TIME')
  return time[1] .. string.sub(time[2] + 1000000, 2, 4)
end
local now = clock()
`

/** Lua: reads and writes a record. */
const RECORD = `
local NO_EPOCH = '!'
local function number(n) return string.format('%.0f', n) end
local function parse(record) return string.match(record, '^(%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (%S+)$') end
-- Keeps the expiry of the key.
local function write(key, ...) redis.call('SET', key, table.concat({...}, ' '), 'KEEPTTL') end
-- The first and last sequence of the epoch's latest append.
local function bounds(span, head)
  local first, last = string.match(span, '^(%d+)-(%d+)$')
  return first or number(head - span + 1), last or head
end
`

/** Lua: the fields of a log that the indexes need (indexes.ts); empty for a missing log. */
const INDEX_FIELDS_LUA = `
local function index_fields(key)
  if redis.call('EXISTS', key) == 0 then return {} end
  return redis.call('HMGET', key, 'd', 'u', 'g', 'p', 'n')
end
`

/** Lua: sets or ends the expiry of all keys of a log. */
const EXPIRY = `
local function expire_at(time, ...)
  for _, key in ipairs({...}) do redis.call('PEXPIREAT', key, time) end
end
local function persist(...)
  for _, key in ipairs({...}) do redis.call('PERSIST', key) end
end
`

/** Lua: the mark of the entry at a sequence between floor and head. */
const MARK_AT = `
local function mark_at(stream, sequence, head, mark, floor, floor_mark)
  if sequence == tonumber(head) then return mark end
  if sequence == tonumber(floor) then return floor_mark end
  local found = redis.call('XRANGE', stream, number(sequence), '+', 'COUNT', 1)
  return found[1] and string.match(found[1][2][2], '^%S+')
end
`

/** Helpers for every script. */
export const LUA: string = NOW + RECORD + INDEX_FIELDS_LUA + EXPIRY + MARK_AT

/** The names of these fields in the hash. */
export const INDEX_FIELDS = ['d', 'u', 'g', 'p', 'n'] as const

/** The fields of a log that the indexes need. */
export interface IndexFields {
  /** When it is due, in ms; undefined for never. */
  readonly due: number | undefined
  readonly program: string | null
  readonly principal: string | null
  readonly touchedAt: number
}

/** Parses the fields that the indexes need; undefined for a missing log. */
export function readIndexFields(fields: readonly (string | null)[]): IndexFields | undefined {
  const [due, until, program, principal, touchedAt] = fields
  if (due == null || program == null || principal == null || touchedAt == null) return undefined
  return {
    due: due === '' ? undefined : Math.max(Number(due), Number(until ?? 0)),
    program: decodeOptional(program),
    principal: decodeOptional(principal),
    touchedAt: Number(touchedAt),
  }
}
