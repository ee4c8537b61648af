// What a log is. What every append changes is one string, so that a script reads and writes those of many logs at once:
//
//   incarnation epoch head mark counter span timestamp
//
// The epoch is `!` for none. Counter and span are of the epoch's latest append: how many entries it had, if it is the log's last, and `first-last`
// otherwise. The rest is a hash:
//
//   f   the floor, fm its mark         c   how many epochs there were        o, u   the lease: its owner, its end
//   v   the ticket's version           t   its text                          d, g   its due: a time or empty, a program or empty
//   p   the principal or empty         m   created                           n      touched
//
// Numbers stay text: Lua would write large ones with an exponent, hence `%.0f` where it has counted. A batch's id in the stream is its last sequence
// and its timestamp, so that the batches after a sequence begin at the next one.

import { decodeOptional } from './keys.ts'

/** Lua: the server's time in milliseconds, with thirteen digits, so that times compare as text. */
const NOW = `
local function clock()
  local time = redis.call('TIME')
  return time[1] .. string.sub(time[2] + 1000000, 2, 4)
end
local now = clock()
`

/** Lua: reads and writes a record. */
const RECORD = `
local NOBODY = '!'
local function number(n) return string.format('%.0f', n) end
local function parse(record) return string.match(record, '^(%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (%S+)$') end
local function write(key, ...) redis.call('SET', key, table.concat({...}, ' ')) end
local function ends(span, head)
  local first, last = string.match(span, '^(%d+)-(%d+)$')
  return first or number(head - span + 1), last or head
end
`

/** Lua: what the indexes need to know of a log (indexes.ts); nothing of one that is not there. */
const FACTS = `
local function facts(key)
  if redis.call('EXISTS', key) == 0 then return {} end
  return redis.call('HMGET', key, 'd', 'u', 'g', 'p', 'n')
end
`

/** Lua: the mark of the entry at a sequence between floor and head. */
const MARK_AT = `
local function markat(stream, sequence, head, mark, floor, floormark)
  if sequence == tonumber(head) then return mark end
  if sequence == tonumber(floor) then return floormark end
  local found = redis.call('XRANGE', stream, number(sequence), '+', 'COUNT', 1)
  return found[1] and string.match(found[1][2][2], '^%S+')
end
`

/** What every script may use. */
export const LUA: string = NOW + RECORD + FACTS + MARK_AT

/** The fields of which `facts` tells. */
export const FACT_FIELDS = ['d', 'u', 'g', 'p', 'n'] as const

/** What the indexes need to know of a log. */
export interface Facts {
  /** From when on it is due; undefined for never. */
  readonly due: number | undefined
  readonly program: string | null
  readonly principal: string | null
  readonly touchedAt: number
}

/** Reads what the indexes need to know; undefined of a log that is not there. */
export function readFacts(fields: readonly (string | null)[]): Facts | undefined {
  const [due, until, program, principal, touchedAt] = fields
  if (due == null || program == null || principal == null || touchedAt == null) return undefined
  return {
    due: due === '' ? undefined : Math.max(Number(due), Number(until ?? 0)),
    program: decodeOptional(program),
    principal: decodeOptional(principal),
    touchedAt: Number(touchedAt),
  }
}
