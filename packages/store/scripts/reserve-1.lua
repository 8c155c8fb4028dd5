-- reserve: once only by token id; rule; both stocks; free-1 held+1; a hold with its deadline; outbox. One atomic step
-- for the whole batch, with variadic commands: their number does not grow with the batch.
-- ARGV: guard, then for each: token id, uid, sku, quantity, expiresAt (ms). Returns for each: outcome, record.
-- Numbers below 10^14 (times in ms, counts) print exactly as Lua strings; uids are never made numbers.
local OK, REPEATED, SOLD_OUT, RULE, EXPIRED, NOT_FOUND = 1, 2, 3, 4, 5, 6
local ARGV, unpack, tonumber = ARGV, unpack, tonumber
local count = (#ARGV - 1) / 5
local meta = redis.call('HMGET', KEYS[1], 'rule', 'seq')
local rule, seq = meta[1], tonumber(meta[2] or 0)
-- Only this rule asks what a buyer has of other products: `uid` counts all units, `uid:sku` those of one product.
local isOneProduct = rule == 'one-product-per-activity'
local orderIds, members, owns, alls = {}, {}, {}, {}
local at = 2
for index = 1, count do
  local token, uid, id = ARGV[at], ARGV[at + 1], ARGV[at + 2]
  orderIds[index] = 'o' .. token
  members[index] = token .. '|' .. id .. '|' .. ARGV[at + 3]
  owns[index] = uid .. ':' .. id
  if isOneProduct then alls[index] = uid end
  at = at + 5
end
local seen = redis.call('HMGET', ORDERS, unpack(orderIds))
local scores = redis.call('ZMSCORE', TOKENS, unpack(members))
local units = {}
local function readUnits(fields)
  local values = redis.call('HMGET', BUYERS, unpack(fields))
  for index = 1, count do units[fields[index]] = tonumber(values[index] or 0) end
end
readUnits(owns)
if isOneProduct then readUnits(alls) end

local replies, records, orderFields, buyerFields, tokenArgs, events = {}, {}, {}, {}, {}, {}
-- What all records of a SKU share, made once: `held|sku|`, then uid, quantity, `|price|1|`, seq, `|now|payBy|now`.
local heads, mids, tails, payBys, holds, made = {}, {}, {}, {}, {}, 0
-- Small counts as strings: a number that goes to a command is printed each time.
local texts = { [0] = '0', '1', '2', '3', '4' }
at = 2
for index = 1, count do
  local orderId, id, own = orderIds[index], ARGV[at + 2], owns[index]
  local quantity = tonumber(ARGV[at + 3])
  local record = records[orderId] or seen[index]
  local figures = skus[id]
  if figures == nil then figures = sku(id) end
  local isRegistered = scores[index] ~= false
  local outcome = OK
  if record then outcome = REPEATED
  elseif not figures then outcome = NOT_FOUND
  elseif tonumber(ARGV[at + 4]) < now then outcome = EXPIRED
  elseif quantity > figures.limit then outcome = RULE
  elseif rule ~= 'unlimited' and units[own] + quantity > figures.limit then outcome = RULE
  elseif isOneProduct and units[alls[index]] > units[own] then outcome = RULE
  elseif figures.free < quantity then outcome = SOLD_OUT
  elseif not isRegistered and figures.pool < quantity then outcome = SOLD_OUT
  end
  if outcome == OK then
    if not figures.changed then
      figures.changed = true
      payBys[id] = whole(now + figures.holdMs)
      holds[id] = {}
      heads[id] = 'held|' .. id .. '|'
      mids[id] = '|' .. figures.price .. '|1|'
      tails[id] = '|' .. now .. '|' .. payBys[id] .. '|' .. now
    end
    seq = seq + 1
    if isRegistered then
      figures.outstanding = figures.outstanding - quantity
      tokenArgs[#tokenArgs + 1] = members[index]
    else figures.pool = figures.pool - quantity end
    figures.redeemed = figures.redeemed + quantity
    figures.free = figures.free - quantity
    figures.held = figures.held + quantity
    figures.reservedTotal = figures.reservedTotal + 1
    units[own] = units[own] + quantity
    record = heads[id] .. ARGV[at + 1] .. '|' .. ARGV[at + 3] .. mids[id] .. seq .. tails[id]
    records[orderId] = record
    local place = made * 2
    made = made + 1
    orderFields[place + 1] = orderId
    orderFields[place + 2] = record
    buyerFields[place + 1] = own
    buyerFields[place + 2] = texts[units[own]] or units[own]
    local waiting = holds[id]
    waiting[#waiting + 1] = orderId
    events[made] = orderId .. '|' .. record
    if isOneProduct then units[alls[index]] = units[alls[index]] + quantity end
  end
  replies[index * 2 - 1] = outcome
  replies[index * 2] = record or ''
  at = at + 5
end
if made > 0 then
  if isOneProduct then
    for index = 1, count do
      buyerFields[#buyerFields + 1] = alls[index]
      buyerFields[#buyerFields + 1] = units[alls[index]]
    end
  end
  redis.call('HSET', ORDERS, unpack(orderFields))
  redis.call('HSET', BUYERS, unpack(buyerFields))
  -- The holds of one call and one SKU end together: one entry for all.
  for id, own in pairs(holds) do redis.call('ZADD', HOLDS, payBys[id], table.concat(own, ',')) end
  if #tokenArgs > 0 then redis.call('ZREM', TOKENS, unpack(tokenArgs)) end
  redis.call('HSET', KEYS[1], 'seq', seq)
  saveSkus()
  emit(events)
end
return replies
