-- Who is there, with the age of what they said by Redis' clock; who was silent for too long is dropped.
-- KEYS: nodes. ARGV: longest silence (ms). Returns for each: age (ms), what it said of itself (JSON).
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local rows = redis.call('HGETALL', KEYS[1])
local replies = {}
for index = 1, #rows, 2 do
  local at, info = string.match(rows[index + 1], '^(%d+)|(.*)$')
  local age = now - tonumber(at or 0)
  if age > tonumber(ARGV[1]) then redis.call('HDEL', KEYS[1], rows[index])
  else
    replies[#replies + 1] = math.max(0, age)
    replies[#replies + 1] = info
  end
end
return replies
