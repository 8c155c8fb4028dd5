-- Whose is a slot? Grants are written only for slots that the caller has claimed (claim-slots-1): a node that was stopped
-- or cut off can write nothing for slots that others have taken since, whatever it believes.
local owners = {}
local function isOwned(slot)
  if owners[slot] == nil then
    local owner = redis.call('HGET', root .. 'owners', slot)
    owners[slot] = owner ~= false and string.match(owner, '^%d+|%d+|(.*)$') == ARGV[2]
  end
  return owners[slot]
end
