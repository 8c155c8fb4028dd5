-- A Middle node claims its name anew: fences of before are refused from now on, and what they leased goes back.
-- A fence is never below the clock in ms, so that it grows even when Redis has forgotten the one before.
-- ARGV: guard, node. Returns the fence.
local field = 'fence:' .. ARGV[2]
local before = redis.call('HGET', KEYS[1], field)
local fence = math.max(now, tonumber(before or 0) + 1)
redis.call('HSET', KEYS[1], field, whole(fence))
if before then giveBackLease(ARGV[2] .. '|' .. before) end
saveSkus()
return fence
