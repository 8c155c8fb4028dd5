-- Appends records to a partition whose oldest records may fall, down to its bound. What falls before a group has handled it is
-- counted for that group.
-- KEYS[1] stream  KEYS[2] positions (hash: group -> "id|count")  KEYS[3] dropped (hash: group -> count)
-- ARGV[1] most records of the stream, then key and value of each record. Returns how many fell.
for at = 2, #ARGV, 2 do
  redis.call('XADD', KEYS[1], '*', 'k', ARGV[at], 'v', ARGV[at + 1])
end
local over = redis.call('XLEN', KEYS[1]) - tonumber(ARGV[1])
if over <= 0 then return 0 end
local fallen = redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', over)
redis.call('XTRIM', KEYS[1], 'MAXLEN', '=', ARGV[1])

local function parts(id)
  local ms, seq = string.match(id, '^(%d+)-(%d+)')
  return tonumber(ms), tonumber(seq)
end
local positions = redis.call('HGETALL', KEYS[2])
for at = 1, #positions, 2 do
  local ms, seq = parts(positions[at + 1])
  local missed = 0
  for index = #fallen, 1, -1 do
    local itsMs, itsSeq = parts(fallen[index][1])
    if itsMs < ms or (itsMs == ms and itsSeq <= seq) then break end
    missed = missed + 1
  end
  if missed > 0 then redis.call('HINCRBY', KEYS[3], positions[at], missed) end
end
return over
