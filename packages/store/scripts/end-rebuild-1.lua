-- Opens a rebuilt ledger. Guarded by `rebuilding`: one that was emptied meanwhile, or opened by another, stays as it is.
-- ARGV: guard, new guard, epoch, lowest number that the next order's must exceed.
local seq = tonumber(redis.call('HGET', KEYS[1], 'seq') or 0)
redis.call('HSET', KEYS[1], 'guard', ARGV[2], 'epoch', ARGV[3], 'seq', whole(math.max(seq, tonumber(ARGV[4]))))
return 1
