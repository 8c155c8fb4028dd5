-- Gives back what ran out: holds past their time, tokens never redeemed, leases of nodes that are gone.
-- ARGV: guard, at most how many of each, grace of tokens (ms). Returns: holds, tokens, leases.
local max, grace = ARGV[2], tonumber(ARGV[3])
local events = {}
local holds = redis.call('ZRANGEBYSCORE', HOLDS, '-inf', whole(now), 'LIMIT', 0, max)
for _, orderId in ipairs(holds) do
  local outcome, _, event = settle(orderId, 'expired')
  if outcome ~= OK then redis.call('ZREM', HOLDS, orderId) end
  events[#events + 1] = event
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
return { #holds, #tokens, #leases }
