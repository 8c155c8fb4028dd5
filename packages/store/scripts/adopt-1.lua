-- Puts orders back that a damaged ledger lacks, and moves states forward, never back (rebuild only: guard `rebuilding`).
-- ARGV: guard, emit (1 or 0), then for each: order id, record. Returns for each: 1 adopted, 2 known, 3 moved, 0 conflict.
local replies, events = {}, {}
local function count(parts, figures)
  local quantity = tonumber(parts[4])
  if parts[1] == 'held' or parts[1] == 'paid' then
    if figures.free < quantity then return false end
    -- Units decide. Places that are short (they are out as tokens) are added: a token too many finds no unit.
    local missing = math.max(0, quantity - figures.pool)
    figures.quota = figures.quota + missing
    figures.pool = figures.pool + missing
    figures.free = figures.free - quantity
    figures.pool = figures.pool - quantity
    figures.redeemed = figures.redeemed + quantity
    local into = parts[1] == 'held' and 'held' or 'sold'
    figures[into] = figures[into] + quantity
    redis.call('HINCRBY', BUYERS, parts[3] .. ':' .. parts[2], quantity)
    redis.call('HINCRBY', BUYERS, parts[3], quantity)
  end
  figures.reservedTotal = figures.reservedTotal + 1
  figures.changed = true
  return true
end
for at = 3, #ARGV, 2 do
  local orderId, record = ARGV[at], ARGV[at + 1]
  local parts = parse(record)
  local figures = sku(parts[2])
  local known = redis.call('HGET', ORDERS, orderId)
  local reply = 2
  if not figures then reply = 0
  elseif not known then
    local member = string.sub(orderId, 2) .. '|' .. parts[2] .. '|' .. parts[4]
    if redis.call('ZREM', TOKENS, member) == 1 then
      figures.outstanding = figures.outstanding - tonumber(parts[4])
      figures.pool = figures.pool + tonumber(parts[4])
      figures.changed = true
    end
    if count(parts, figures) then
      redis.call('HSET', ORDERS, orderId, record)
      if parts[1] == 'held' then redis.call('ZADD', HOLDS, parts[9], orderId) end
      local seq = tonumber(redis.call('HGET', KEYS[1], 'seq') or 0)
      if tonumber(parts[7]) > seq then redis.call('HSET', KEYS[1], 'seq', parts[7]) end
      if ARGV[2] == '1' then events[#events + 1] = orderId .. '|' .. record end
      reply = 1
    else reply = 0 end
  elseif parse(known)[1] == 'held' and parts[1] ~= 'held' then
    local outcome = settle(orderId, parts[1], true)
    if outcome == 1 then
      reply = 3
      redis.call('HSET', ORDERS, orderId, record)
      if ARGV[2] == '1' then events[#events + 1] = orderId .. '|' .. record end
    end
  end
  replies[#replies + 1] = reply
end
saveSkus()
emit(events)
return replies
