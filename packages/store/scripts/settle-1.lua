-- confirm (paid) or cancel (cancelled), for a batch. ARGV: guard, state, order ids. Returns for each: outcome, record.
local replies, events = {}, {}
for index = 3, #ARGV do
  local outcome, record, event = settle(ARGV[index], ARGV[2])
  replies[#replies + 1] = outcome
  replies[#replies + 1] = record
  events[#events + 1] = event
end
saveSkus()
emit(events)
return replies
