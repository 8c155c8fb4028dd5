-- What every script of the ledger shares. KEYS[1] is the activity's meta hash `bt:{A}:meta`; all other keys carry the
-- same hash tag and are made from it. ARGV[1] is the caller's guard: `epoch:run id of the server`. A ledger that is not
-- known, is being rebuilt, or was verified on another run of the server takes no call.
local root = string.sub(KEYS[1], 1, -5)
local ORDERS, BUYERS, HOLDS = root .. 'orders', root .. 'buyers', root .. 'holds'
local TOKENS, LEASES, OUTBOX = root .. 'tokens', root .. 'leases', root .. 'outbox'
local guard = redis.call('HGET', KEYS[1], 'guard')
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local FIGURES = { 'stock', 'free', 'held', 'sold', 'quota', 'pool', 'leased', 'outstanding', 'redeemed',
  'reservedTotal', 'deadTotal', 'limit', 'price', 'holdMs' }
-- The first ones change with every sale; the rest are settings.
local COUNTS = 11
local skus = {}

-- The figures of a SKU, read once per call; false when it has no ledger.
local function sku(id)
  local known = skus[id]
  if known ~= nil then return known end
  local values = redis.call('HMGET', root .. 'sku:' .. id, unpack(FIGURES))
  if not values[1] then
    skus[id] = false
    return false
  end
  local figures = { changed = false }
  for index, name in ipairs(FIGURES) do figures[name] = tonumber(values[index]) end
  skus[id] = figures
  return figures
end

-- Counts and times in ms are below 10^14: Lua prints them exactly.
local whole = tostring

local function saveSkus()
  for id, figures in pairs(skus) do
    if figures and figures.changed then
      local fields = {}
      for index = 1, COUNTS do
        fields[index * 2 - 1] = FIGURES[index]
        fields[index * 2] = whole(figures[FIGURES[index]])
      end
      redis.call('HSET', root .. 'sku:' .. id, unpack(fields))
    end
  end
end

-- An order's record: state|sku|uid|quantity|price|version|seq|createdAt|payBy|updatedAt
local function parse(record)
  local parts = {}
  for part in string.gmatch(record, '[^|]+') do parts[#parts + 1] = part end
  return parts
end

-- Appends events to the outbox: one entry for all of a call, `orderId|record` joined by new lines.
local function emit(events)
  if #events > 0 then redis.call('XADD', OUTBOX, '*', 'e', table.concat(events, '\n')) end
end
