-- Moves an order on; used by the scripts settle, sweep and adopt. Its entry among the holds stays until its time is
-- over: the sweep passes over what is no longer held.
local OK, REPEATED, NOT_FOUND, WRONG_STATE = 1, 2, 6, 7

-- A unit goes back on sale, and its place with it.
local function giveBack(figures, uid, skuId, quantity)
  figures.free = figures.free + quantity
  figures.redeemed = figures.redeemed - quantity
  figures.pool = figures.pool + quantity
  redis.call('HINCRBY', BUYERS, uid .. ':' .. skuId, -quantity)
  if redis.call('HEXISTS', BUYERS, uid) == 1 then redis.call('HINCRBY', BUYERS, uid, -quantity) end
end

-- Returns outcome, record and, when something changed, the event. Forced: a hold may expire before its time (rebuild).
local function settle(orderId, state, isForced)
  local record = redis.call('HGET', ORDERS, orderId)
  if not record then return NOT_FOUND, '' end
  local parts = parse(record)
  if parts[1] == state then return REPEATED, record end
  if parts[1] ~= 'held' then return WRONG_STATE, record end
  if state == 'expired' and not isForced and tonumber(parts[9]) > now then return WRONG_STATE, record end
  local figures = sku(parts[2])
  local quantity = tonumber(parts[4])
  figures.held = figures.held - quantity
  if state == 'paid' then figures.sold = figures.sold + quantity
  else giveBack(figures, parts[3], parts[2], quantity) end
  figures.changed = true
  parts[1] = state
  parts[6] = whole(tonumber(parts[6]) + 1)
  parts[10] = whole(now)
  record = table.concat(parts, '|')
  redis.call('HSET', ORDERS, orderId, record)
  return OK, record, orderId .. '|' .. record
end
