-- Takes seats back. ARGV: most seats, uid, ... Returns how many there were.
local removed = 0
for index = 2, #ARGV do
  local text = ARGV[index]
  if hasOld and redis.call('SREM', old, text) == 1 then adopt(text) end
  if redis.call('SREM', setOf(text), text) == 1 then
    count = count - 1
    removed = removed + 1
    log(-tonumber(text))
  end
end
save()
return removed
