import { LUA } from './head.ts'
import { Script } from './keys.ts'

/** Makes an empty log. Tells 1, or 0 if there is one. */
export const CREATE = new Script(`${LUA}
if redis.call('EXISTS', KEYS[1]) == 1 then return {{0}, facts(KEYS[1])} end
local incarnation, principal = unpack(ARGV)
write(KEYS[1], incarnation, NOBODY, '0', '0', '0', now, '0', '0')
redis.call('HSET', KEYS[1], 'f', '0', 'fm', '0', 'c', '0', 'v', '0.' .. incarnation .. '.0', 't', '', 'd', '', 'g', '', 'p', principal, 'm', now, 'n', now)
return {{1}, facts(KEYS[1])}`)

/**
 * Reads what lies after a cursor. It asks for more the more it has, and no more than what it has seen of the bodies' size lets it expect: Redis cannot
 * stop at a number of bytes.
 */
export const READ = new Script(`${LUA}
local fields = redis.call('HMGET', KEYS[1], 'w', 'f', 'fm', 'v', 't', 'p', 'm', 'n', 'o', 'u')
local record, floor, floormark = fields[1], fields[2], fields[3]
if not record then return false end
local sequence, left, bytes = tonumber(ARGV[1]), tonumber(ARGV[4]), tonumber(ARGV[5])
local incarnation, _, head, mark = parse(record)
local truncated = ''
if ARGV[2] ~= '' and ARGV[2] ~= incarnation then truncated = 'incarnation'
elseif sequence > tonumber(head) then truncated = 'past-head'
elseif sequence < tonumber(floor) then truncated = 'below-floor'
elseif ARGV[2] ~= '' and ARGV[3] ~= markat(KEYS[2], sequence, head, mark, floor, floormark) then truncated = 'epoch' end
local told = {now, truncated}
if truncated == '' and sequence < tonumber(head) then
  local after, seen, got = number(sequence) .. '-0', 0, 0
  local size = 1
  while left > 0 and got < bytes do
    local ask = math.min(size, left)
    local page = redis.call('XRANGE', KEYS[2], '(' .. after, '+', 'COUNT', ask)
    for _, entry in ipairs(page) do
      local values = entry[2]
      told[#told + 1] = entry[1]
      told[#told + 1] = values[2]
      told[#told + 1] = values[4]
      told[#told + 1] = values[6]
      told[#told + 1] = values[8]
      got = got + #values[8]
      seen = seen + 1
      if got >= bytes then break end
    end
    if #page < ask then break end
    after = page[#page][1]
    left = left - #page
    size = math.max(1, math.min(4 * size, math.floor((bytes - got) * seen / math.max(got, 1)) + 1))
  end
end
return {fields, told}`)

/** Drops entries, and the keys that go with them. KEYS: head, batches, keys, trimmed. */
export const TRIM = new Script(`${LUA}
local record, floor, floormark = unpack(redis.call('HMGET', KEYS[1], 'w', 'f', 'fm'))
if not record then return 0 end
local _, _, head, mark = parse(record)
local to = math.min(tonumber(ARGV[1]), tonumber(head))
if to <= tonumber(floor) then return 0 end
redis.call('HSET', KEYS[1], 'f', number(to), 'fm', markat(KEYS[2], to, head, mark, floor, floormark))
redis.call('XTRIM', KEYS[2], 'MINID', number(to + 1) .. '-0')
local gone = redis.call('ZRANGE', KEYS[4], '-inf', number(to), 'BYSCORE')
for i = 1, #gone, 1000 do redis.call('HDEL', KEYS[3], unpack(gone, i, math.min(i + 999, #gone))) end
redis.call('ZREMRANGEBYSCORE', KEYS[4], '-inf', number(to))
redis.call('PUBLISH', KEYS[1], '')
return 1`)

/** Takes the log. Under a live lease it tells whose, unless it may take over. */
export const CLAIM = new Script(`${LUA}
local owner, ttl, takeover, nonce = unpack(ARGV)
local record, count, holder, ends = unpack(redis.call('HMGET', KEYS[1], 'w', 'c', 'o', 'u'))
if not record then return {{'absent'}, {}} end
if ends and tonumber(ends) > tonumber(now) and takeover == '0' then return {{'busy', holder, ends, now}, facts(KEYS[1])} end
local incarnation, _, head, mark, _, timestamp = parse(record)
count = number(count + 1)
local epoch, ends = count .. '-' .. nonce, number(now + ttl)
write(KEYS[1], incarnation, epoch, head, mark, '0', timestamp, '0', '0')
redis.call('HSET', KEYS[1], 'c', count, 'o', owner, 'u', ends)
redis.call('PUBLISH', KEYS[1], '')
return {{'claimed', epoch, ends, now}, facts(KEYS[1])}`)

