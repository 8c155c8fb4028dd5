-- The rows of a hash `time|text`, each with its age by Redis' clock; what is older than it may be is dropped.
-- KEYS: the hash. ARGV: oldest (ms). Returns for each: age (ms), text.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local rows = redis.call('HGETALL', KEYS[1])
local replies = {}
for index = 1, #rows, 2 do
  local at, text = string.match(rows[index + 1], '^(%d+)|(.*)$')
  local age = now - tonumber(at or 0)
  if age > tonumber(ARGV[1]) then redis.call('HDEL', KEYS[1], rows[index])
  else
    replies[#replies + 1] = math.max(0, age)
    replies[#replies + 1] = text
  end
end
return replies
