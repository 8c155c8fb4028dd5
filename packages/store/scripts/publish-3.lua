-- Publishes documents as one new revision. KEYS: revision, documents, changes. ARGV: key, JSON ('' deletes), ...
local revision = redis.call('INCR', KEYS[1])
for at = 1, #ARGV, 2 do
  redis.call('HSET', KEYS[2], ARGV[at], string.format('%.0f', revision) .. '|' .. ARGV[at + 1])
  redis.call('ZADD', KEYS[3], revision, ARGV[at])
end
return revision
