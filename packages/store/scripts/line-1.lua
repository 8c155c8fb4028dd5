-- The line of one SKU: takes buyers in, hears who is still there, and calls the next ones. One call per Middle node and tick.
--
--   join ──► line (by place) ──called while places are free──► called ──grant-1──► admitted
--              │ not heard for the heartbeat                    │ does not come in time
--              └──────────────► gone ◄──────────────────────────┘     gone: whoever comes back joins anew, at the end
--
-- `line` is uid → score: below 2^52 by the draw, above it in the order of joining. It is shortened at its front only, so the
-- place of a buyer = those who left the front (cursor) + rank + 1, and never changes. A place is found by uid alone.
-- ARGV: guard, node, fence, sku, mode (list, queue, draw), calls from (ms), heartbeat ms, call ms, called at most (-1: as many
-- as there are places; 0: nobody), everybody was there at (ms), at most looked at, number of joins, then for each join: uid,
-- drawn score, pseudonym; then uids that were heard.
-- Returns: run, cursor, joined, waiting, called, for each join its place (0: called, -1: taken into the draw), and the heard
-- ones that have no place any more.
local id, mode, callsAt = ARGV[4], ARGV[5], tonumber(ARGV[6])
local heartbeatMs, callMs, calledMax = tonumber(ARGV[7]), tonumber(ARGV[8]), tonumber(ARGV[9])
local thereAt, looksMax, joins = tonumber(ARGV[10]), tonumber(ARGV[11]), tonumber(ARGV[12])
local DRAWN_BELOW = 4503599627370496
local LINE, CALLED, SEEN = root .. 'line:' .. id, root .. 'called:' .. id, root .. 'seen:' .. id
local DRAWN, TURNS, SKU = root .. 'drawn:' .. id, root .. 'turns:' .. id, root .. 'sku:' .. id
local figures = sku(id)
local run = tonumber(redis.call('HGET', root .. 'lines', 'run') or 0)
if not figures then return { run, 0, 0, 0, 0, {}, {} } end
local turns = redis.call('HMGET', TURNS, 'cursor', 'joined')
local cursor, joined = tonumber(turns[1] or 0), tonumber(turns[2] or 0)
local before = cursor .. '|' .. joined

local function placeOf(uid, score)
  if score > DRAWN_BELOW then return score - DRAWN_BELOW end
  if now < callsAt then return -1 end
  return cursor + redis.call('ZRANK', LINE, uid) + 1
end

-- Who is still in the line, or called, was heard; false for who is neither.
local function hear(uid)
  local score = redis.call('ZSCORE', LINE, uid)
  if score then
    redis.call('HSET', SEEN, uid, whole(now))
    return placeOf(uid, tonumber(score))
  end
  if not redis.call('ZSCORE', CALLED, uid) then return false end
  redis.call('ZADD', CALLED, whole(now + callMs), uid)
  return 0
end

local lost = {}
for at = 13 + joins * 3, #ARGV do
  if not hear(ARGV[at]) then lost[#lost + 1] = ARGV[at] end
end
local places = {}
for at = 13, 12 + joins * 3, 3 do
  local uid = ARGV[at]
  local place = hear(uid)
  if not place then
    joined = joined + 1
    local score = string.format('%.0f', DRAWN_BELOW + joined)
    if mode == 'draw' and now < callsAt then
      score = ARGV[at + 1]
      redis.call('ZADD', DRAWN, score, ARGV[at + 2])
    end
    redis.call('ZADD', LINE, score, uid)
    redis.call('HSET', SEEN, uid, whole(now))
    place = placeOf(uid, tonumber(score))
  end
  places[#places + 1] = place
end

for _, uid in ipairs(redis.call('ZRANGEBYSCORE', CALLED, '-inf', whole(now), 'LIMIT', 0, looksMax)) do
  redis.call('ZREM', CALLED, uid)
end
local called = redis.call('ZCARD', CALLED)
local free = figures.free > 0 and figures.pool + figures.leased - called or 0
if calledMax >= 0 then free = math.min(free, calledMax - called) end
if now < callsAt then free = 0 end
local looked = 0
while free > 0 and looked < looksMax do
  local next = redis.call('ZRANGE', LINE, 0, math.min(free, looksMax - looked, 1000) - 1)
  if #next == 0 then break end
  local seen = redis.call('HMGET', SEEN, unpack(next))
  for index, uid in ipairs(next) do
    if math.max(tonumber(seen[index] or 0), thereAt) + heartbeatMs >= now then
      redis.call('ZADD', CALLED, whole(now + callMs), uid)
      free = free - 1
    end
  end
  redis.call('HDEL', SEEN, unpack(next))
  redis.call('ZREMRANGEBYRANK', LINE, 0, #next - 1)
  cursor = cursor + #next
  looked = looked + #next
end

if cursor .. '|' .. joined ~= before then redis.call('HSET', TURNS, 'cursor', whole(cursor), 'joined', whole(joined)) end
local waiting = redis.call('ZCARD', LINE)
called = redis.call('ZCARD', CALLED)
-- While the SKU has a line grant-1 gives only to those who were called.
local mark = redis.call('HGET', SKU, 'line')
if mode == 'list' and waiting + called == 0 then
  if mark then redis.call('HDEL', SKU, 'line') end
elseif mark ~= mode then redis.call('HSET', SKU, 'line', mode) end
return { run, cursor, joined, waiting, called, places, lost }
