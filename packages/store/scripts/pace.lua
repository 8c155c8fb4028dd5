-- The pace of the whole cluster: a token bucket in the SKU's hash, filled by Redis' own clock.
--
--   earned ──► left: at most a chunk and one place, less what lies leased and unused ──► places for nodes
--                │ full though somebody still wanted some: all ticks were late
--                ▼
--              carry: also what came back with a lease that ended; at most a second of pace ──► left, at 1 % of the pace
--
-- So a late tick loses nothing, and no second is more than a chunk above the pace. The one place above the chunk is where
-- a fraction waits until it is whole: without it a pace of 10/s loses a quarter. A node takes its share from the lower
-- half and more only from the upper one: what others leave is used, and nobody takes what the others come for.
local LATE_MS, CARRY_MS, REPAY, SHORT_MS, DEMAND_MS = 1000, 1000, 0.01, 200, 200

-- How many places the pace lets through now; takes them. `weight` is the node's demand x the ms since its last call.
-- Also returns the demand of all nodes, in thousandths.
local function throughPace(key, figures, want, more, back, pace, weight, chunkMs)
  local bucket = redis.call('HMGET', key, 'paceAt', 'paceLeft', 'paceCarry', 'paceShortAt', 'paceDemand')
  local at, left = tonumber(bucket[1] or now), tonumber(bucket[2] or 1)
  local carry, shortAt, demand = tonumber(bucket[3] or 0), tonumber(bucket[4] or 0), tonumber(bucket[5] or 0)
  local elapsed = math.max(0, now - at)
  local counted = math.min(elapsed, LATE_MS)
  local chunk = pace * chunkMs / 1000
  local depth = 1 + math.max(chunk / 2, chunk - figures.leased + back)
  left = left + counted * pace / 1000
  if left > depth then
    if elapsed <= LATE_MS and at - shortAt <= SHORT_MS then carry = carry + left - depth end
    left = depth
  end
  carry = math.min(carry, pace * CARRY_MS / 1000)
  local repaid = math.min(carry, counted * pace * REPAY / 1000, depth - left)
  carry = carry - repaid
  left = math.min(depth, left + repaid + back)
  local upper = math.min(want + more, math.floor(left - depth / 2))
  local allowed = math.min(math.floor(left), math.max(want, upper))
  allowed = math.max(0, math.min(allowed, figures.pool + back))
  if allowed < want + more then shortAt = now end
  demand = demand * math.max(0, 1 - elapsed / DEMAND_MS) + weight / DEMAND_MS
  redis.call('HSET', key, 'paceAt', whole(now), 'paceLeft', tostring(left - allowed), 'paceCarry', tostring(carry),
    'paceShortAt', whole(shortAt), 'paceDemand', tostring(demand))
  return allowed, math.floor(demand * 1000)
end
