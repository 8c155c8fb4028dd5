-- A Middle node takes slots that a slot table gives it: from here on only its grants are written for them.
-- `owners` is slot → `table epoch|fence|node`. A slot that a newer table has given to another node is refused.
-- ARGV: guard, node, fence, fence of the same process before this one (0: none), table epoch, then the slots.
-- Returns for each: 0 refused, 1 taken, 2 kept (this very process has owned it all the while).
local OWNERS = root .. 'owners'
local epoch = tonumber(ARGV[5])
local slots = { unpack(ARGV, 6) }
if #slots == 0 then return {} end
local owners = redis.call('HMGET', OWNERS, unpack(slots))
local replies, fields = {}, {}
for index, slot in ipairs(slots) do
  local its, fence, node = string.match(owners[index] or '', '^(%d+)|(%d+)|(.*)$')
  its = tonumber(its or -1)
  local isOurs = node == ARGV[2]
  local reply = 1
  if isOurs and (fence == ARGV[3] or fence == ARGV[4]) then reply = 2
  elseif not isOurs and its >= epoch then reply = 0 end
  if reply > 0 then
    fields[#fields + 1] = slot
    fields[#fields + 1] = whole(math.max(its, epoch)) .. '|' .. ARGV[3] .. '|' .. ARGV[2]
  end
  replies[index] = reply
end
if #fields > 0 then redis.call('HSET', OWNERS, unpack(fields)) end
return replies
