-- Writes grants before they are answered: leased-1 outstanding+1, the token, the log of the buyer's slot, and an entry for the
-- release log: one for all grants of a call, as they stand in the slots' logs, joined by new lines.
-- A repeat of the same token id changes nothing and is granted again.
-- ARGV: guard, node, fence, then for each: token id, uid, slot, sku, quantity, expiresAt.
-- Returns for each: 1 written, 0 no leased place for it, -1 the slot is not the caller's, -2 the SKU has a line and the buyer
-- was not called: nobody overtakes, whatever a node believes. A called buyer's call ends with the grant.
local replies, events = {}, {}
local held, isLined = {}, {}
for at = 4, #ARGV, 6 do
  local id, quantity = ARGV[at + 3], tonumber(ARGV[at + 4])
  local member = ARGV[at] .. '|' .. id .. '|' .. ARGV[at + 4]
  local figures = sku(id)
  held[id] = held[id] or tonumber(redis.call('HGET', LEASE, id) or 0)
  if isLined[id] == nil then isLined[id] = redis.call('HEXISTS', root .. 'sku:' .. id, 'line') == 1 end
  local reply = 0
  if redis.call('ZSCORE', TOKENS, member) or redis.call('HEXISTS', ORDERS, 'o' .. ARGV[at]) == 1 then reply = 1
  elseif not isOwned[at] then reply = -1
  elseif isLined[id] and not redis.call('ZSCORE', root .. 'called:' .. id, ARGV[at + 1]) then reply = -2
  elseif figures and held[id] >= quantity then
    held[id] = held[id] - quantity
    redis.call('HSET', LEASE, id, whole(held[id]))
    figures.leased = figures.leased - quantity
    figures.outstanding = figures.outstanding + quantity
    figures.changed = true
    redis.call('ZADD', TOKENS, ARGV[at + 5], member)
    local record = table.concat({ ARGV[at], ARGV[at + 1], id, ARGV[at + 4], ARGV[at + 5] }, '|')
    redis.call('RPUSH', root .. 'slot:' .. ARGV[at + 2], record)
    redis.call('SADD', root .. 'slots', ARGV[at + 2])
    events[#events + 1] = record
    if isLined[id] then redis.call('ZREM', root .. 'called:' .. id, ARGV[at + 1]) end
    reply = 1
  end
  replies[#replies + 1] = reply
end
saveSkus()
if #events > 0 then redis.call('XADD', root .. 'granted', '*', 'n', ARGV[2], 'g', table.concat(events, '\n')) end
return replies
