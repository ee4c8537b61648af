import { LUA } from './head.ts'
import { ALLOW_OOM, Script } from './keys.ts'

/**
 * Extends the leases of many logs. Returns 1 for each whose epoch holds the log, and 0 for the others. A lease that would
 * become shorter stays, so that no index changes. KEYS: record and head of each. ARGV: epoch and duration of each.
 */
export const RENEW_ALL = new Script(`${ALLOW_OOM}${LUA}
local reply = {}
for i = 1, #KEYS, 2 do
  local ends_at = redis.call('HGET', KEYS[i + 1], 'u')
  local _, epoch = parse(redis.call('GET', KEYS[i]) or '')
  local is_held = epoch == ARGV[i] and ends_at
  if is_held then
    local new_end = number(now + ARGV[i + 1])
    if tonumber(new_end) > tonumber(ends_at) then redis.call('HSET', KEYS[i + 1], 'u', new_end) end
  end
  reply[#reply + 1] = is_held and 1 or 0
end
return reply`)
