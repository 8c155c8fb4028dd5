-- A Middle node puts back what it granted, after Redis lost it. ARGV: guard, node, fence, then as grant-1.
-- What stood in no log any more is told to the release log again: its readers know a token that they had.
-- Returns for each: 1 put back or known, 0 no place left for it, -1 the slot is not the caller's.
local replies, events = {}, {}
for at = 4, #ARGV, 6 do
  local id, quantity, slot = ARGV[at + 3], tonumber(ARGV[at + 4]), ARGV[at + 2]
  local member = ARGV[at] .. '|' .. id .. '|' .. ARGV[at + 4]
  local figures = sku(id)
  local reply = 1
  if redis.call('ZSCORE', TOKENS, member) then reply = 1
  elseif not isOwned[at] then reply = -1
  else
    local isOrder = redis.call('HEXISTS', ORDERS, 'o' .. ARGV[at]) == 1
    local isAlive = tonumber(ARGV[at + 5]) >= now
    if not isOrder and isAlive and figures then
      if figures.pool < quantity then reply = 0
      else
        figures.pool = figures.pool - quantity
        figures.outstanding = figures.outstanding + quantity
        figures.changed = true
        redis.call('ZADD', TOKENS, ARGV[at + 5], member)
      end
    end
    local record = table.concat({ ARGV[at], ARGV[at + 1], id, ARGV[at + 4], ARGV[at + 5] }, '|')
    if redis.call('LPOS', root .. 'slot:' .. slot, record) == false then
      redis.call('RPUSH', root .. 'slot:' .. slot, record)
      redis.call('SADD', root .. 'slots', slot)
      events[#events + 1] = record
    end
  end
  replies[#replies + 1] = reply
end
saveSkus()
if #events > 0 then redis.call('XADD', root .. 'granted', '*', 'n', ARGV[2], 'g', table.concat(events, '\n')) end
return replies
