-- Moves uids of the old set over, all or none of a call. ARGV: most seats, most moves. Returns how many are left there.
for _, text in ipairs(redis.call('SPOP', old, ARGV[2])) do adopt(text) end
save()
return redis.call('SCARD', old)
