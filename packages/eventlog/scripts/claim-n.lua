-- Renews a consumer's membership and gives it its share of the partitions: ceil(partitions / members).
-- What it is handling now it keeps until that is done; what belongs to a member that has gone is free.
-- KEYS[1] members (sorted set: id -> when its lease ends)   KEYS[2] owners (hash: partition -> id)
-- KEYS[3..] positions of each partition (hash: group -> "id|count")
-- ARGV[1] consumer  ARGV[2] group  ARGV[3] lease in ms  ARGV[4] partitions in hand, ",0,3,"
-- Returns partition and position of each that it owns, in turn.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
redis.call('ZADD', KEYS[1], now + ARGV[3], ARGV[1])
local partitions = #KEYS - 2
local share = math.ceil(partitions / redis.call('ZCARD', KEYS[1]))
local mine = {}
for partition = 0, partitions - 1 do
  if redis.call('HGET', KEYS[2], partition) == ARGV[1] then
    if #mine < share or string.find(ARGV[4], ',' .. partition .. ',', 1, true) then
      mine[#mine + 1] = partition
    else
      redis.call('HDEL', KEYS[2], partition)
    end
  end
end
for partition = 0, partitions - 1 do
  local owner = redis.call('HGET', KEYS[2], partition)
  if #mine < share and (not owner or not redis.call('ZSCORE', KEYS[1], owner)) then
    redis.call('HSET', KEYS[2], partition, ARGV[1])
    mine[#mine + 1] = partition
  end
end

-- What fell before a group was there is not its own.
local function fallenOf(positions)
  local stream = string.sub(positions, 1, -#':positions' - 1)
  if redis.call('EXISTS', stream) == 0 then return 0 end
  local info, added = redis.call('XINFO', 'STREAM', stream), 0
  for field = 1, #info, 2 do
    if info[field] == 'entries-added' then added = info[field + 1] end
  end
  return added - redis.call('XLEN', stream)
end

local reply = {}
for _, partition in ipairs(mine) do
  reply[#reply + 1] = partition
  -- A group that has handled nothing yet has a position too: what it has not read must not be dropped.
  if redis.call('HEXISTS', KEYS[partition + 3], ARGV[2]) == 0 then
    redis.call('HSET', KEYS[partition + 3], ARGV[2], '0-0|' .. fallenOf(KEYS[partition + 3]))
  end
  reply[#reply + 1] = redis.call('HGET', KEYS[partition + 3], ARGV[2])
end
return reply
