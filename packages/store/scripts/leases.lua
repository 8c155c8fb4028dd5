-- What a node has leased goes back to the pool, and its lease ends; used by claim, sweep and begin-rebuild. The pace was
-- charged for it and gets it back (pace.lua), so that a node's death costs the cluster no pace.
local function giveBackLease(holder)
  local places = redis.call('HGETALL', root .. 'lease:' .. holder)
  for index = 1, #places, 2 do
    local figures = sku(places[index])
    if figures then
      figures.leased = figures.leased - tonumber(places[index + 1])
      figures.pool = figures.pool + tonumber(places[index + 1])
      figures.changed = true
      local key = root .. 'sku:' .. places[index]
      if redis.call('HEXISTS', key, 'paceAt') == 1 then redis.call('HINCRBY', key, 'paceBack', places[index + 1]) end
    end
  end
  redis.call('DEL', root .. 'lease:' .. holder)
  redis.call('ZREM', LEASES, holder)
end
