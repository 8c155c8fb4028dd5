-- Closes the ledger to all verbs but `open` and `adopt` (guard `rebuilding`), and takes back what nodes have leased:
-- whoever still grants is refused from here on, and claims anew when the ledger is open again.
-- Returns: epoch, seq, and the guard of before ('' for none).
local holders = redis.call('ZRANGE', LEASES, 0, -1)
for _, holder in ipairs(holders) do giveBackLease(holder) end
saveSkus()
local meta = redis.call('HMGET', KEYS[1], 'epoch', 'seq')
redis.call('HSET', KEYS[1], 'guard', 'rebuilding')
return { meta[1] or '0', meta[2] or '0', guard or '' }
