-- What the scripts of reservations share. KEYS[1] is the activity's `bt:{A}:reserved-head`; all other keys carry the
-- same hash tag and are made from it (G: generation, one more after each clear):
--   reserved           the set of versions before this one; emptied into the form below
--   reserved:G:set:H   who has a seat, H = uid mod 65,521: about 300 uids at 20 million, which Redis keeps packed
--   reserved:G:log:N   the same uids as they came, 8,192 a page, 8 bytes each (little-endian double; negative: taken back)
-- ARGV[1]: most seats of the activity.
local SETS, PAGE = 65521, 8192
local old = string.sub(KEYS[1], 1, -6)
local fields = redis.call('HMGET', KEYS[1], 'generation', 'positions', 'count')
local generation, positions, count = tonumber(fields[1] or 1), tonumber(fields[2] or 0), tonumber(fields[3] or 0)
local max = tonumber(ARGV[1])
local hasOld = redis.call('EXISTS', old) == 1
local added, refused = 0, 0
local fresh = {}

-- Counts are below 10^14: Lua prints them exactly.
local whole = tostring

local function setOf(text)
  return old .. ':' .. whole(generation) .. ':set:' .. whole(math.fmod(tonumber(text), SETS))
end

local function log(value)
  fresh[#fresh + 1] = struct.pack('<d', value)
end

-- Takes a uid over from the old set; it is not new, but new to the log.
local function adopt(text)
  if redis.call('SADD', setOf(text), text) == 0 then return end
  count = count + 1
  log(tonumber(text))
end

local function put(text)
  if hasOld and redis.call('SREM', old, text) == 1 then return adopt(text) end
  local set = setOf(text)
  if count >= max or positions + #fresh >= 2 * max then
    if redis.call('SISMEMBER', set, text) == 0 then refused = refused + 1 end
  elseif redis.call('SADD', set, text) == 1 then
    count = count + 1
    added = added + 1
    log(tonumber(text))
  end
end

-- The log and the head, once per call.
local function save()
  local at = 1
  while at <= #fresh do
    local last = math.min(#fresh, at + PAGE - positions % PAGE - 1)
    local page = old .. ':' .. whole(generation) .. ':log:' .. whole(math.floor(positions / PAGE))
    redis.call('APPEND', page, table.concat(fresh, '', at, last))
    positions = positions + last - at + 1
    at = last + 1
  end
  if #fresh == 0 then return end
  redis.call('HSET', KEYS[1], 'generation', whole(generation), 'positions', whole(positions), 'count', whole(count))
  redis.call('HSETNX', KEYS[1], 'bornAt', table.concat(redis.call('TIME'), '.'))
end
