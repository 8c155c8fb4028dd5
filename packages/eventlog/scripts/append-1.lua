-- Appends records to a partition, all or none.
-- KEYS[1] stream   ARGV[1] most records of the stream, then key and value of each record
local count = (#ARGV - 1) / 2
if redis.call('XLEN', KEYS[1]) + count > tonumber(ARGV[1]) then
  return redis.error_reply('LOG_FULL the partition holds ' .. ARGV[1] .. ' records')
end
for at = 2, #ARGV, 2 do
  redis.call('XADD', KEYS[1], '*', 'k', ARGV[at], 'v', ARGV[at + 1])
end
return count
