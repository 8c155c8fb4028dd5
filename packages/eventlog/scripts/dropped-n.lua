-- Records that fell before a group had handled them.
-- KEYS dropped of each partition (hash: group -> count)   ARGV[1] group
local dropped = 0
for _, key in ipairs(KEYS) do dropped = dropped + tonumber(redis.call('HGET', key, ARGV[1]) or 0) end
return dropped
