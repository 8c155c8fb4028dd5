-- Says how long work waits at a node, and when, by Redis' clock. KEYS: the board. ARGV: node, report as JSON, most nodes.
-- Returns 0 when the board is full.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 and redis.call('HLEN', KEYS[1]) >= tonumber(ARGV[3]) then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], string.format('%d', now) .. '|' .. ARGV[2])
return 1
