-- Leases places of the quota to a Middle node, at the pace of the whole cluster, and renews what it holds.
-- The pace is a token bucket in the SKU's hash, filled by Redis' own clock; its depth is `burstMs` of pace (at least 1).
-- ARGV: guard, node, fence, lease ms, burst ms, then for each: sku, want, give back, pace per second (-1: none).
-- Returns for each: held by the node, then the nine figures stock … redeemed; -1 for an unknown SKU.
redis.call('ZADD', LEASES, whole(now + tonumber(ARGV[4])), holder)
local burstMs = tonumber(ARGV[5])
local replies = {}
for at = 6, #ARGV, 4 do
  local id, want, back, pace = ARGV[at], tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3])
  local figures = sku(id)
  if not figures then replies[#replies + 1] = { -1 }
  else
    local key = root .. 'sku:' .. id
    local held = tonumber(redis.call('HGET', LEASE, id) or 0)
    back = math.min(back, held)
    local allowed = want
    if pace >= 0 then
      local bucket = redis.call('HMGET', key, 'paceAt', 'paceLeft')
      local depth = math.max(1, pace * burstMs / 1000)
      local left = math.min(depth, tonumber(bucket[2] or depth) + (now - tonumber(bucket[1] or now)) * pace / 1000)
      left = math.min(depth, left + back)
      allowed = math.min(want, math.floor(left))
      local taken = math.min(allowed, figures.pool + back)
      redis.call('HSET', key, 'paceAt', whole(now), 'paceLeft', tostring(left - math.max(0, taken)))
    end
    local taken = math.max(0, math.min(allowed, figures.pool + back))
    local change = taken - back
    if change ~= 0 then
      held = held + change
      figures.pool = figures.pool - change
      figures.leased = figures.leased + change
      figures.changed = true
      redis.call('HSET', LEASE, id, whole(held))
    end
    local reply = { held }
    for index = 1, 9 do reply[index + 1] = figures[FIGURES[index]] end
    replies[#replies + 1] = reply
  end
end
saveSkus()
return replies
