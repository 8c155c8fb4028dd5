-- Records that a group has not handled yet. A stream counts all that was ever added, a position all that was handled.
-- KEYS stream and positions of each partition, in turn   ARGV[1] group
local lag = 0
for at = 1, #KEYS, 2 do
  if redis.call('EXISTS', KEYS[at]) == 1 then
    local info = redis.call('XINFO', 'STREAM', KEYS[at])
    for field = 1, #info, 2 do
      if info[field] == 'entries-added' then lag = lag + info[field + 1] end
    end
    local position = redis.call('HGET', KEYS[at + 1], ARGV[1]) or '0-0|0'
    lag = lag - tonumber(string.match(position, '|(%d+)$'))
  end
end
return lag
