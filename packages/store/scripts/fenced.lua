if redis.call('HGET', KEYS[1], 'fence:' .. ARGV[2]) ~= ARGV[3] then
  return redis.error_reply('STALE_FENCE ' .. ARGV[2] .. ' ' .. ARGV[3])
end
local holder = ARGV[2] .. '|' .. ARGV[3]
local LEASE = root .. 'lease:' .. holder
