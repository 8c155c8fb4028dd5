-- Which grants are for slots of the caller? Only those are written: a node that was stopped or cut off can write nothing
-- for slots that others have claimed since (claim-slots-1), whatever it believes. `isOwned` is by the grant's place in ARGV.
local isOwned = {}
if #ARGV > 3 then
  local slots = {}
  for at = 4, #ARGV, 6 do slots[#slots + 1] = ARGV[at + 2] end
  local owners = redis.call('HMGET', root .. 'owners', unpack(slots))
  for index = 1, #slots do
    local owner = owners[index]
    isOwned[index * 6 - 2] = owner and string.match(owner, '^%d+|%d+|(.*)$') == ARGV[2]
  end
end
