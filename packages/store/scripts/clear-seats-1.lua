-- Takes all seats back at once: a new generation begins, the keys of the one before are named for the caller to drop.
redis.call('UNLINK', old)
redis.call('HSET', KEYS[1], 'stale:' .. whole(generation), whole(positions))
redis.call('HSET', KEYS[1], 'generation', whole(generation + 1), 'positions', '0', 'count', '0')
redis.call('HSETNX', KEYS[1], 'bornAt', table.concat(redis.call('TIME'), '.'))
return generation + 1
