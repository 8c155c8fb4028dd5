-- A lease on a name, with a fencing number that grows with every new holder. KEYS: holder, fence. ARGV: owner, ttl ms.
-- Returns the fence for the holder, 0 for everybody else.
local holder = redis.call('GET', KEYS[1])
if holder == ARGV[1] then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  return tonumber(redis.call('GET', KEYS[2]) or 0)
end
if holder then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return redis.call('INCR', KEYS[2])