/** Makes the lease last. A lease that would become shorter it leaves, and tells so, unless it may. */
export const RENEW = new Script(`${LUA}
local own, ttl, shorten = unpack(ARGV)
local record, ends = unpack(redis.call('HMGET', KEYS[1], 'w', 'u'))
local _, epoch = parse(record or '')
if epoch ~= own or not ends then return {{'gone'}, facts(KEYS[1])} end
local till = number(now + ttl)
if tonumber(till) < tonumber(ends) and shorten == '0' then return {{'shorter'}, {}} end
redis.call('HSET', KEYS[1], 'u', till)
return {{'renewed', till, now}, facts(KEYS[1])}`)

/** Ends the lease and the epoch. */
export const RELEASE = new Script(`${LUA}
local record = redis.call('HGET', KEYS[1], 'w')
local incarnation, epoch, head, mark, _, timestamp = parse(record or '')
if epoch == ARGV[1] then
  write(KEYS[1], incarnation, NOBODY, head, mark, '0', timestamp, '0', '0')
  redis.call('HDEL', KEYS[1], 'o', 'u')
  redis.call('PUBLISH', KEYS[1], '')
end
return {{1}, facts(KEYS[1])}`)

/** Gives the log another incarnation, once for each name that incarnations begin with, and ends its lease and epoch. */
export const RESTORE = new Script(`${LUA}
local begins, rest = unpack(ARGV)
local record = redis.call('HGET', KEYS[1], 'w')
if not record then return {{0}, {}} end
local incarnation, _, head, mark, _, timestamp = parse(record)
if string.sub(incarnation, 1, #begins) == begins then return {{0}, facts(KEYS[1])} end
write(KEYS[1], begins .. rest, NOBODY, head, mark, '0', timestamp, '0', '0')
redis.call('HDEL', KEYS[1], 'o', 'u')
redis.call('PUBLISH', KEYS[1], '')
return {{1}, facts(KEYS[1])}`)

/** Removes all keys of a log, whatever its ticket's version or at this one. */
export const REMOVE = new Script(`${LUA}
local version = redis.call('HGET', KEYS[1], 'v')
if not version or (ARGV[1] == '1' and ARGV[2] ~= version) then return {{0}, facts(KEYS[1])} end
redis.call('UNLINK', unpack(KEYS))
redis.call('PUBLISH', KEYS[1], '')
return {{1}, {}}`)

/** Keeps a snapshot, and of all the newest. KEYS: head, places, snapshots. */
export const PUT_SNAPSHOT = new Script(`
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
redis.call('ZADD', KEYS[2], ARGV[1], ARGV[1])
redis.call('HSET', KEYS[3], ARGV[1], ARGV[2])
local old = redis.call('ZRANGE', KEYS[2], 0, -1 - ARGV[3])
for _, place in ipairs(old) do
  redis.call('ZREM', KEYS[2], place)
  redis.call('HDEL', KEYS[3], place)
end
return 1`)

/** The newest snapshot at or below a sequence. KEYS: places, snapshots. */
export const GET_SNAPSHOT = new Script(`
local place = redis.call('ZRANGE', KEYS[1], ARGV[1], '-inf', 'BYSCORE', 'REV', 'LIMIT', 0, 1)[1]
return place and {place, redis.call('HGET', KEYS[2], place)}`)

/** Keeps a blob. KEYS: head, blobs. */
export const PUT_BLOB = new Script(`
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
return redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])`)

/** Makes a log of what was copied apart, and closes it. KEYS: its head; its other keys; the keys of the copy in the same order. */
export const ADOPT = new Script(`${LUA}
local incarnation, head, mark, floor, floormark, timestamp, principal, state, due, program = unpack(ARGV, 1, 10)
local count, nonce, body = unpack(ARGV, 11)
if redis.call('EXISTS', KEYS[1]) == 1 then
  redis.call('UNLINK', unpack(KEYS, 8))
  return {{'exists'}, facts(KEYS[1])}
end
for i = 2, 7 do
  if redis.call('EXISTS', KEYS[i + 6]) == 1 then
    redis.call('RENAME', KEYS[i + 6], KEYS[i])
    redis.call('PERSIST', KEYS[i])
  end
end
if timestamp < now then timestamp = now end
if count ~= '0' then
  head, mark = number(head + count), nonce
  redis.call('XADD', KEYS[2], head .. '-0', 't', timestamp, 'm', mark, 'n', count, 'b', body)
end
if due == 'now' then due = timestamp end
write(KEYS[1], incarnation, NOBODY, head, mark, '0', timestamp, '0', '0')
redis.call('HSET', KEYS[1], 'f', floor, 'fm', floormark, 'c', '0', 'v', head .. '.' .. incarnation .. '.' .. mark)
redis.call('HSET', KEYS[1], 't', state, 'd', due, 'g', program, 'p', principal, 'm', now, 'n', now)
redis.call('PUBLISH', KEYS[1], '')
return {{'forked'}, facts(KEYS[1])}`)
