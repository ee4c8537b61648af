// Scripts on one log, each atomic. A script that can change the fields that the indexes need (indexes.ts) returns its
// result and then these fields. A log's keys are passed in the order of `LogKeys`.

import { LUA } from './head.ts'
import { ALLOW_OOM, Script } from './keys.ts'

/** Creates an empty log. Returns 1, or 0 if it exists. KEYS: record, head. */
export const CREATE = new Script(`${LUA}
if redis.call('EXISTS', KEYS[1]) == 1 then return {{0}, index_fields(KEYS[2])} end
local incarnation, principal = unpack(ARGV)
write(KEYS[1], incarnation, NO_EPOCH, '0', '0', '0', '0', now)
redis.call('HSET', KEYS[2], 'f', '0', 'fm', '0', 'c', '0', 'v', '0.' .. incarnation .. '.0')
redis.call('HSET', KEYS[2], 't', '', 'd', '', 'g', '', 'p', principal, 'm', now, 'n', now)
return {{1}, index_fields(KEYS[2])}`)

/**
 * Reads the batches after a cursor. Redis cannot stop at a number of bytes, so it reads in steps. Each step requests
 * more batches than the one before, bounded by the average batch size so far. KEYS: record, head, batches.
 */
export const READ = new Script(`${LUA}
local record = redis.call('GET', KEYS[1])
if not record then return false end
local fields = redis.call('HMGET', KEYS[2], 'f', 'fm', 'v', 't', 'p', 'm', 'n', 'o', 'u')
local floor, floor_mark = fields[1], fields[2]
local sequence, left, bytes = tonumber(ARGV[1]), tonumber(ARGV[4]), tonumber(ARGV[5])
local incarnation, _, head, mark = parse(record)
local truncated = ''
if ARGV[2] ~= '' and ARGV[2] ~= incarnation then truncated = 'incarnation'
elseif sequence > tonumber(head) then truncated = 'past-head'
elseif sequence < tonumber(floor) then truncated = 'below-floor'
elseif ARGV[2] ~= '' and ARGV[3] ~= mark_at(KEYS[3], sequence, head, mark, floor, floor_mark) then truncated = 'epoch' end
local batches = {}
if truncated == '' and sequence < tonumber(head) then
  local from, step, count, size = number(sequence + 1), 16, 0, 0
  while left > 0 and size < bytes do
    step = math.min(step, left)
    local page = redis.call('XRANGE', KEYS[3], from, '+', 'COUNT', step)
    for i = 1, #page do
      local value = page[i][2][2]
      batches[2 * count + 1] = page[i][1]
      batches[2 * count + 2] = value
      count = count + 1
      size = size + #value
      if size >= bytes then break end
    end
    if #page < step then break end
    from = '(' .. page[#page][1]
    left = left - #page
    step = math.min(4 * step, math.floor((bytes - size) * count / size) + 1)
  end
end
return {now, record, fields, truncated, batches}`)

/**
 * Drops entries and their keys, at any version of the ticket or only at the given one. KEYS: record, head, batches,
 * keys, trimmed.
 */
export const TRIM = new Script(`${ALLOW_OOM}${LUA}
local record = redis.call('GET', KEYS[1])
if not record then return 0 end
local floor, floor_mark, version = unpack(redis.call('HMGET', KEYS[2], 'f', 'fm', 'v'))
if ARGV[2] == '1' and ARGV[3] ~= version then return 0 end
local incarnation, _, head, mark = parse(record)
local to = math.min(tonumber(ARGV[1]), tonumber(head))
if to <= tonumber(floor) then return 1 end
version = head .. '.' .. incarnation .. '.' .. mark .. '~' .. number(to)
redis.call('HSET', KEYS[2], 'f', number(to), 'fm', mark_at(KEYS[3], to, head, mark, floor, floor_mark), 'v', version)
redis.call('XTRIM', KEYS[3], 'MINID', number(to + 1))
local dropped = redis.call('ZRANGE', KEYS[5], '-inf', number(to), 'BYSCORE')
for i = 1, #dropped, 1000 do redis.call('HDEL', KEYS[4], unpack(dropped, i, math.min(i + 999, #dropped))) end
redis.call('ZREMRANGEBYSCORE', KEYS[5], '-inf', number(to))
redis.call('PUBLISH', KEYS[1], '')
return 1`)

