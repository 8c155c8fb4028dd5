if guard ~= ARGV[1] then return redis.error_reply('STALE_GUARD ' .. tostring(guard)) end
