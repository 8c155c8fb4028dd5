-- Publishes documents as one new revision. KEYS: revision, documents, changes, hashes, digest, epoch.
-- ARGV: epoch ('' asks for no fence), then per document: key, JSON ('' deletes), hash of key and JSON (u32).
-- Refuses an epoch below the highest that has published. The digest is the XOR of all documents' hashes, so that it is
-- that of what lies here, whoever wrote it. Without documents only the epoch is taken.
local highest = tonumber(redis.call('GET', KEYS[6]) or 0)
if ARGV[1] ~= '' then
  if tonumber(ARGV[1]) < highest then
    return redis.error_reply('STALE_EPOCH ' .. ARGV[1] .. ' is below ' .. string.format('%.0f', highest))
  end
  redis.call('SET', KEYS[6], ARGV[1])
end
if #ARGV == 1 then return tonumber(redis.call('GET', KEYS[1]) or 0) end

local revision = redis.call('INCR', KEYS[1])
local digest = tonumber(redis.call('GET', KEYS[5]) or '0', 16)
for at = 2, #ARGV, 3 do
  local key, json, hash = ARGV[at], ARGV[at + 1], ARGV[at + 2]
  digest = bit.bxor(digest, tonumber(redis.call('HGET', KEYS[4], key) or 0))
  if json == '' then
    redis.call('HDEL', KEYS[4], key)
  else
    digest = bit.bxor(digest, tonumber(hash))
    redis.call('HSET', KEYS[4], key, hash)
  end
  redis.call('HSET', KEYS[2], key, string.format('%.0f', revision) .. '|' .. json)
  redis.call('ZADD', KEYS[3], revision, key)
end
redis.call('SET', KEYS[5], bit.tohex(digest))
return revision
