-- Leases places of the quota to a Middle node, at the pace of the whole cluster, and renews what it holds.
-- ARGV: guard, node, fence, lease ms, chunk ms, then for each: sku, want, more (only where others leave it), give back,
-- pace per second (-1: none), demand x ms since the node's last call.
-- Returns for each: held by the node, the nine figures stock … redeemed, demand of all nodes in thousandths; -1 for an
-- unknown SKU.
redis.call('ZADD', LEASES, whole(now + tonumber(ARGV[4])), holder)
local chunkMs = tonumber(ARGV[5])
local replies = {}
for at = 6, #ARGV, 6 do
  local id, want, more, back = ARGV[at], tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3])
  local pace, weight = tonumber(ARGV[at + 4]), tonumber(ARGV[at + 5])
  local figures = sku(id)
  if not figures then replies[#replies + 1] = { -1 }
  else
    local held = tonumber(redis.call('HGET', LEASE, id) or 0)
    back = math.min(back, held)
    local taken, demand = math.max(0, math.min(want + more, figures.pool + back)), 0
    if pace >= 0 then
      taken, demand = throughPace(root .. 'sku:' .. id, figures, want, more, back, pace, weight, chunkMs)
    end
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
    reply[11] = demand
    replies[#replies + 1] = reply
  end
end
saveSkus()
return replies
