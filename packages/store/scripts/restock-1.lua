-- add, remove or set the stock of a SKU, once per request id; never below held + sold, nor below places already given.
-- ARGV: guard, sku, request id, op, units. Returns: outcome (1 done, 2 seen before, 6 unknown, 9 refused), stock.
local figures = sku(ARGV[2])
if not figures then return { 6, 0 } end
local seen = redis.call('HGET', root .. 'restocks', ARGV[3])
if seen then return { 2, tonumber(seen) } end
local units = tonumber(ARGV[5])
local target = units
if ARGV[4] == 'add' then target = figures.stock + units end
if ARGV[4] == 'remove' then target = figures.stock - units end
local change = target - figures.stock
if figures.free + change < 0 then return { 9, figures.stock } end
local overbook = tonumber(redis.call('HGET', root .. 'sku:' .. ARGV[2], 'overbook') or 1)
local quota = math.floor(target * overbook + 0.000001)
if figures.pool + quota - figures.quota < 0 then return { 9, figures.stock } end
figures.pool = figures.pool + quota - figures.quota
figures.quota = quota
figures.stock = target
figures.free = figures.free + change
figures.changed = true
saveSkus()
redis.call('HSET', root .. 'restocks', ARGV[3], whole(target))
return { 1, target }
