-- Asks what WRK_BODY holds and prints what came of it as one line of JSON, the last one.
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
wrk.body = os.getenv("WRK_BODY")

function done(summary)
  local errors = summary.errors
  local failed = errors.connect + errors.read + errors.write + errors.status + errors.timeout
  print(string.format('{"requests":%d,"microseconds":%d,"bytes":%d,"failed":%d}',
    summary.requests, summary.duration, summary.bytes, failed))
end
