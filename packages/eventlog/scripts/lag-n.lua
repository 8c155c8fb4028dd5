-- Records that a group has not handled yet and still can. A stream counts all that was ever added, a position all that was
-- handled; what fell before that is counted apart.
-- KEYS stream, positions and dropped of each partition, in turn   ARGV[1] group
local lag = 0
for at = 1, #KEYS, 3 do
  if redis.call('EXISTS', KEYS[at]) == 1 then
    local position = redis.call('HGET', KEYS[at + 1], ARGV[1])
    if position then
      local info = redis.call('XINFO', 'STREAM', KEYS[at])
      for field = 1, #info, 2 do
        if info[field] == 'entries-added' then lag = lag + info[field + 1] end
      end
      lag = lag - tonumber(string.match(position, '|(%d+)$'))
      lag = lag - tonumber(redis.call('HGET', KEYS[at + 2], ARGV[1]) or 0)
    else
      lag = lag + redis.call('XLEN', KEYS[at])
    end
  end
end
return lag