/**
 * Lets all keys of a log expire, if its ticket has the version and no epoch holds it. Returns whether it did. KEYS: all
 * of the log.
 */
export const EXPIRE = new Script(`${ALLOW_OOM}${LUA}
local ms, version = unpack(ARGV)
local _, epoch = parse(redis.call('GET', KEYS[1]) or '')
if epoch ~= NO_EPOCH or redis.call('HGET', KEYS[2], 'v') ~= version then return 0 end
redis.call('HSET', KEYS[2], 'x', ms)
expire_at(number(now + ms), unpack(KEYS))
return 1`)

/**
 * Claims the log and ends its expiry. Returns the holder of a live lease, unless it is a takeover. KEYS: all of the log.
 */
export const CLAIM = new Script(`${ALLOW_OOM}${LUA}
local owner, ttl_ms, takeover, nonce = unpack(ARGV)
local record = redis.call('GET', KEYS[1])
if not record then return {{'absent'}, {}} end
local count, holder, ends_at, expires_after = unpack(redis.call('HMGET', KEYS[2], 'c', 'o', 'u', 'x'))
if ends_at and tonumber(ends_at) > tonumber(now) and takeover == '0' then
  return {{'busy', holder, ends_at, now}, index_fields(KEYS[2])}
end
local incarnation, _, head, mark, _, _, timestamp = parse(record)
count, ends_at = number(count + 1), number(now + ttl_ms)
local epoch = count .. '-' .. nonce
write(KEYS[1], incarnation, epoch, head, mark, '0', '0', timestamp)
redis.call('HSET', KEYS[2], 'c', count, 'o', owner, 'u', ends_at)
if expires_after then
  redis.call('HDEL', KEYS[2], 'x')
  persist(unpack(KEYS))
end
redis.call('PUBLISH', KEYS[1], '')
return {{'claimed', epoch, ends_at, now}, index_fields(KEYS[2])}`)

/**
 * Extends the lease. Returns `shorter`, and changes nothing, if that would shorten it and `shorten` is not set. KEYS:
 * record, head.
 */
export const RENEW = new Script(`${ALLOW_OOM}${LUA}
local own_epoch, ttl_ms, shorten = unpack(ARGV)
local ends_at = redis.call('HGET', KEYS[2], 'u')
local _, epoch = parse(redis.call('GET', KEYS[1]) or '')
if epoch ~= own_epoch or not ends_at then return {{'gone'}, index_fields(KEYS[2])} end
local new_end = number(now + ttl_ms)
if tonumber(new_end) < tonumber(ends_at) and shorten == '0' then return {{'shorter'}, index_fields(KEYS[2])} end
redis.call('HSET', KEYS[2], 'u', new_end)
return {{'renewed', new_end, now}, index_fields(KEYS[2])}`)

/** Ends the lease and the epoch. KEYS: record, head. */
export const RELEASE = new Script(`${LUA}
local incarnation, epoch, head, mark, _, _, timestamp = parse(redis.call('GET', KEYS[1]) or '')
if epoch == ARGV[1] then
  write(KEYS[1], incarnation, NO_EPOCH, head, mark, '0', '0', timestamp)
  redis.call('HDEL', KEYS[2], 'o', 'u')
  redis.call('PUBLISH', KEYS[1], '')
end
return {{1}, index_fields(KEYS[2])}`)

/**
 * Gives the log a new incarnation, unless it has one with this prefix, and ends its lease and epoch. KEYS: record,
 * head.
 */
export const RESTORE = new Script(`${LUA}
local prefix, suffix = unpack(ARGV)
local incarnation, _, head, mark, _, _, timestamp = parse(redis.call('GET', KEYS[1]) or '')
if not incarnation or string.sub(incarnation, 1, #prefix) == prefix then return {{0}, index_fields(KEYS[2])} end
write(KEYS[1], prefix .. suffix, NO_EPOCH, head, mark, '0', '0', timestamp)
redis.call('HDEL', KEYS[2], 'o', 'u')
redis.call('PUBLISH', KEYS[1], '')
return {{1}, index_fields(KEYS[2])}`)

