-- A consumer leaves its group: its partitions are free at once.
-- KEYS[1] members  KEYS[2] owners   ARGV[1] consumer
redis.call('ZREM', KEYS[1], ARGV[1])
local owners = redis.call('HGETALL', KEYS[2])
for at = 1, #owners, 2 do
  if owners[at + 1] == ARGV[1] then redis.call('HDEL', KEYS[2], owners[at]) end
end
return 1
