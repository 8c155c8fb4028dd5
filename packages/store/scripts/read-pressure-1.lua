-- All reports with their age in ms by Redis' clock; those that are too old to count are taken off the board.
-- KEYS: the board. ARGV: oldest, ms. Returns age, report, age, report …
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local rows = redis.call('HGETALL', KEYS[1])
local replies = {}
for index = 1, #rows, 2 do
  local at, report = string.match(rows[index + 1], '^(%d+)|(.*)$')
  if not at or now - tonumber(at) > tonumber(ARGV[1]) then redis.call('HDEL', KEYS[1], rows[index])
  else
    replies[#replies + 1] = math.max(0, now - tonumber(at))
    replies[#replies + 1] = report
  end
end
return replies
