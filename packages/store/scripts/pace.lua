-- The pace of the whole cluster: a token bucket in the SKU's hash, filled by Redis' own clock, with a window above it.
-- All is kept in ms of pace (a place of a pace of 40/s is 25 ms), so that the pace may change at any time.
--
--   time, places that come back ──► left ──► places for nodes, as many as fit into the window
--
--   left     while all have what they want: at most a chunk and one place, less what lies leased and unused.
--            While somebody wants more: at most a second. So late ticks of all nodes lose nothing.
--   window   no second has more than its own ms, a chunk and one place. So what was late cannot come as a wave.
--
-- The one place above the chunk is where a fraction waits until it is whole: without it a pace of 10/s loses a quarter.
-- A node takes its share, and more only from the upper half of a chunk: what others leave is used, and nobody takes what
-- the others come for.
local WINDOW_MS, BIN_MS, BINS, SHORT_MS, DEMAND_MS = 1000, 100, 11, 200, 200

-- The window's bins in thousandths of a ms, the newest first, and what lies in the last second, in ms.
local function readWindow(text)
  local newest = math.floor(now / BIN_MS)
  local values, its = {}, newest
  for number in string.gmatch(text or '', '%d+') do values[#values + 1] = tonumber(number) end
  if #values > 0 then its = table.remove(values, 1) end
  for _ = 1, math.min(BINS, math.max(0, newest - its)) do table.insert(values, 1, 0) end
  -- Of the oldest bin the part that is still in the window; what is more than its own time came at once, nobody knows when.
  local oldest, own = values[BINS] or 0, BIN_MS * 1000
  local sum = math.min(oldest, own) * (1 - (now % BIN_MS) / BIN_MS) + math.max(0, oldest - own)
  for index = 1, BINS - 1 do sum = sum + (values[index] or 0) end
  return math.max(newest, its), values, sum / 1000
end

local function writeWindow(newest, values, usedMs)
  values[1] = math.max(0, (values[1] or 0) + math.floor(usedMs * 1000))
  return whole(newest) .. ' ' .. table.concat(values, ' ', 1, math.min(BINS, #values))
end

-- How many places the pace lets through now; takes them. `weight` is the node's demand x the ms since its last call.
-- Also returns the demand of all nodes, in thousandths.
local function throughPace(key, figures, want, more, back, pace, weight, chunkMs)
  local kept = redis.call('HMGET', key, 'paceAt', 'paceLeft', 'paceShortAt', 'paceDemand', 'paceBack', 'paceWindow')
  local placeMs = 1000 / pace
  local at, left = tonumber(kept[1] or now), tonumber(kept[2] or placeMs)
  local shortAt, demand, returned = tonumber(kept[3] or 0), tonumber(kept[4] or 0), tonumber(kept[5] or 0)
  local elapsed = math.max(0, now - at)
  local isShort = at - shortAt <= SHORT_MS and elapsed <= WINDOW_MS
  local idleMs = (figures.leased - back) * placeMs
  local most = placeMs + (isShort and WINDOW_MS or math.max(chunkMs / 2, chunkMs - idleMs))
  left = math.min(most, left + math.min(elapsed, WINDOW_MS) + (returned + back) * placeMs)
  local newest, values, windowMs = readWindow(kept[6])
  local room = math.min(left, WINDOW_MS + chunkMs + placeMs - windowMs)
  local upper = math.floor((left - (placeMs + chunkMs) / 2) / placeMs)
  local allowed = math.max(want, math.min(want + more, upper))
  -- A thousandth of a place makes up for what binary fractions lose.
  allowed = math.min(allowed, math.floor(room / placeMs + 0.001), figures.pool + back)
  allowed = math.max(0, allowed)
  if allowed < want + more then shortAt = now end
  demand = demand * math.max(0, 1 - elapsed / DEMAND_MS) + weight / DEMAND_MS
  redis.call('HSET', key, 'paceAt', whole(now), 'paceLeft', tostring(left - allowed * placeMs), 'paceShortAt', whole(shortAt),
    'paceDemand', tostring(demand), 'paceBack', 0, 'paceWindow', writeWindow(newest, values, (allowed - back) * placeMs))
  return allowed, math.floor(demand * 1000)
end
