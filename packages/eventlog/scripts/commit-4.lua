-- Keeps a group's position in a partition, if the partition is still the consumer's and stands where it read from.
-- Then drops what every group has handled, down to a number of records.
-- KEYS[1] owners  KEYS[2] positions of the partition  KEYS[3] stream  KEYS[4] dropped (hash: group -> count)
-- ARGV[1] consumer  ARGV[2] group  ARGV[3] partition  ARGV[4] position before  ARGV[5] position after  ARGV[6] records kept
-- Returns 1, or 0 when it was too late.
if redis.call('HGET', KEYS[1], ARGV[3]) ~= ARGV[1] then return 0 end
if (redis.call('HGET', KEYS[2], ARGV[2]) or '0-0|0') ~= ARGV[4] then return 0 end
redis.call('HSET', KEYS[2], ARGV[2], ARGV[5])

-- What fell while it was in hand was counted as dropped, and is handled after all.
if redis.call('HEXISTS', KEYS[4], ARGV[2]) == 1 then
  local before, after = string.match(ARGV[4], '^[^|]+'), string.match(ARGV[5], '^[^|]+')
  local handled = tonumber(string.match(ARGV[5], '|(%d+)$')) - tonumber(string.match(ARGV[4], '|(%d+)$'))
  local there = #redis.call('XRANGE', KEYS[3], '(' .. before, after, 'COUNT', handled)
  if there < handled then redis.call('HINCRBY', KEYS[4], ARGV[2], there - handled) end
end

if redis.call('XLEN', KEYS[3]) <= tonumber(ARGV[6]) then return 1 end
local function parts(position)
  local ms, seq = string.match(position, '^(%d+)-(%d+)|')
  return tonumber(ms), tonumber(seq)
end
local least = ARGV[5]
for _, position in ipairs(redis.call('HVALS', KEYS[2])) do
  local ms, seq = parts(position)
  local leastMs, leastSeq = parts(least)
  if ms < leastMs or (ms == leastMs and seq < leastSeq) then least = position end
end
redis.call('XTRIM', KEYS[3], 'MINID', '~', string.match(least, '^[^|]+'))
return 1
