-- SPDX-License-Identifier: GPL-2.0-or-later
-- Dissector of the binary protocol of Microsoft Message Queuing, [MS-MQQB] and [MS-MQMQ] 2.2.18 to 2.2.20,
-- for Wireshark 4.0 and newer. What a structure is made of stands in msmq_tables.lua, which is generated;
-- here is how bytes become packets, how values are shown, and what belongs together.

-- Where it is a plugin and named for a run, too, once is enough.
if _G.msmq_is_loaded then return end
_G.msmq_is_loaded = true

local struct_unpack = Struct.unpack
local floor, min, max = math.floor, math.min, math.max
local band, bor, rshift
if bit32 then
  band, bor, rshift = bit32.band, bit32.bor, bit32.rshift
else
  -- Lua 5.3 and newer have operators, which Lua 5.2 cannot read.
  band, bor, rshift = load([[
    return function(a, b) return a & b end, function(a, b) return a | b end, function(a, n) return a >> n end
  ]])()
end

local MOST_ITEMS = 1000       -- elements of a list that are kept and shown
local MOST_BROKEN = 100       -- rules shown as broken in one packet
local MOST_CONVERSATIONS = 4096
local MOST_NOTES = 1000000    -- packets with links to others
local RING = 1024             -- packets of a direction that can still be acknowledged
local MOST_TEXTS = 256        -- texts of one kind that are remembered, and their longest
local LONGEST_TEXT = 512
local SMALLEST = 20           -- BaseHeader and the smallest header that can follow it

-- Reading ------------------------------------------------------------------------------------------------

-- One packet is read at a time: data is its bytes as a string, fin their number, limit what PacketSize allows,
-- stop the lesser of both.
local r = {band = band, bor = bor, rshift = rshift, unpack = struct_unpack}

local function start_reading(data)
  local size = #data
  r.data, r.fin, r.limit, r.stop, r.bounded, r.failure = data, size, size, size, false, nil
end

function r.bind(limit)
  r.limit, r.stop, r.bounded = limit, min(limit, r.fin), true
end

function r.unbind()
  r.limit, r.stop, r.bounded = r.fin, r.fin, false
end

-- The table of a structure that was not read to its end; nil when nothing of it was reached.
function r.partial(v)
  for name in pairs(v) do
    local first = name:byte(1)
    if name == "_part" or (first ~= 95 and first ~= 64 and name ~= "remote_read") then return v, nil end
  end
  return nil, nil
end

function r.fail(v, name, code, offset)
  r.failure = {code = code, path = name, offset = offset}
  return r.partial(v)
end

function r.within(v, name)
  r.failure.path = name .. "." .. r.failure.path
  return r.partial(v)
end

local function shortage()
  return r.bounded and r.limit <= r.fin and "past-packet-size" or "missing-bytes"
end

-- Fields of fixed size, as many as there are bytes for.
function r.short(v, p, run)
  for _, field in ipairs(run) do
    local name, size, letter = field[1], field[2], field[3]
    if p + size > r.stop then return r.fail(v, name, shortage(), p) end
    if letter == "" then
      v[name], v["@" .. name] = size, p
    else
      v[name] = struct_unpack("<" .. letter, r.data, p + 1)
    end
    p = p + size
  end
  return r.partial(v)
end

function r.lacking(v, name, p, n)
  if n < 0 then return r.fail(v, name, "negative-length", p) end
  if r.stop > p then
    v._cut, v._part, v["@" .. name] = name, r.stop - p, p
  end
  return r.fail(v, name, shortage(), p)
end

function r.terminated(p)
  local at = p
  while true do
    local found = r.data:find("\0\0", at + 1, true)
    if not found or found + 1 > r.stop then return nil end
    if (found - 1 - p) % 2 == 0 then return found + 1 - p end
    at = found
  end
end

function r.unterminated(v, name, p)
  local cut = r.fin < r.limit or not r.bounded
  return r.fail(v, name, cut and "missing-bytes" or "past-packet-size", p)
end

-- A number that is not at p but ahead: -1 past the limit, nil where the bytes end before it.
function r.ahead(at, size)
  if at + size > r.limit then return -1 end
  if at + size > r.fin then return nil end
  return (struct_unpack(size == 1 and "<B" or size == 2 and "<H" or "<I4", r.data, at + 1))
end

function r.big(p, size)
  local value = 0
  for at = p + 1, p + size do value = value * 256 + r.data:byte(at) end
  return value
end

local function end_list(v, name, list, path)
  if list.n > 0 then v._cut, v._part = name, list end
  r.failure.path = path
end

-- Up to count elements; each takes bytes, so the packet bounds their number whatever count says.
function r.items(v, name, p, count, decode, size, known)
  local list = {n = 0}
  while list.n < count do
    local place = name .. "[" .. string.format("%d", list.n) .. "]"
    if known and p + 2 <= r.limit then
      if p + 2 > r.fin then
        r.failure = {code = "missing-bytes", offset = p}
        return end_list(v, name, list, place)
      end
      if not known[struct_unpack("<H", r.data, p + 1)] then break end
    end
    local item, after
    if decode then
      item, after = decode(p, v)
    elseif p + size > r.stop then
      r.failure = {code = shortage(), offset = p}
    else
      item, after = struct_unpack("<I" .. size, r.data, p + 1), p + size
    end
    if item then
      list.n = list.n + 1
      if list.n <= MOST_ITEMS then list[list.n] = item end
    end
    if not after then
      local inner = r.failure.path
      return end_list(v, name, list, inner and place .. "." .. inner or place)
    end
    p = after
  end
  v[name] = list
  return p
end

local here = debug.getinfo(1, "S").source:match("^@(.*[/\\])") or ""
local T = assert(loadfile(here .. "msmq_tables.lua"))(r)
local C, D, J, roots = T.constants, T.decode, T.judge, T.roots
local queue_type, sender_type, address_type = C.queue_type, C.sender_id_type, C.address_type

-- Text ---------------------------------------------------------------------------------------------------

-- The same function of a string, which need not compute again what it did: queues, hosts and senders come
-- again in every packet.
local function remembering(compute)
  local known, count = {}, 0
  return function(bytes)
    -- Lua 5.2 hashes every second byte of strings like these. Of UTF-16 that would be zeros, were it not shifted.
    local key = "=" .. bytes
    local result = known[key]
    if not result then
      result = {compute(bytes)}
      if #bytes > LONGEST_TEXT then return result[1], result[2] end
      if count >= MOST_TEXTS then known, count = {}, 0 end
      known[key], count = result, count + 1
    end
    return result[1], result[2]
  end
end

local REPLACEMENT, VISIBLE_NUL = "\239\191\189", "\226\144\128"

local function utf8(c)
  if c < 0x80 then return c == 0 and VISIBLE_NUL or string.char(c) end
  if c < 0x800 then return string.char(0xC0 + floor(c / 64), 0x80 + c % 64) end
  if c < 0x10000 then
    return string.char(0xE0 + floor(c / 4096), 0x80 + floor(c / 64) % 64, 0x80 + c % 64)
  end
  return string.char(0xF0 + floor(c / 262144), 0x80 + floor(c / 4096) % 64, 0x80 + floor(c / 64) % 64, 0x80 + c % 64)
