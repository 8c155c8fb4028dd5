-- Makes the ledger of an activity, or brings its settings up to date; figures that exist are left alone.
-- ARGV: guard to set where there is none, rule, then for each sku: id, stock, overbook, limit, price, hold ms.
if not guard then redis.call('HSET', KEYS[1], 'guard', ARGV[1], 'seq', 0) end
redis.call('HSET', KEYS[1], 'rule', ARGV[2])
for at = 3, #ARGV, 6 do
  local key = root .. 'sku:' .. ARGV[at]
  redis.call('HSET', key, 'overbook', ARGV[at + 2], 'limit', ARGV[at + 3], 'price', ARGV[at + 4], 'holdMs', ARGV[at + 5])
  if redis.call('HEXISTS', key, 'stock') == 0 then
    local stock = tonumber(ARGV[at + 1])
    local quota = whole(math.floor(stock * tonumber(ARGV[at + 2]) + 0.000001))
    redis.call('HSET', key, 'stock', ARGV[at + 1], 'free', ARGV[at + 1], 'held', 0, 'sold', 0, 'quota', quota,
      'pool', quota, 'leased', 0, 'outstanding', 0, 'redeemed', 0, 'reservedTotal', 0, 'deadTotal', 0)
    redis.call('SADD', root .. 'skus', ARGV[at])
  end
end
return redis.call('HGET', KEYS[1], 'guard')
