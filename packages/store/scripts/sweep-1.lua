-- Gives back what ran out: holds past their time, tokens never redeemed, leases of nodes that are gone.
-- ARGV: guard, at most how many of each, grace of tokens (ms). Returns: holds, tokens, leases, and
-- 1 when there may be more.
local max, grace = tonumber(ARGV[2]), tonumber(ARGV[3])
local events, looked = {}, 0
-- One entry names the orders of one reserve call, which end together; most are paid or cancelled by now.
local entries = redis.call('ZRANGEBYSCORE', HOLDS, '-inf', whole(now), 'LIMIT', 0, max)
for _, entry in ipairs(entries) do
  if looked >= max then break end
  for orderId in string.gmatch(entry, '[^,]+') do
    looked = looked + 1
    local _, _, event = settle(orderId, 'expired')
    events[#events + 1] = event
  end
  redis.call('ZREM', HOLDS, entry)
end
local tokens = redis.call('ZRANGEBYSCORE', TOKENS, '-inf', whole(now - grace), 'LIMIT', 0, max)
for _, member in ipairs(tokens) do
  local parts = parse(member)
  local figures = sku(parts[2])
  redis.call('ZREM', TOKENS, member)
  if figures then
    figures.outstanding = figures.outstanding - tonumber(parts[3])
    figures.pool = figures.pool + tonumber(parts[3])
    figures.deadTotal = figures.deadTotal + 1
    figures.changed = true
  end
end
local leases = redis.call('ZRANGEBYSCORE', LEASES, '-inf', whole(now), 'LIMIT', 0, max)
for _, holder in ipairs(leases) do giveBackLease(holder) end
saveSkus()
emit(events)
local isMore = looked >= max or #tokens == max or #leases == max
return { #events, #tokens, #leases, isMore and 1 or 0 }