end

-- UTF-16 as UTF-8, and whether all of it was characters. A NUL inside is shown as its symbol.
local function decoded_text(units)
  local plain, count = units:gsub("([\1-\127])%z", "%1")
  if count * 2 == #units then return plain, true end
  local out, clean, at, size = {}, true, 1, #units
  while at <= size do
    local low, high = units:byte(at, at + 1)
    local character
    if high then
      local unit = low + high * 256
      if unit < 0xD800 or unit > 0xDFFF then
        character = utf8(unit)
      elseif unit < 0xDC00 and at + 2 <= size then
        local low2, high2 = units:byte(at + 2, at + 3)
        if high2 and high2 >= 0xDC and high2 <= 0xDF then
          character = utf8(0x10000 + (unit - 0xD800) * 1024 + low2 + high2 * 256 - 0xDC00)
          at = at + 2
        elseif not high2 then
          at = at + 1
        end
      end
    end
    clean = clean and character ~= nil
    out[#out + 1] = character or REPLACEMENT
    at = at + 2
  end
  return table.concat(out), clean
end

-- A text field: its text without terminator, and whether that says all that its bytes say.
local wchar_text = remembering(function(bytes)
  local terminated = #bytes % 2 == 0 and bytes:sub(-2) == "\0\0"
  local text, clean = decoded_text(terminated and bytes:sub(1, -3) or bytes)
  return text, (terminated and clean) or bytes == ""
end)

-- Text in a field of fixed size ends at its first NUL, zeros fill the rest.
local function fixed_text(bytes)
  local used = 0
  while used + 2 <= #bytes and bytes:sub(used + 1, used + 2) ~= "\0\0" do used = used + 2 end
  if used + 2 > #bytes then used = #bytes end
  local text, clean = decoded_text(bytes:sub(1, used))
  return text, clean and not bytes:find("[^%z]", used + 1)
end

-- Text for people, with what is not seen, or controls what shows it, by its number. Fields have it as it is.
local SHORT = {[9] = "\\t", [10] = "\\n", [13] = "\\r"}

local function numbered(character)
  local first = character:byte()
  local code = first < 0x80 and first or first % (first < 0xE0 and 0x20 or first < 0xF0 and 0x10 or 8)
  for at = 2, #character do code = code * 64 + character:byte(at) % 64 end
  for _, range in ipairs(C.unseen) do
    if code >= range[1] and code <= range[2] then
      if SHORT[code] then return SHORT[code] end
      return string.format(code < 0x100 and "\\x%02x" or code < 0x10000 and "\\u%04x" or "\\U%08x", code)
    end
  end
end

local function visible(text)
  if not text:find("[^ -~]") then return text end
  return (text:gsub("[\1-\127\194-\244][\128-\191]*", numbered))
end

-- Text for a line among others: Wireshark cuts what is long wherever its buffer ends.
local function shortened(text)
  if #text <= 120 then return visible(text) end
  local stop = 120
  while stop > 0 and text:byte(stop + 1) >= 0x80 and text:byte(stop + 1) < 0xC0 do stop = stop - 1 end
  return visible(text:sub(1, stop)) .. "\226\128\166"
end

local guid_text = remembering(function(s)
  local b = {s:byte(1, 16)}
  return string.format(
    "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[4], b[3], b[2], b[1], b[6], b[5],
    b[8], b[7], b[9], b[10], b[11], b[12], b[13], b[14], b[15], b[16])
end)

local sid_text = remembering(function(s)
  if #s < 8 or #s ~= 8 + 4 * s:byte(2) then return nil end
  local authority = 0
  for at = 3, 8 do authority = authority * 256 + s:byte(at) end
  local parts = {"S", tostring(s:byte(1)), string.format("%.0f", authority)}
  for at = 9, #s, 4 do parts[#parts + 1] = string.format("%.0f", (struct_unpack("<I4", s, at))) end
  return table.concat(parts, "-")
end)

local function ipv6_text(s)
  local words, best, length, run = {}, nil, 1, 0
  for i = 1, 8 do
    words[i] = string.format("%x", s:byte(2 * i - 1) * 256 + s:byte(2 * i))
    run = words[i] == "0" and run + 1 or 0
    if run > length then best, length = i - run + 1, run end
  end
  if not best then return table.concat(words, ":") end
  return table.concat(words, ":", 1, best - 1) .. "::" .. table.concat(words, ":", best + length, 8)
end

-- An address as text by its type, nil when it is none; and whether the text says all.
local function address_text(kind, s)
  if kind == address_type.IP_ADDRESS_TYPE and #s >= 4 then
    return string.format("%d.%d.%d.%d", s:byte(1, 4)), not s:find("[^%z]", 5)
  end
  if kind == address_type.IPV6_ADDRESS_TYPE and #s == 16 then return ipv6_text(s), true end
  return nil, false
end

-- Bytes of a field; of a cut one, those that are there.
local function bytes_of(v, name)
  local at, size = v["@" .. name], v[name]
  if not size and v._cut == name then size = v._part end
  return at and size and r.data:sub(at + 1, at + size) or nil
end

-- Names of queues ----------------------------------------------------------------------------------------

local flag_bits = {}
for _, entry in ipairs(T.layouts["msmq.user_header user_header"]) do
  for _, b in ipairs(entry.bits or {}) do flag_bits[b.name] = b end
end

local function user_bit(header, name)
  local b = flag_bits[name]
  return rshift(band(header.flags, b.mask), b.shift)
end

local function private_name(host, number)
  return "PRIVATE=" .. guid_text(host) .. "\\" .. string.format("%08x", number)
end

-- The queue manager that a queue number belongs to, by the type of the queue; nil when it cannot be known.
local function host_of(header, selector)
  if selector == queue_type.PRIVATE_ON_ADMIN_QUEUE_HOST then
    local admin = header.admin_queue
    if admin and admin._stem == "private_queue_format_name" then return admin.source_queue_manager end
    selector = user_bit(header, "aq")
  end
  if selector == queue_type.PRIVATE_ON_SOURCE_HOST then return header.source_queue_manager end
  local address = header.queue_manager_address
  if selector == queue_type.PRIVATE_ON_DESTINATION_HOST and type(address) == "string"
    and user_bit(header, "dq") ~= queue_type.DIRECT then return address end
  return nil
end

-- The format name of a structure that names a queue; selector and header only where it is a number.
local function queue_name(value, selector, header)
  if not value then return nil end
  local kind = value._stem
  if kind == "direct_queue_format_name" or kind == "mqf_direct_queue_format_name" then
    local bytes = bytes_of(value, "direct_format_name")
    return bytes and "DIRECT=" .. wchar_text(bytes)
  elseif kind == "public_queue_format_name" and value.public_queue_identifier then
    return "PUBLIC=" .. guid_text(value.public_queue_identifier)
  elseif kind == "mqf_distribution_queue_format_name" and value.distribution_list_identifier then
    return "DL=" .. guid_text(value.distribution_list_identifier)
  elseif kind == "private_queue_format_name" and value.private_queue_identifier then
    return private_name(value.source_queue_manager, value.private_queue_identifier)
  elseif kind == "private_queue_format_name_id" and value.private_queue_identifier then
    local host = host_of(header, selector)
    return host and private_name(host, value.private_queue_identifier)
  end
  return nil
end

local function format_name(header, name, bit)
  local selector = user_bit(header, bit)
  if name == "response_queue" and selector == queue_type.SAME_AS_ADMIN_QUEUE then
    return format_name(header, "admin_queue", "aq")
  end
  return queue_name(header[name], selector, header)
end

-- Protocols and fields -----------------------------------------------------------------------------------

local msmq = Proto("msmq", "Microsoft Message Queuing")
local protocols, handles, fields_of = {}, {}, {[msmq] = {}}
for stem, root in pairs(roots) do
  local protocol = Proto("msmq." .. stem, "MSMQ " .. root.name)
  protocols[stem], fields_of[protocol], root.stem = protocol, {}, stem
end

local made = {}
local function own_field(abbr, new)
  made[abbr] = new
  local own = fields_of[protocols[abbr:match("^msmq%.([%w_]+)%.")] or msmq]
  own[#own + 1] = new
  return new
end

local function field(abbr, label, kind, names, display, mask, doc)
  return made[abbr] or own_field(abbr, ProtoField.new(label, abbr, kind, names, display, mask, doc))
end

local function frame_field(abbr, label, kind)
  return own_field(abbr, ProtoField.framenum(abbr, label, base.NONE, kind))
end

local UNSIGNED = {[1] = ftypes.UINT8, [2] = ftypes.UINT16, [4] = ftypes.UINT32, [6] = ftypes.UINT64}
local KINDS = {guid = ftypes.GUID, bytes = ftypes.BYTES, text = ftypes.STRING, fixed = ftypes.STRING}

local function number_display(names)
  for value in pairs(names or {}) do
    if value > 255 then return base.HEX_DEC end
  end
  return base.DEC
end

local function make_fields(entry)
  local label, doc = entry.label, entry.doc
  if entry.kind == "uint" then
    local names = T.enumerations[entry.names]
    local display = entry.bits and base.HEX or number_display(names)
    if entry.unit then label = label .. " (" .. entry.unit:gsub("unix%-time", "seconds since 1970") .. ")" end
    entry.field = field(entry.abbr, label, UNSIGNED[entry.size], names, display, nil, doc)
    entry.plain = not entry.big and not entry.bits and entry.unit ~= "unix-time"
    for _, b in ipairs(entry.bits or {}) do
      if b.width == 1 then
        b.field = field(b.abbr, b.name:upper(), ftypes.BOOLEAN, nil, entry.size * 8, b.mask)
      else
        names = T.enumerations[b.names]
        b.field = field(b.abbr, b.name:upper(), UNSIGNED[entry.size], names, number_display(names), b.mask)
      end
    end
  elseif entry.as_text then
    entry.field = field(entry.abbr, label, ftypes.STRING, nil, nil, nil, doc)
  elseif entry.kind then
    entry.field = field(entry.abbr, label, KINDS[entry.kind], nil, nil, nil, doc)
  elseif not entry.header then
    entry.field = field(entry.abbr, label, ftypes.NONE, nil, nil, nil, doc)
  end
  if entry.kind == "text" or entry.kind == "fixed" or (entry.as_text and entry.kind == "bytes") then
    entry.raw = field(entry.abbr .. "_raw", label .. " (bytes)", ftypes.BYTES)
  end
  if entry.queue then
    entry.type_field = field(entry.abbr .. ".type", "Type", ftypes.UINT8, T.enumerations.QueueType, base.DEC)
    entry.name_field = field(entry.abbr .. ".format_name", "Format Name", ftypes.STRING)
    entry.same_field = field(entry.abbr .. ".same_as", "Same As", ftypes.STRING)
  end
  entry.fields = {entry.field, entry.raw}
  for _, b in ipairs(entry.bits or {}) do entry.fields[#entry.fields + 1] = b.field end
end

-- Of a layout, the entries with structures in which there is something to judge.
local function judged_entries(layout)
  if not layout.judged then
    layout.judged = {}
    for _, entry in ipairs(layout) do
      entry.layouts = {}
      local judged = false
      for stem, name in pairs(entry.arms or {}) do
        entry.layouts[stem] = T.layouts[name]
        judged = #judged_entries(T.layouts[name]) > 0 or J[stem] ~= nil or judged
      end
      if judged then layout.judged[#layout.judged + 1] = entry end
    end
  end
  return layout.judged
end

for _, layout in pairs(T.layouts) do
  judged_entries(layout)
  for _, entry in ipairs(layout) do make_fields(entry) end
end
local f = {
  type = field("msmq.type", "Type", ftypes.STRING),
  error_code = field("msmq.error.code", "Error", ftypes.STRING),
  error_path = field("msmq.error.path", "Error At", ftypes.STRING),
  error_offset = field("msmq.error.offset", "Error Offset", ftypes.UINT32, nil, base.DEC),
  skipped = field("msmq.skipped", "Bytes in no packet", ftypes.BYTES),
  srmp_queue = field("msmq.srmp.queue", "Queue", ftypes.STRING),
  session_key_algorithm = field("msmq.security_header.security_data.session_key_algorithm", "Session Key Algorithm",
    ftypes.UINT32, T.enumerations.EncryptionAlgorithm, base.HEX_DEC),
  answer_of = frame_field("msmq.request_in", "Answers the request in", frametype.REQUEST),
  answered_in = frame_field("msmq.response_in", "Answered in", frametype.RESPONSE),
  acknowledges = frame_field("msmq.acknowledges", "Acknowledges", frametype.ACK),
  acked_in = frame_field("msmq.acknowledged_in", "Acknowledged in", frametype.ACK),
}

for protocol, own in pairs(fields_of) do protocol.fields = own end

local experts = {
  cut = ProtoExpert.new("msmq.expert.cut", "The bytes end inside the packet", expert.group.UNDECODED,
    expert.severity.NOTE),
  malformed = ProtoExpert.new("msmq.expert.malformed", "The packet contradicts itself", expert.group.MALFORMED,
    expert.severity.ERROR),
  skipped = ProtoExpert.new("msmq.expert.skipped", "No packet starts here", expert.group.UNDECODED,
    expert.severity.WARN),
}
local registered = {experts.cut, experts.malformed, experts.skipped}
for _, rule in ipairs(T.rules) do
  rule.expert = ProtoExpert.new(rule.abbr, rule.text, expert.group.PROTOCOL, expert.severity.WARN)
  registered[#registered + 1] = rule.expert
end
msmq.experts = registered

msmq.prefs.tcp_ports = Pref.range("TCP ports", "1801", "Ports of the binary protocol", 65535)
msmq.prefs.judge = Pref.bool("Judge values", true, "Expert info on values that break a rule of the specifications")
msmq.prefs.reserved = Pref.bool("Show all reserved bits", false, "Reserved bits that are 0, too")
msmq.prefs.headers = Pref.string("Headers shown", "",
  "Names of the headers to show, such as user_header message_properties_header, or all; empty for all, and with "
  .. "tshark -T fields for those that its command line names")

-- tshark -T fields prints the fields that it names, but has every item built, and no function tells which those
-- are: its command line does, where it can be read. Given are the names that it has, and all that begin them.
-- Macros may name others, and so may colours.
local function named_fields()
  local file = io.open("/proc/self/cmdline", "rb")
  if not file then return nil end
  local words = "\0" .. (file:read("*a") or "")
  file:close()
  local fields = words:find("\0-T\0fields\0", 1, true) or words:find("\0-Tfields\0", 1, true)
  if not fields then return nil end
  for _, other in ipairs({"${", "\0--color\0", "\0text\0"}) do
    if words:find(other, 1, true) then return nil end
  end
  -- What is shown below other bytes has a name of its own.
  local security = " msmq.security_header.security_data."
  if words:find("session_key_algorithm", 1, true) then words = words .. security .. "encryption_key" end
  if words:find("x509", 1, true) then words = words .. security .. "sender_cert" end
  local names = {}
  for name in words:gmatch("msmq%.[%w_.]+") do
    local longer = ""
    for part in name:gmatch("[^.]+") do
      longer = longer == "" and part or longer .. "." .. part
      names[longer] = true
    end
  end
  return names
end

-- Preferences as they were when they last changed: asking Wireshark takes as long as showing a field.
local judging, all_bits, chosen, listed = true, false, nil, nil

local function read_preferences()
  judging, all_bits, chosen, listed = msmq.prefs.judge, msmq.prefs.reserved, nil, nil
  for name in msmq.prefs.headers:gmatch("[%w_]+") do
    chosen = chosen or {}
    chosen[name] = true
  end
  if chosen then
    if chosen.all then chosen = nil end
    return
  end
  listed = named_fields()
  if not listed then return end
  chosen = {}
  for stem in pairs(roots) do chosen[stem] = listed["msmq." .. stem] end
  for _, layout in pairs(T.layouts) do
    for _, entry in ipairs(layout) do
      entry.named = entry.header or listed[entry.abbr] or listed[entry.abbr .. "_raw"]
    end
  end
end

-- Recognising and judging --------------------------------------------------------------------------------

-- The kind of packet that some bytes are, [MS-MQQB] 3.1.5.1.1; nil and what is wrong when they are none.
local function recognise(data)
  if data:sub(5, 8) ~= C.signature then
    if data:sub(3, 4) == C.ping_signature then return "ping" end
    local code = #data < 8 and "missing-bytes" or "signature"
    return nil, {code = code, path = "base_header.signature", offset = min(4, #data)}
  end
  if band(data:byte(3), 8) == 0 then return "user_message" end
  local kind = #data >= 20 and C.internal[data:byte(19) % 16] or nil
  if kind then return kind end
  local code = #data < 20 and "missing-bytes" or "packet-type"
  return nil, {code = code, path = "internal_header.flags", offset = min(18, #data)}
end

local function is_order_queue(header)
  local queue, selector = header.destination_queue, user_bit(header, "dq")
  if not queue then return false end
  if selector == queue_type.PRIVATE_ON_DESTINATION_HOST then
    return queue.private_queue_identifier == C.order_queue_number
  end
  if selector ~= queue_type.DIRECT then return false end
  return wchar_text(bytes_of(queue, "direct_format_name")):lower():sub(-#C.order_queue) == C.order_queue
end

-- A whole user message can be an acknowledgment.
local function kind_of_message(v)
  local properties = v.message_properties_header
  if v.base_header.flags ~= 0 or not properties then return "user_message" end
  local class = properties.message_class
  if class ~= C.order_ack and class < C.final_ack then return "user_message" end
  local label = bytes_of(properties, "label")
  if label ~= C.ack_label and label ~= C.ack_label:sub(1, -3) then return "user_message" end
  if not is_order_queue(v.user_header) then return "user_message" end
  if class ~= C.order_ack then return "final_ack" end
  return properties.message_size == 36 and "order_ack" or "user_message"
end

local function reached(v, name)
  if not v then return nil end
  if v[name] ~= nil then return v[name] end
  return v._cut == name and v._part or nil
end

-- A user message that was cut can be one, too, by what is there of it.
local function kind_of_cut(v)
  local base, user = reached(v, "base_header"), reached(v, "user_header")
  local properties = reached(v, "message_properties_header")
  local class = properties and properties.message_class
  local label = properties and properties.label ~= nil and bytes_of(properties, "label") or nil
  if not base or base.flags ~= 0 or not user or user.destination_queue == nil then return "user_message" end
  if label and C.ack_label:sub(1, #label) ~= label then return "user_message" end
  if not is_order_queue(user) then return "user_message" end
  if class == nil or class == C.order_ack then return "order_ack" end
  return class >= C.final_ack and "final_ack" or "user_message"
end

-- The value, the kind and the failure of some bytes. stem names a structure; without it the kind is recognised.
local function decode(data, stem)
  local kind, wrong = stem, nil
  if not kind then kind, wrong = recognise(data) end
  start_reading(data)
  if not kind then
    local v
    if data:sub(5, 8) == C.signature then
      v = {_at = 0, _stem = "internal_packet"}
      v.base_header = D.base_header(0, v)
      if #data >= 16 then v.internal_header = D.internal_header(16, v) end
    end
    return v, nil, wrong
  end
  local v, after = D[roots[kind].decoder](0, nil)
  local failure = r.failure
  if not stem and kind == "user_message" then
    if after then
      kind = kind_of_message(v)
    elseif v and failure and failure.code == "missing-bytes" then
      kind = kind_of_cut(v)
    end
  end
  if v then
    v._stem = kind
    for _, inside in ipairs(roots[kind].inside or {}) do
      local holder = v
      for i = 1, #inside.at - 1 do holder = holder and reached(holder, inside.at[i]) end
      local last = inside.at[#inside.at]
      if holder and reached(holder, last) == inside.size then
        -- Its offsets count in the packet, as all others.
        v[inside.name] = D[inside.decoder](holder["@" .. last], v)
      end
    end
  end
  return v, kind, failure
end

local function judge(v, stem, layout, found)
  local rules = J[stem]
  if rules then rules(v, found) end
  if #found >= MOST_BROKEN then return end
  local judged = layout.judged
  for i = 1, #judged do
    local entry = judged[i]
    local part = v[entry.name]
    if part == nil and v._cut == entry.name then part = v._part end
    if part and entry.list then
      for _, item in ipairs(part) do judge(item, item._stem, entry.layouts[item._stem], found) end
    elseif type(part) == "table" then
      judge(part, part._stem, entry.layouts[part._stem], found)
    end
    if #found >= MOST_BROKEN then return end
  end
end

-- Showing ------------------------------------------------------------------------------------------------

-- Looking a method up in an item takes a fifth of the time that adding another takes.
local add, add_le, referenced = TreeItem.add, TreeItem.add_le, TreeItem.referenced

-- Where the packet that is shown lies: its tvb, its offset there, and its frame.
local tvb, base_offset, shown_pinfo
local certificates = DissectorTable.get("media_type"):get_dissector("application/pkix-cert")
-- Items are kept only where expert info will be attached to them.
local keeping = false
-- Without a tree that is seen, fields are shown that a filter or a tap asks for.
local sparse = false
-- With one that tshark -T fields has built, those that its command line names.
local sparing = false

local function is_any_referenced(tree, fields)
  for i = 1, #fields do
    if referenced(tree, fields[i]) then return true end
  end
  return false
end

local function keep(v, name, item)
  v._items = v._items or {}
  v._items[name] = item
end

local show

local function show_number(entry, v, tree, at)
  local range = tvb(base_offset + at, entry.size)
  local item = entry.big and add(tree, entry.field, range) or add_le(tree, entry.field, range)
  if entry.unit == "unix-time" then
    item:append_text(os.date("! (%Y-%m-%d %H:%M:%S UTC)", v[entry.name]))
  end
  if entry.bits then
    local word, bits = v[entry.name], entry.bits
    for i = 1, #bits do
      local b = bits[i]
      if all_bits or not b.reserved or band(word, b.mask) ~= 0 then add_le(item, b.field, range) end
    end
  end
  return item
end

local function show_text(entry, v, tree, at, size, read)
  local range = tvb(base_offset + at, size)
  local text, exact = read(bytes_of(v, entry.name))
  local item = add(tree, entry.field, range, text)
  if not exact and size > 0 then add(tree, entry.raw, range) end
  return item
end

-- Bytes that the JSON view shows as text: the sender of a message, the address of a host.
local function show_meaning(entry, v, tree, at, size)
  if size == 0 then return nil end
  local range, bytes = tvb(base_offset + at, size), bytes_of(v, entry.name)
  local text, exact = nil, true
  if entry.name == "address" then
    text, exact = address_text(v.address_type, bytes)
  elseif v._ and v._.flags then
    local sender = v._.flags % 16
    if sender == sender_type.SID then text = sid_text(bytes) end
    if sender == sender_type.QUEUE_MANAGER_GUID and size == 16 then text = guid_text(bytes) end
  end
  local item
  if text then item = add(tree, entry.field, range, text) end
  if not text or not exact then item = add(tree, entry.raw, range) end
  return item
end

local function show_structure(entry, part, tree, at, size)
  local range, item = tvb(base_offset + at, size), nil
  if entry.header then
    item = add(tree, protocols[part._stem], range, roots[part._stem].name)
  elseif entry.as_text then
    local name = queue_name(part)
    item = name and add(tree, entry.field, range, name) or add(tree, range, entry.label)
  elseif entry.kind then
    item = add(tree, range, entry.label)
  else
    item = add(tree, entry.field, range)
  end
  part._item = item
  show(entry.layouts[part._stem], part, item)
  return item
end

local function show_queue(entry, v, part, tree, at)
  local selector = user_bit(v, entry.queue)
  if selector == queue_type.NONE then return nil end
  local range = tvb(base_offset + at, part and part._size or 0)
  local item = add(tree, entry.field, range)
  add(item, entry.type_field, range, selector):set_generated()
  local name = format_name(v, entry.name, entry.queue)
  if name then
    add(item, entry.name_field, range, name):set_generated()
    item:append_text(": " .. shortened(name))
  end
  if entry.name == "response_queue" and selector == queue_type.SAME_AS_ADMIN_QUEUE then
    add(item, entry.same_field, range, "admin_queue"):set_generated()
  end
  if part then
    part._item = item
    show(entry.layouts[part._stem], part, item)
  end
  return item
end

-- The bytes that a value takes in a packet; of a partial structure those that were reached.
local function size_of(entry, value)
  if not value then return 0 end
  if entry.list then
    local size = 0
    for _, item in ipairs(value) do size = size + (type(item) == "table" and (item._size or 0) or 4) end
    return size
  end
  if type(value) == "table" then return value._size or max(0, r.fin - value._at) end
  if entry.kind == "uint" then return entry.size end
  return type(value) == "string" and 16 or value
end

local function show_list(entry, list, tree, at)
  local item
  for _, part in ipairs(list) do
    if type(part) == "table" then
      item = show_structure(entry, part, tree, part._at, part._size or max(0, r.fin - part._at))
    else
      item = add_le(tree, entry.field, tvb(base_offset + at, 4))
      at = at + 4
    end
  end
  if list.n > #list then
    item = add(tree, tvb(base_offset + at, 0), string.format("%d more elements", list.n - #list))
  end
  return item
end

-- What other documents say of the bytes of a field, below them.
local below = {}

-- A SIMPLEBLOB, [MS-MQQB] 2.4.2: for which cipher the session key is. The key itself is encrypted.
below["msmq.security_header.security_data.encryption_key"] = function(bytes, range, item)
  local blob = C.simple_blob
  if #bytes > 12 and bytes:sub(1, 4) == blob.begins and bytes:sub(9, 12) == blob.key_exchange then
    add_le(item, f.session_key_algorithm, range(4, 4))
  end
end

-- The certificate is shown by Wireshark itself, where its DER says that it is as long as the field.
below["msmq.security_header.security_data.sender_cert"] = function(bytes, range, item)
  if bytes:sub(1, 2) ~= "\x30\x82" or #bytes < 4 then return end
  if struct_unpack(">I2", bytes, 3) + 4 == #bytes and certificates then
    -- What is wrong in it is said in the tree.
    pcall(certificates.call, certificates, range:tvb(), shown_pinfo, item)
  end
end

local function is_left_out(entry, tree)
  if sparing then return not entry.named end
  return sparse and not below[entry.abbr] and not is_any_referenced(tree, entry.fields)
end

function show(layout, v, tree, wanted)
  local at = v._at
  for i = 1, #layout do
    local entry = layout[i]
    local name = entry.name
    local value, item, size = v[name], nil, nil
    if value == nil then
      if v._cut ~= name then break end
      value = v._part
    end
    local kind = entry.kind
    if kind == "uint" and value and not entry.list then
      size = entry.size
      if is_left_out(entry, tree) then
        item = nil
      elseif entry.plain then
        item = add_le(tree, entry.field, tvb(base_offset + at, size))
      else
        item = show_number(entry, v, tree, at)
      end
    else
      size = size_of(entry, value)
      if sparing and not entry.named then
        item = nil
      elseif entry.queue then
        item = show_queue(entry, v, value, tree, at)
      elseif entry.list then
        item = show_list(entry, value, tree, at)
      elseif value == false then
        item = nil
      elseif type(value) == "table" then
        if not entry.header or not wanted or wanted(value._stem) then
          item = show_structure(entry, value, tree, at, size)
        end
      elseif is_left_out(entry, tree) then
        item = nil
      elseif kind == "guid" then
        item = add_le(tree, entry.field, tvb(base_offset + at, size))
      elseif entry.as_text then
        item = show_meaning(entry, v, tree, at, size)
      elseif kind == "text" then
        item = show_text(entry, v, tree, at, size, wchar_text)
      elseif kind == "fixed" then
        item = show_text(entry, v, tree, at, size, fixed_text)
      elseif size > 0 then
        local range = tvb(base_offset + at, size)
        item = add(tree, entry.field, range)
        if below[entry.abbr] then below[entry.abbr](bytes_of(v, name), range, item) end
      end
    end
    if keeping and item then keep(v, name, item) end
    at = at + size
  end
end

local function show_broken(found, top)
  for i = 1, min(#found, MOST_BROKEN) do
    local v, rule = found[i][1], T.rules[found[i][2]]
    local item = v._item or top
    for _, name in ipairs(rule.at) do
      item = v._items and v._items[name] or item
      v = type(v[name]) == "table" and v[name] or {}
    end
    item:add_proto_expert_info(rule.expert)
  end
end

local function show_failure(failure, tree, size)
  local range = tvb(base_offset + min(failure.offset, size), 0)
  local item = tree:add(f.error_code, range, failure.code):set_generated()
  tree:add(f.error_path, range, failure.path):set_generated()
  tree:add(f.error_offset, range, failure.offset):set_generated()
  local lacking = failure.code == "missing-bytes"
  item:add_proto_expert_info(lacking and experts.cut or experts.malformed,
    string.format("%s at %s, offset %d", failure.code, failure.path, failure.offset))
end

-- The story ----------------------------------------------------------------------------------------------

local function named(enumeration, value)
  return T.enumerations[enumeration][value] or string.format("0x%x", value)
end

local function label_text(properties)
  local bytes = properties and bytes_of(properties, "label")
  return bytes and bytes ~= "" and wchar_text(bytes) or nil
end

local tell = {}

function tell.user_message(v)
  local user, properties, story = v.user_header, v.message_properties_header, {"UserMessage"}
  if user and user.message_id then story[#story + 1] = string.format("#%.0f", user.message_id) end
  if user and user.flags then
    local name = format_name(user, "destination_queue", "dq")
    if name then story[#story + 1] = "to " .. shortened(name) end
  end
  local label = label_text(properties)
  if label then story[#story + 1] = '"' .. shortened(label) .. '"' end
  if properties and properties.message_class and properties.message_class ~= 0 then
    story[#story + 1] = named("MessageClass", properties.message_class)
  end
  if v.transaction_header and v.transaction_header.tx_sequence_number then
    story[#story + 1] = string.format("transactional %.0f", v.transaction_header.tx_sequence_number)
  elseif user and user.flags and user_bit(user, "dm") ~= 0 then
    story[#story + 1] = "recoverable"
  end
  if v.base_header and v.base_header.flags then
    story[#story + 1] = string.format("priority %d", v.base_header.flags % 8)
  end
  return table.concat(story, " ")
end

tell.message_packet = tell.user_message

local function sequence_text(body)
  local sequence = body.tx_sequence_id
  return string.format("sequence %.0f:%.0f number %.0f", sequence.time_stamp, sequence.ordinal,
    body.tx_sequence_number)
end

function tell.order_ack(v)
  return "OrderAck" .. (v.order_ack_body and " " .. sequence_text(v.order_ack_body) or "")
end

function tell.final_ack(v)
  local properties, story = v.message_properties_header, "FinalAck"
  if properties and properties.message_class then
    story = story .. " " .. named("MessageClass", properties.message_class)
  end
  return story .. (v.final_ack_body and " " .. sequence_text(v.final_ack_body) or "")
end

function tell.session_ack(v)
  local h = v.session_header
  if not h or not h.reserved then return "SessionAck" end
  local story = string.format("SessionAck %d", h.ack_sequence_number)
  if h.recoverable_msg_ack_seq_number ~= 0 then
    story = story .. string.format(" recoverable from %d", h.recoverable_msg_ack_seq_number)
  end
  return story .. string.format(" sent %d window %d", h.user_msg_sequence_number, h.window_size)
end

local function refused(v)
  return v.internal_header and v.internal_header.flags and band(v.internal_header.flags, 16) ~= 0
end

function tell.establish_connection(v, note)
  local h, story = v.establish_connection_header, "EstablishConnection"
  story = story .. (note and note.answer_of and " answer" or "") .. (refused(v) and " refused" or "")
  if not h or not h.client_guid then return story end
  return story .. " from " .. guid_text(h.client_guid) .. (h.server_guid and " to " .. guid_text(h.server_guid) or "")
end

function tell.connection_parameters(v, note)
  local h, story = v.connection_parameters_header, "ConnectionParameters"
  story = story .. (note and note.answer_of and " answer" or "") .. (refused(v) and " refused" or "")
  return h and h.window_size and story .. string.format(" window %d", h.window_size) or story
end

function tell.ping(v, note)
  local story = note and note.answer_of and "Ping answer" or "Ping"
  if v.flags and band(v.flags, 2) ~= 0 then story = story .. " refused" end
  return v.qm_guid and story .. " from " .. guid_text(v.qm_guid) or story
end

function tell.topology_client_request(v)
  return v.request_id and "Which servers have the directory? request " .. guid_text(v.request_id) or "Topology request"
end

function tell.topology_server_reply(v)
  local story = v.responding_site_id and "Directory server of site " .. guid_text(v.responding_site_id)
    or "Directory server of the same site"
  return v.correlation_id and story .. ", request " .. guid_text(v.correlation_id) or story
end

-- What belongs together ----------------------------------------------------------------------------------

-- Made while a frame is seen for the first time, read from then on: notes[frame][packet of the frame].
local notes, note_count, conversations, conversation_count

local function forget()
  notes, note_count, conversations, conversation_count = {}, 0, {}, 0
end
forget()

function msmq.init()
  forget()
  read_preferences()
end

local function note_of(frame, index)
  local own = notes[frame]
  if not own then
    if note_count >= MOST_NOTES then return {} end
    note_count = note_count + 1
    own = {}
    notes[frame] = own
  end
  own[index] = own[index] or {}
  return own[index]
end

-- What one side has sent: how many packets, how many of them were acknowledged, and the last ones by place in
-- the ring. whole: they were counted from the beginning.
local function new_direction(whole)
  return {count = 0, acked = 0, number = {}, frame = {}, index = {}, whole = whole}
end

local function conversation_of(pinfo)
  local here_, there = tostring(pinfo.src) .. " " .. pinfo.src_port, tostring(pinfo.dst) .. " " .. pinfo.dst_port
  local forward = here_ < there
  local key = forward and here_ .. " " .. there or there .. " " .. here_
  local found = conversations[key]
  if not found then
    if conversation_count >= MOST_CONVERSATIONS then conversations, conversation_count = {}, 0 end
    conversation_count = conversation_count + 1
    found = {pairs = {}, [true] = new_direction(), [false] = new_direction()}
    conversations[key] = found
  end
  return found, forward
end

-- The first of a kind is a request; what comes from the other side before a second one is its answer.
local function pair_up(conversation, kind, forward, frame, index)
  local request = conversation.pairs[kind]
  if request and request.forward ~= forward then
    note_of(frame, index).answer_of = request.frame
    note_of(request.frame, request.index).answered_in = frame
    conversation.pairs[kind] = nil
    return
  end
  conversation.pairs[kind] = {forward = forward, frame = frame, index = index}
  if kind == "establish_connection" then
    conversation[true], conversation[false] = new_direction(true), new_direction(true)
  end
end

-- A SessionHeader counts user packets: those it acknowledges came from the other side, [MS-MQMQ] 2.2.20.4.
local function acknowledge(conversation, header, forward, frame, index)
  local sender, own = conversation[not forward], conversation[forward]
  if not own.whole then own.count, own.whole = header.user_msg_sequence_number, true end
  -- Numbers have 16 bits; what is acknowledged lies at most a ring behind what was sent.
  local behind = (sender.count - header.ack_sequence_number) % 65536
  if behind >= RING then return end
  local last = sender.count - behind
  for number = max(sender.acked + 1, last - RING + 1), last do
    local place = number % RING
    if sender.number[place] == number then
      local acks = note_of(frame, index)
      acks.acknowledges = acks.acknowledges or {}
      acks.acknowledges[#acks.acknowledges + 1] = sender.frame[place]
      note_of(sender.frame[place], sender.index[place]).acked_in = frame
    end
  end
  sender.acked = max(sender.acked, last)
end

local function link(v, kind, pinfo, index)
  local conversation, forward = conversation_of(pinfo)
  local frame = pinfo.number
  if kind == "establish_connection" or kind == "connection_parameters" then
    pair_up(conversation, kind, forward, frame, index)
  elseif kind == "ping" then
    if v.cookie then pair_up(conversation, string.format("ping %.0f", v.cookie), forward, frame, index) end
  elseif kind:sub(1, 9) == "topology_" then
    return -- a request goes to everybody: no conversation of two hosts has it and its replies
  else
    if kind ~= "session_ack" then
      local own = conversation[forward]
      own.count = own.count + 1
      local place = own.count % RING
      own.number[place], own.frame[place], own.index[place] = own.count, frame, index
    end
    local header = v.session_header
    if header and header.reserved then acknowledge(conversation, header, forward, frame, index) end
  end
end

local function show_links(note, tree)
  if note.answer_of then tree:add(f.answer_of, note.answer_of):set_generated() end
  if note.answered_in then tree:add(f.answered_in, note.answered_in):set_generated() end
  for _, frame in ipairs(note.acknowledges or {}) do tree:add(f.acknowledges, frame):set_generated() end
  if note.acked_in then tree:add(f.acked_in, note.acked_in):set_generated() end
end

-- Packets ------------------------------------------------------------------------------------------------

local msmq_handle
-- Whether anybody sees the columns.
local telling = true

-- A certificate is shown by another dissector, and nobody tells whether its fields are asked for.
local function has_certificate(v)
  local header = v and v.security_header
  local data = header and header.security_data
  return data and (data.sender_cert or 0) > 0
end

-- Whether a tree, a filter or a tap asks for anything that a whole structure shows: of its own, or of a header
-- or a part that it has.
local function is_asked_for(tree, v, root)
  if referenced(tree, msmq_handle) or referenced(tree, handles[root.stem]) or has_certificate(v) then return true end
  if not root.parts then
    root.parts = {}
    for _, entry in ipairs(T.layouts[root.layout]) do
      for stem in pairs(entry.header and entry.arms or {}) do
        root.parts[#root.parts + 1] = {name = entry.name, handle = handles[stem]}
      end
    end
    for _, inside in ipairs(root.inside or {}) do
      root.parts[#root.parts + 1] = {name = inside.name, handle = handles[inside.name]}
    end
  end
  for i = 1, #root.parts do
    local part = root.parts[i]
    if v[part.name] and referenced(tree, part.handle) then return true end
  end
  return false
end

-- The line of a packet for the info column.
local function told(v, kind, failure, note, name)
  if not telling then return name end
  local story = v and kind and tell[kind] and tell[kind](v, note) or name
  return failure and story .. " [" .. (failure.code == "missing-bytes" and "cut" or "malformed") .. "]" or story
end

-- Shows one packet or structure; returns its line for the info column.
local function dissect(buffer, offset, size, pinfo, tree, stem, index)
  -- Without columns, as in tshark -T fields and -V, a column tells its own name.
  telling = tostring(pinfo.cols.info) ~= "(info)"
  local data = buffer:raw(offset, size)
  local v, kind, failure = decode(data, stem)
  local root = kind and roots[kind]
  local packet = not stem or root.packet
  if index and v and not pinfo.visited and kind then link(v, kind, pinfo, index) end
  local note = index and notes[pinfo.number] and notes[pinfo.number][index]
  local found = {}
  local layout = T.layouts[root and root.layout or "msmq session_ack"]
  if v and judging then
    judge(v, v._stem, layout, found)
    for _, inside in ipairs(root and root.inside or {}) do
      if v[inside.name] then judge(v[inside.name], v[inside.name]._stem, T.layouts[inside.layout], found) end
    end
  end
  keeping = #found > 0
  local name = root and root.name or "packet of unknown kind"
  -- Expert info is seen by taps that ask for no tree, and so are protocols.
  local asked = not root or keeping or failure or is_asked_for(tree, v, root)
  local visible = asked and tree.visible
  local needed = visible or keeping or failure or asked and tree:referenced(msmq_handle)
  sparse, sparing = not visible and not keeping, visible and not keeping and listed ~= nil
  local wanted
  if asked and not keeping then
    if not visible then
      wanted = function(name)
        return tree:referenced(handles[name]) or name == "security_header" and has_certificate(v)
      end
    elseif chosen then
      wanted = function(name) return chosen[name] end
    end
  end
  tvb, base_offset, shown_pinfo = buffer, offset, pinfo
  local range = tvb(offset, size)
  local top
  if packet then
    top = add(tree, msmq, range, "Microsoft Message Queuing, " .. name)
    if kind and needed and (not sparing or listed["msmq.type"]) then top:add(f.type, range, kind):set_generated() end
    if note and asked then show_links(note, top) end
  else
    top = tree:add(protocols[stem], range, name)
  end
  if v then
    local own = top
    -- What has no headers shows its fields in a layer of its own.
    if packet and root and root.layout:sub(1, 5) == "msmq." then own = top:add(protocols[kind], range, name) end
    if not asked then return told(v, kind, failure, note, name) end
    if own == top or not wanted or wanted(kind) then show(layout, v, own, wanted) end
    for _, inside in ipairs(root and root.inside or {}) do
      local part = v[inside.name]
      if part and (not wanted or wanted(inside.name)) then
        local body = top:add(protocols[inside.name], tvb(offset + part._at, part._size), roots[inside.name].name)
        part._item = body
        show(T.layouts[inside.layout], part, body)
      end
    end
  end
  if failure then show_failure(failure, top, size) end
  show_broken(found, top)
  return told(v, kind, failure, note, name)
end

local function set_info(pinfo, stories)
  if not telling then return end
  local columns, first = pinfo.cols, stories[1]
  if #stories > 1 then first = first .. string.format(" +%d packets", #stories - 1) end
  columns.protocol, columns.info = "MSMQ", first
end

-- A stream -----------------------------------------------------------------------------------------------

local function length_of(head)
  local size = struct_unpack("<I4", head, 9)
  -- SH without IN: a SessionHeader behind what PacketSize counts.
  local extra = band(head:byte(3), 0x18) == 0x10 and 16 or 0
  return max(16, size + extra), size
end

local function is_credible(data, at)
  if data:byte(at) ~= C.version_number or #data < at + 11 then return false end
  local size = struct_unpack("<I4", data, at + 8)
  return size >= SMALLEST and size <= C.max_packet_size
end

-- Whether fewer bytes than tell may still be the start of a packet.
local function begins(head)
  return (#head > 4 or head:byte(1) == C.version_number) and C.signature:sub(1, max(0, #head - 4)) == head:sub(5, 8)
end

-- The offset behind at where a packet starts, or may start at the end of the bytes; else their number.
local function find_start(buffer, at, size)
  local data = buffer:raw(at, size - at)
  local found = data:find(C.signature, 6, true)
  while found do
    if is_credible(data, found - 4) then return at + found - 5 end
    found = data:find(C.signature, found + 1, true)
  end
  for tail = max(2, #data - 10), #data do
    if begins(data:sub(tail)) then return at + tail - 1 end
  end
  return size
end

local function show_skipped(buffer, at, size, tree)
  local top = tree:add(msmq, buffer(at, size), string.format("Microsoft Message Queuing, %d bytes in no packet", size))
  top:add(f.skipped, buffer(at, size)):add_proto_expert_info(experts.skipped)
  return string.format("[%d bytes in no packet]", size)
end

function msmq.dissector(buffer, pinfo, tree)
  local at, size, stories, index = 0, buffer:len(), {}, 0
  local extendable = pinfo.can_desegment > 0 and buffer:reported_len() == size
  while at < size do
    local left = size - at
    local head = buffer:raw(at, min(left, 12))
    local length, skip
    if left < 12 then
      if not begins(head) then
        skip = true
      elseif extendable then
        pinfo.desegment_offset, pinfo.desegment_len = at, DESEGMENT_ONE_MORE_SEGMENT
        break
      else
        length = left
      end
    elseif head:sub(5, 8) == C.signature then
      local stated
      length, stated = length_of(head)
      if stated > C.max_packet_size then
        length = left
      elseif length > left and extendable then
        pinfo.desegment_offset, pinfo.desegment_len = at, length - left
        break
      end
    else
      skip = true
    end
    if skip then
      local stop = find_start(buffer, at, size)
      stories[#stories + 1] = show_skipped(buffer, at, stop - at, tree)
      at = stop
    else
      index = index + 1
      stories[#stories + 1] = dissect(buffer, at, min(length, left), pinfo, tree, nil, index)
      at = at + length
    end
  end
  if #stories > 0 then set_info(pinfo, stories) end
  return size
end
msmq_handle = Dissector.get("msmq")

-- One structure by its name, for what hands bytes to a dissector it names: remote read, exported PDUs.
for stem, protocol in pairs(protocols) do
  function protocol.dissector(buffer, pinfo, tree)
    local size = buffer:len()
    if size == 0 then return 0 end
    set_info(pinfo, {dissect(buffer, 0, size, pinfo, tree, stem)})
    return size
  end
  handles[stem] = Dissector.get("msmq." .. stem)
end

local udp = Proto("msmq_udp", "Microsoft Message Queuing, ping")
function udp.dissector(buffer, pinfo, tree)
  local size = buffer:len()
  -- One with another signature is a ping if it is as long as one.
  local signed = size >= 4 and buffer:raw(2, 2) == C.ping_signature
  if not signed and buffer:reported_len() ~= 24 then return 0 end
  if size == 0 then return 0 end
  set_info(pinfo, {dissect(buffer, 0, size, pinfo, tree, "ping", 1)})
  return size
end
DissectorTable.get("udp.port"):add(3527, udp)

local discovery = Proto("msmq_topology", "Microsoft Message Queuing, directory service discovery")
function discovery.dissector(buffer, pinfo, tree)
  local size = buffer:len()
  local kind = size >= 4 and C.discovery[buffer:raw(0, 4)]
  if not kind then return 0 end
  set_info(pinfo, {dissect(buffer, 0, size, pinfo, tree, kind, 1)})
  return size
end
DissectorTable.get("udp.port"):add(1801, discovery)

local tcp_table, bound = DissectorTable.get("tcp.port"), msmq.prefs.tcp_ports
tcp_table:add(bound, msmq)
function msmq.prefs_changed()
  read_preferences()
  if bound ~= msmq.prefs.tcp_ports then
    tcp_table:remove(bound, msmq)
    bound = msmq.prefs.tcp_ports
    tcp_table:add(bound, msmq)
  end
end

-- SRMP ---------------------------------------------------------------------------------------------------

-- Messages over HTTP are shown by the dissectors of HTTP and XML; this says that they are some, and for whom.
local srmp = Proto("msmq_srmp", "Microsoft Message Queuing over HTTP (SRMP)")
local request_uri, media_types = Field.new("http.request.uri"), DissectorTable.get("media_type")
local previous = {}

local function media_type_of(buffer, pinfo)
  local stated = pinfo.match_string
  return previous[stated] and stated or (buffer:len() > 1 and buffer:raw(0, 2) == "--" and "multipart/related") or "text/xml"
end

function srmp.dissector(buffer, pinfo, tree)
  local uri = request_uri()
  local path = uri and tostring(uri.value):match("^%a+://[^/]*(/.*)$") or (uri and tostring(uri.value)) or ""
  local under = path:lower():match("^/msmq(.*)$")
  if under and (under == "" or under:match("^[/?]")) then
    local top = tree:add(msmq, buffer(), "Microsoft Message Queuing, message over HTTP (SRMP)")
    local queue = path:sub(7):match("^[^?]*")
    if queue and queue ~= "" then top:add(f.srmp_queue, buffer(0, 0), queue):set_generated() end
  end
  local before = previous[media_type_of(buffer, pinfo)]
  return before and before:call(buffer, pinfo, tree) or 0
end

for _, media_type in ipairs({"multipart/related", "text/xml"}) do
  previous[media_type] = media_types:get_dissector(media_type)
  media_types:add(media_type, srmp)
end

-- Calls --------------------------------------------------------------------------------------------------

-- A single run is given this script alone.
local calls = loadfile(here .. "msmq_rpc.lua")
if calls then calls() end
