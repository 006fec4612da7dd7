-- What the edge asks of a request before it is transcoded, and what the contract says of the answer.
-- The route's metadata carries the contract: `query` lists the parameters that may be sent, a comma on both sides of
-- each; `success_status` is the status of success; `native` marks a route that takes gRPC as it is.
-- PUBLIC, set above, tells the listener that browsers use from the other one.
-- The text of a refusal is not ours to write here: the reply mappers put a fixed body in place of each.

local function is_grpc(headers)
  return string.find(headers:get("content-type") or "", "application/grpc", 1, true) ~= nil
end

-- Reply mappers choose the text of a refusal by this note.
local function note(handle, what)
  handle:streamInfo():dynamicMetadata():set("envoy.filters.http.lua", "at_fault", what)
end

local function refuse(handle, status, what)
  note(handle, what)
  handle:respond({[":status"] = status}, "")
end

local function query_is_allowed(path, allowed)
  local query = string.match(path, "%?(.*)$")
  if query == nil then
    return true
  end
  for pair in string.gmatch(query, "[^&]+") do
    -- A name is compared as it was sent: a percent-encoded one is not in the list, whatever it spells.
    local name = string.match(pair, "^([^=]*)")
    if string.find(name, "^[%w_.]+$") == nil or string.find(allowed, "," .. name .. ",", 1, true) == nil then
      return false
    end
  end
  return true
end

function envoy_on_request(handle)
  local headers = handle:headers()
  local route = handle:metadata()
  if route:get("native") then
    return
  end
  local allowed = route:get("query")
  if is_grpc(headers) and (PUBLIC or allowed ~= nil) then
    return refuse(handle, "415", "content-type")
  end
  if allowed == nil then
    return
  end
  if not query_is_allowed(headers:get(":path"), allowed) then
    return refuse(handle, "400", "query")
  end
  local media_type = string.lower(string.match(headers:get("content-type") or "", "^%s*([^;%s]*)"))
  if headers:get(":method") ~= "GET" and media_type ~= "application/json" then
    return refuse(handle, "415", "content-type")
  end
  if headers:get(":method") ~= "GET" then
    -- From here on only the body can be.
    note(handle, "body")
  end
end

-- Envoy answers a gRPC request in gRPC, with our JSON text as the message.
local function mend_grpc_reply(handle, headers, text)
  if not PUBLIC then
    headers:replace("grpc-message", string.match(text, '"message":"([^"]*)"'))
    return
  end
  headers:replace(":status", "415")
  headers:replace("content-type", "application/json")
  headers:remove("grpc-status")
  headers:remove("grpc-message")
  handle:body(true):setBytes(text)
end

function envoy_on_response(handle)
  local headers = handle:headers()
  local text = headers:get("grpc-message")
  if is_grpc(headers) and text ~= nil and string.sub(text, 1, 8) == '{"code":' then
    return mend_grpc_reply(handle, headers, text)
  end
  local status = headers:get(":status")
  local success = handle:metadata():get("success_status")
  if success ~= nil and status == "200" then
    headers:replace(":status", success)
  elseif (status == "429" or status == "503") and headers:get("retry-after") == nil then
    headers:add("retry-after", "2")
  end
end
