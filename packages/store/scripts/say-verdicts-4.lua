-- Says verdicts about abuse: each replaces the one before about its subject, and each gets the next position of the log.
-- KEYS: head, verdicts in force by subject, their expiry, log. ARGV: most in force, most entries of the log, most that are swept,
-- then per verdict: subject, when it expires (0: it lifts), bytes. Returns the position of the first.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local over = redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', now, 'LIMIT', 0, ARGV[3])
for _, subject in ipairs(over) do
  redis.call('HDEL', KEYS[2], subject)
  redis.call('ZREM', KEYS[3], subject)
end

local more = 0
for at = 4, #ARGV, 3 do
  if ARGV[at + 1] ~= '0' and redis.call('HEXISTS', KEYS[2], ARGV[at]) == 0 then more = more + 1 end
end
if more > 0 and redis.call('HLEN', KEYS[2]) + more > tonumber(ARGV[1]) then
  return redis.error_reply('ABUSE_BOARD_FULL ' .. ARGV[1] .. ' verdicts are in force')
end

local count = (#ARGV - 3) / 3
redis.call('HSETNX', KEYS[1], 'bornAt', string.format('%.0f', time[1] * 1000000 + time[2]))
local from = redis.call('HINCRBY', KEYS[1], 'next', count) - count
local position = from
for at = 4, #ARGV, 3 do
  local subject, expiresAt, bytes = ARGV[at], ARGV[at + 1], ARGV[at + 2]
  position = position + 1
  redis.call('XADD', KEYS[4], 'MAXLEN', '=', ARGV[2], string.format('%.0f-0', position), 'v', bytes)
  if expiresAt == '0' then
    redis.call('HDEL', KEYS[2], subject)
    redis.call('ZREM', KEYS[3], subject)
  else
    redis.call('HSET', KEYS[2], subject, bytes)
    redis.call('ZADD', KEYS[3], expiresAt, subject)
  end
end
return from
