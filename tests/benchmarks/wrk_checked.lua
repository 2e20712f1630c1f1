-- Asks what the lines of the file WRK_BODIES hold, in turns. An answer is good if its status is 200
-- and it is one of the lines of the file WRK_ANSWERS, byte by byte. Prints what came of it as one
-- line of JSON, the last one.
local bodies, good, turn, threads = {}, {}, 0, {}
wrong = ""  -- what was wrong first of all, for thread:get
num_wrong = 0

for line in io.lines(os.getenv("WRK_BODIES")) do bodies[#bodies + 1] = line end
for line in io.lines(os.getenv("WRK_ANSWERS")) do good[line] = true end
wrk.headers["Content-Type"] = "application/json"

function setup(thread) threads[#threads + 1] = thread end

function request()
  turn = turn % #bodies + 1
  return wrk.format("POST", nil, nil, bodies[turn])
end

function response(status, headers, body)
  if status ~= 200 or not good[body] then
    if num_wrong == 0 then wrong = "status " .. status .. ": " .. body:sub(1, 200) end
    num_wrong = num_wrong + 1
  end
end

function done(summary)
  local errors, said = summary.errors, ""
  local failed = errors.connect + errors.read + errors.write + errors.timeout
  if failed > 0 then
    said = string.format("connect %d, read %d, write %d, timeout %d; ",
      errors.connect, errors.read, errors.write, errors.timeout)
  end
  for _, thread in ipairs(threads) do
    failed, said = failed + thread:get("num_wrong"), said .. thread:get("wrong")
  end
  if failed > 0 then print(said) end
  print(string.format('{"requests":%d,"microseconds":%d,"failed":%d}',
    summary.requests, summary.duration, failed))
end
