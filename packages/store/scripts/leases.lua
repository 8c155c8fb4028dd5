-- What a node has leased goes back to the pool, and its lease ends; used by claim, sweep and begin-rebuild. The pace was
-- charged for it: it goes to the carry (pace.lua), so that a node's death costs the cluster no pace.
local function giveBackLease(holder)
  local places = redis.call('HGETALL', root .. 'lease:' .. holder)
  for index = 1, #places, 2 do
    local figures = sku(places[index])
    if figures then
      figures.leased = figures.leased - tonumber(places[index + 1])
      figures.pool = figures.pool + tonumber(places[index + 1])
      figures.changed = true
      local key = root .. 'sku:' .. places[index]
      local carry = redis.call('HMGET', key, 'paceAt', 'paceCarry')
      if carry[1] then
        redis.call('HSET', key, 'paceCarry', tostring(tonumber(carry[2] or 0) + tonumber(places[index + 1])))
      end
    end
  end
  redis.call('DEL', root .. 'lease:' .. holder)
  redis.call('ZREM', LEASES, holder)
end
