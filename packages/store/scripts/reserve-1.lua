-- reserve: once only by token id; rule; both stocks; free-1 held+1; a hold with its deadline; outbox. One atomic step
-- for the whole batch, with variadic commands: their number does not grow with the batch.
-- ARGV: guard, then for each: token id, uid, sku, quantity, expiresAt (ms). Returns for each: outcome, record.
local OK, REPEATED, SOLD_OUT, RULE, EXPIRED, NOT_FOUND = 1, 2, 3, 4, 5, 6
local count = (#ARGV - 1) / 5
local orderIds, members, buyerFields = {}, {}, {}
for index = 1, count do
  local at = 2 + (index - 1) * 5
  orderIds[index] = 'o' .. ARGV[at]
  members[index] = ARGV[at] .. '|' .. ARGV[at + 2] .. '|' .. ARGV[at + 3]
  buyerFields[index * 2 - 1] = ARGV[at + 1] .. ':' .. ARGV[at + 2]
  buyerFields[index * 2] = ARGV[at + 1]
end
local seen = redis.call('HMGET', ORDERS, unpack(orderIds))
local scores = redis.call('ZMSCORE', TOKENS, unpack(members))
local bought = redis.call('HMGET', BUYERS, unpack(buyerFields))
local units, records = {}, {}
for index, field in ipairs(buyerFields) do units[field] = tonumber(bought[index] or 0) end
local rule = redis.call('HMGET', KEYS[1], 'rule', 'seq')
local seq = tonumber(rule[2] or 0)
rule = rule[1]

local replies, orderFields, buyerChanges, holdArgs, tokenArgs, events = {}, {}, {}, {}, {}, {}
for index = 1, count do
  local at = 2 + (index - 1) * 5
  local orderId, uid, skuId = orderIds[index], ARGV[at + 1], ARGV[at + 2]
  local quantity, expiresAt = tonumber(ARGV[at + 3]), tonumber(ARGV[at + 4])
  local record = records[orderId] or seen[index]
  local figures = sku(skuId)
  local outcome = OK
  local isRegistered = scores[index] ~= false
  local own, all = buyerFields[index * 2 - 1], buyerFields[index * 2]
  if record then outcome = REPEATED
  elseif not figures then outcome = NOT_FOUND
  elseif expiresAt < now then outcome = EXPIRED
  elseif quantity > figures.limit then outcome = RULE
  elseif rule ~= 'unlimited' and units[own] + quantity > figures.limit then outcome = RULE
  elseif rule == 'one-product-per-activity' and units[all] > units[own] then outcome = RULE
  elseif figures.free < quantity then outcome = SOLD_OUT
  elseif not isRegistered and figures.pool < quantity then outcome = SOLD_OUT
  end
  if outcome == OK then
    seq = seq + 1
    if isRegistered then figures.outstanding = figures.outstanding - quantity
    else figures.pool = figures.pool - quantity end
    figures.redeemed = figures.redeemed + quantity
    figures.free = figures.free - quantity
    figures.held = figures.held + quantity
    figures.reservedTotal = figures.reservedTotal + 1
    figures.changed = true
    units[own] = units[own] + quantity
    units[all] = units[all] + quantity
    local payBy = now + figures.holdMs
    record = table.concat({ 'held', skuId, uid, ARGV[at + 3], whole(figures.price), '1', whole(seq), whole(now),
      whole(payBy), whole(now) }, '|')
    records[orderId] = record
    orderFields[#orderFields + 1] = orderId
    orderFields[#orderFields + 1] = record
    buyerChanges[own] = units[own]
    buyerChanges[all] = units[all]
    holdArgs[#holdArgs + 1] = whole(payBy)
    holdArgs[#holdArgs + 1] = orderId
    tokenArgs[#tokenArgs + 1] = members[index]
    events[#events + 1] = orderId .. '|' .. record
  end
  replies[#replies + 1] = outcome
  replies[#replies + 1] = record or ''
end
if #events > 0 then
  redis.call('HSET', ORDERS, unpack(orderFields))
  local fields = {}
  for field, value in pairs(buyerChanges) do
    fields[#fields + 1] = field
    fields[#fields + 1] = whole(value)
  end
  redis.call('HSET', BUYERS, unpack(fields))
  redis.call('ZADD', HOLDS, unpack(holdArgs))
  redis.call('ZREM', TOKENS, unpack(tokenArgs))
  redis.call('HSET', KEYS[1], 'seq', whole(seq))
  saveSkus()
  emit(events)
end
return replies
