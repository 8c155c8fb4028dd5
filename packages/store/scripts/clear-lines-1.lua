-- Ends the lines of an activity: every place is void, and a new run begins. ARGV: the SKUs. Returns the number of the run.
for _, id in ipairs(ARGV) do
  for _, kind in ipairs({ 'line:', 'called:', 'seen:', 'drawn:', 'turns:' }) do redis.call('DEL', root .. kind .. id) end
  redis.call('HDEL', root .. 'sku:' .. id, 'line')
end
return redis.call('HINCRBY', root .. 'lines', 'run', 1)
