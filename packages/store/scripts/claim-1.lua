-- A Middle node claims its name anew: fences of before are refused from now on, and what they leased goes back.
-- ARGV: guard, node. Returns the fence.
local fence = redis.call('HINCRBY', KEYS[1], 'fence:' .. ARGV[2], 1)
local before = ARGV[2] .. '|' .. whole(fence - 1)
local places = redis.call('HGETALL', root .. 'lease:' .. before)
for index = 1, #places, 2 do
  local figures = sku(places[index])
  if figures then
    figures.leased = figures.leased - tonumber(places[index + 1])
    figures.pool = figures.pool + tonumber(places[index + 1])
    figures.changed = true
  end
end
redis.call('DEL', root .. 'lease:' .. before)
redis.call('ZREM', LEASES, before)
saveSkus()
return fence
