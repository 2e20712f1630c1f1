-- Asks what the lines of the file WRK_BODIES hold, in turns. An answer is good if its status is 200
-- and it is one of the lines of the file WRK_ANSWERS, byte by byte. Prints what came of it as one
-- line of JSON, the last one.
local bodies, good, turn, threads = {}, {}, 0, {}
wrong = 0  -- for thread:get

for line in io.lines(os.getenv("WRK_BODIES")) do bodies[#bodies + 1] = line end
for line in io.lines(os.getenv("WRK_ANSWERS")) do good[line] = true end
wrk.headers["Content-Type"] = "application/json"

function setup(thread) threads[#threads + 1] = thread end

function request()
  turn = turn % #bodies + 1
  return wrk.format("POST", nil, nil, bodies[turn])
end

function response(status, headers, body)
  if status ~= 200 or not good[body] then wrong = wrong + 1 end
end

function done(summary)
  local errors = summary.errors
  local failed = errors.connect + errors.read + errors.write + errors.timeout
  for _, thread in ipairs(threads) do failed = failed + thread:get("wrong") end
  print(string.format('{"requests":%d,"microseconds":%d,"failed":%d}',
    summary.requests, summary.duration, failed))
end
