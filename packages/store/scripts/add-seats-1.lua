-- Reserves. ARGV: most seats, uid, ... Returns how many are new, and how many were refused because the activity is full.
for index = 2, #ARGV do put(ARGV[index]) end
save()
return { added, refused }
