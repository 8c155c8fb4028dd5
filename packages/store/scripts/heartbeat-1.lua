-- A node says that it is there, at the time of Redis' clock: nodes' own clocks say nothing about who is silent.
-- KEYS: nodes. ARGV: node id, what it says of itself (JSON).
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
return redis.call('HSET', KEYS[1], ARGV[1], string.format('%d|', now) .. ARGV[2])