/** Removes all keys of a log, at any version of the ticket or only at the given one. */
export const REMOVE = new Script(`${ALLOW_OOM}
local version = redis.call('HGET', KEYS[2], 'v')
if not version or (ARGV[1] == '1' and ARGV[2] ~= version) then return 0 end
redis.call('UNLINK', unpack(KEYS))
redis.call('PUBLISH', KEYS[1], '')
return 1`)

/**
 * Stores a snapshot, with the expiry of the log. Keeps the newest and the newest at or below the floor. KEYS: head,
 * snapshotIndex, snapshots.
 */
export const PUT_SNAPSHOT = new Script(`
local floor = redis.call('HGET', KEYS[1], 'f')
if not floor then return 0 end
redis.call('ZADD', KEYS[2], ARGV[1], ARGV[1])
redis.call('HSET', KEYS[3], ARGV[1], ARGV[2])
local expires_at = redis.call('PEXPIRETIME', KEYS[1])
if expires_at > 0 then for i = 2, 3 do redis.call('PEXPIREAT', KEYS[i], expires_at) end end
local old = redis.call('ZRANGE', KEYS[2], 0, -1 - ARGV[3])
local floor_snapshot = redis.call('ZRANGE', KEYS[2], floor, '-inf', 'BYSCORE', 'REV', 'LIMIT', 0, 1)[1]
for _, sequence in ipairs(old) do
  if sequence ~= floor_snapshot then
    redis.call('ZREM', KEYS[2], sequence)
    redis.call('HDEL', KEYS[3], sequence)
  end
end
return 1`)

/** The newest snapshot at or below a sequence. KEYS: snapshotIndex, snapshots. */
export const GET_SNAPSHOT = new Script(`
local sequence = redis.call('ZRANGE', KEYS[1], ARGV[1], '-inf', 'BYSCORE', 'REV', 'LIMIT', 0, 1)[1]
return sequence and {sequence, redis.call('HGET', KEYS[2], sequence)}`)

/** Stores a blob, with the expiry of the log. KEYS: record, blobs. */
export const PUT_BLOB = new Script(`
local expires_at = redis.call('PEXPIRETIME', KEYS[1])
if expires_at == -2 then return 0 end
redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
if expires_at > 0 then redis.call('PEXPIREAT', KEYS[2], expires_at) end
return 1`)

/** Number and bytes of the blobs whose hash begins with a prefix. KEYS: blobs. */
export const BLOB_USAGE = new Script(`
local count, bytes = 0, 0
for _, hash in ipairs(redis.call('HKEYS', KEYS[1])) do
  if string.sub(hash, 1, #ARGV[1]) == ARGV[1] then
    count = count + 1
    bytes = bytes + redis.call('HSTRLEN', KEYS[1], hash)
  end
end
return {count, bytes}`)

/**
 * Creates a log from a copy in temporary keys, and appends the closing batch. KEYS: all of the log; all of the copy
 * except record and head.
 */
export const CREATE_FROM_COPY = new Script(`${LUA}
local incarnation, head, mark, floor, floor_mark, timestamp, principal, state, due, program = unpack(ARGV, 1, 10)
local count, nonce, body = unpack(ARGV, 11)
if redis.call('EXISTS', KEYS[1]) == 1 then
  redis.call('UNLINK', unpack(KEYS, 9))
  return {{'exists'}, index_fields(KEYS[2])}
end
for i = 3, 8 do
  if redis.call('EXISTS', KEYS[i + 6]) == 1 then
    redis.call('RENAME', KEYS[i + 6], KEYS[i])
    redis.call('PERSIST', KEYS[i])
  end
end
if timestamp < now then timestamp = now end
if count ~= '0' then
  head, mark = number(head + count), nonce
  redis.call('XADD', KEYS[3], head .. '-' .. timestamp, 'b', mark .. ' ' .. count .. ' ' .. body)
end
if due == 'now' then due = timestamp end
write(KEYS[1], incarnation, NO_EPOCH, head, mark, '0', '0', timestamp)
redis.call('HSET', KEYS[2], 'f', floor, 'fm', floor_mark, 'c', '0', 'v', head .. '.' .. incarnation .. '.' .. mark)
redis.call('HSET', KEYS[2], 't', state, 'd', due, 'g', program, 'p', principal, 'm', now, 'n', now)
redis.call('PUBLISH', KEYS[1], '')
return {{'forked'}, index_fields(KEYS[2])}`)
