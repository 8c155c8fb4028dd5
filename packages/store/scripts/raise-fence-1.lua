-- Lets a fence be at least a number. KEYS: fence. ARGV: number.
local fence = tonumber(redis.call('GET', KEYS[1]) or 0)
if fence < tonumber(ARGV[1]) then redis.call('SET', KEYS[1], ARGV[1]) end
return 0
