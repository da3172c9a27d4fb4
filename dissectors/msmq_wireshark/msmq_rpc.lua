-- SPDX-License-Identifier: GPL-2.0-or-later
-- Remote read and the other DCE/RPC interfaces of MSMQ, as a post-dissector on Wireshark's dcerpc.
--
-- Wireshark does TCP, fragments and unsealing; this script reads its fields and decodes the stubs. The
-- interfaces are in msmq_rpc_tables.lua. Nothing from the wire is believed: every read is checked against
-- what is left of the stub, nesting and the number of values are limited, and a cut stub shows what it had.

-- msmq.lua loads this file, and so does Wireshark where both are plugins: once is enough.
if _G.msmq_rpc_is_loaded then return end
_G.msmq_rpc_is_loaded = true

local directory = __DIR__ or debug.getinfo(1, "S").source:match("^@(.*)[/\\]") or "."
local tables = dofile(directory .. "/msmq_rpc_tables.lua")

local MAX_RECORDS = 20000    -- values of one stub
local MAX_ELEMENTS = 1000    -- numbers or GUIDs of one array that are shown
local MAX_UNITS = 65536      -- UTF-16 code units of one text
local MAX_PROBLEMS = 100     -- as in the Python decoder
local MAX_FILL = 0x420000    -- bytes of a message that a server may leave out
local MAX_FRAMES = 500000    -- frames whose calls are kept for links
local MAX_STREAMS = 50000
local MAX_CONTEXTS = 256     -- of one stream
local MAX_HANDLES = 50000
local MAX_COMMANDS = 8       -- of a verification trailer

local NDR = "8a885d04-1ceb-11c9-9fe8-08002b104860"
local NDR64 = "71710533-beba-4937-8319-b5dbef9ccc36"
local COMMAND_SIZES = {4, 40, 16}
local TRAILER = "\138\227\019\113\002\244\054\113"
local REQUEST, RESPONSE, FAULT = 0, 2, 3
local BIND, BIND_ACK, ALTER_CONTEXT, ALTER_CONTEXT_RESP = 11, 12, 14, 15
local SIDES = {[REQUEST] = "request", [RESPONSE] = "response", [FAULT] = "fault"}
local FIRST_SECTIONS = {[1] = true, [3] = true}
local SUFFIXES = {[0] = "", ";JOURNAL", ";DEADLETTER", ";DEADXACT", ";XACTONLY", ";SUBQUEUE"}

local unpack = table.unpack or unpack
local byte, char, find, sub, floor = string.byte, string.char, string.find, string.sub, math.floor

local TITLE = "MSMQ Remote Calls"
local proto = Proto("msmq_rpc", TITLE)

-- Filter names.

local F = {
    interface = ProtoField.string("msmq_rpc.interface", "Interface"),
    method = ProtoField.string("msmq_rpc.method", "Method"),
    opnum = ProtoField.uint16("msmq_rpc.opnum", "Opnum"),
    call_id = ProtoField.uint32("msmq_rpc.call_id", "Call id"),
    context_id = ProtoField.uint16("msmq_rpc.context_id", "Context id"),
    kind = ProtoField.string("msmq_rpc.kind", "Kind", base.ASCII, "bind, request, response or fault"),
    syntax = ProtoField.string("msmq_rpc.syntax", "Transfer syntax", base.ASCII, "ndr, ndr64 or a UUID"),
    queue = ProtoField.string("msmq_rpc.queue", "Queue", base.UNICODE, "Format name of the call's queue"),
    status = ProtoField.uint32("msmq_rpc.status", "Status", base.HEX, tables.statuses,
        nil, "What the call ended with: of the response or of the fault"),
    sealed = ProtoField.bool("msmq_rpc.sealed", "Sealed", base.NONE, nil, nil, "Encrypted, no key opens it"),
    request_in = ProtoField.framenum("msmq_rpc.request_in", "Request in", base.NONE, frametype.REQUEST),
    response_in = ProtoField.framenum("msmq_rpc.response_in", "Response in", base.NONE, frametype.RESPONSE),
    null = ProtoField.string("msmq_rpc.null", "NULL", base.ASCII, "A pointer that is NULL"),
    null_pointee = ProtoField.string("msmq_rpc.null_pointee", "Pointer to NULL", base.ASCII,
        "A pointer to a NULL pointer"),
    remainder = ProtoField.bytes("msmq_rpc.remainder", "Remainder", base.NONE, "Behind the last parameter"),
    verification_trailer = ProtoField.bytes("msmq_rpc.verification_trailer", "Verification trailer"),
    anomaly = ProtoField.string("msmq_rpc.anomaly", "Anomaly", base.ASCII, "Code of an anomaly"),
    error = ProtoField.string("msmq_rpc.error", "Error", base.ASCII, "Where the stub does not decode"),
}
local BY_PATH, KINDS, FLAGS = {}, {}, {}

local function new_field(path, row)
    local abbrev, name = "msmq_rpc." .. path, path:match("[^.]+$")
    local enumeration = tables.enumerations[row.enumeration]
    local values, display = nil, base.DEC
    if row.enumeration == "Status" then
        values, display = tables.statuses, base.HEX
    elseif enumeration then
        if enumeration.flags then
            FLAGS[path], display = enumeration, base.HEX
        else
            values = enumeration.names
            for value in pairs(values) do
                if value > 0xFFFF then display = base.HEX end
            end
        end
    end
    local kind = row.kind
    if kind == "none" or kind == "guid" then return ProtoField[kind](abbrev, name, row.doc) end
    if kind == "string" then return ProtoField.string(abbrev, name, base.UNICODE, row.doc) end
    if kind == "bytes" then return ProtoField.bytes(abbrev, name, base.NONE, row.doc) end
    if kind:sub(1, 3) == "int" then display = base.DEC end
    return ProtoField[kind](abbrev, name, display, values, nil, row.doc)
end

local registered = {}
for _, field in pairs(F) do registered[#registered + 1] = field end
for path, row in pairs(tables.fields) do
    local field = new_field(path, row)
    BY_PATH[path], KINDS[path] = field, row.kind
    registered[#registered + 1] = field
end
proto.fields = registered

local anomaly_expert = ProtoExpert.new("msmq_rpc.anomaly.expert", "Anomaly", expert.group.PROTOCOL,
    expert.severity.WARN)
local error_expert = ProtoExpert.new("msmq_rpc.error.expert", "The stub does not decode",
    expert.group.MALFORMED, expert.severity.ERROR)
local status_expert = ProtoExpert.new("msmq_rpc.status.expert", "The call failed",
    expert.group.RESPONSE_CODE, expert.severity.NOTE)
proto.experts = {anomaly_expert, error_expert, status_expert}

-- What this script takes from other dissectors. A field must be asked for here to be in a tree that is not
-- shown.
local NAMES = {
    stream = "tcp.stream", pkt_type = "dcerpc.pkt_type", flags = "dcerpc.cn_flags",
    byte_order = "dcerpc.drep.byteorder", call_id = "dcerpc.cn_call_id", context_id = "dcerpc.cn_ctx_id",
    opnum = "dcerpc.opnum", status = "dcerpc.cn_status", stub = "dcerpc.stub_data",
    decrypted = "dcerpc.decrypted_stub_data", encrypted = "dcerpc.encrypted_stub_data",
    reassembled = "dcerpc.reassembled.length", uuid = "dcerpc.cn_bind_to_uuid",
    transfer = "dcerpc.cn_bind_trans_id", result = "dcerpc.cn_ack_result",
    accepted = "dcerpc.cn_ack_trans_id", request_in = "dcerpc.request_in", response_in = "dcerpc.response_in",
}
local EXTRACT, KEYS = {}, {}
for key, name in pairs(NAMES) do
    EXTRACT[key] = Field.new(name)
    KEYS[name] = key
end

-- Stubs: reading.
--
-- A record is one value: t its type, at and len its place in the stub, v its number, kids the members of a
-- structure or the elements of an array, ref the referent id of a pointer and target what it points at, arm
-- and arm_name those of a union. It is linked before it is read, so what a cut stub had is there.

local function fail(stub, code, message)
    error({code = code, message = message, at = stub.pos}, 0)
end

local function problem(stub, code, message, at)
    local problems = stub.problems
    if #problems < MAX_PROBLEMS then
        problems[#problems + 1] = {code = code, message = message, at = at or stub.pos}
    end
end

local function align(stub, to)
    local pos = stub.pos + -stub.pos % to
    stub.pos = pos < stub.stop and pos or stub.stop
end

local function take(stub, length)
    local at = stub.pos
    if at + length > stub.stop then
        fail(stub, "missing-bytes", string.format("%.0f bytes needed, %d left", length, stub.stop - at))
    end
    stub.pos = at + length
    return at
end

local function unsigned(stub, at, size)
    local raw = stub.raw
    if size == 4 then
        local a, b, c, d = byte(raw, at + 1, at + 4)
        if stub.big then a, b, c, d = d, c, b, a end
        return a + b * 0x100 + c * 0x10000 + d * 0x1000000
    elseif size == 2 then
        local a, b = byte(raw, at + 1, at + 2)
        if stub.big then a, b = b, a end
        return a + b * 0x100
    elseif size == 1 then
        return byte(raw, at + 1)
    end
    -- Beyond 53 bits this is not exact: such numbers are compared with sizes only, and shown by Wireshark.
    local first, second = unsigned(stub, at, 4), unsigned(stub, at + 4, 4)
    if stub.big then first, second = second, first end
    return first + second * 4294967296.0
end

local function counted(stub)
    local size = stub.wide and 8 or 4
    align(stub, size)
    return unsigned(stub, take(stub, size), size)
end

local function new_record(stub, t)
    stub.records = stub.records + 1
    if stub.records > MAX_RECORDS then
        fail(stub, "too-many-values", "more than " .. MAX_RECORDS .. " values")
    end
    return {t = t}
end

local function enter(stub)
    stub.depth = stub.depth + 1
    if stub.depth > tables.max_depth then
        fail(stub, "too-deep", "more than " .. tables.max_depth .. " levels of values in values")
    end
end

local alignment, arm_alignment
local find_alignment = {
    number = function (t, wide) return wide and t.wide or t.size end,
    wchar = function () return 2 end,
    guid = function (t) return t.numbers and 4 or 1 end,
    pointer = function (_, wide) return wide and 8 or 4 end,
    sections = function (_, wide) return wide and 8 or 4 end,
    array = function (t, wide) return math.max(wide and 8 or 4, alignment(t.element, wide)) end,
    struct = function (t, wide)
        local found = 1
        for _, member in ipairs(t.members or {}) do
            found = math.max(found, alignment(member.type, wide))
        end
        return found
    end,
    union = function (t, wide)
        return math.max(alignment(t.tag, wide), arm_alignment(t, wide))
    end,
}

function alignment(t, wide)
    local key = wide and "alignment64" or "alignment32"
    local found = t[key]
    if not found then
        found = find_alignment[t.kind](t, wide)
        t[key] = found
    end
    return found
end

-- That of the arm of a union which needs most.
function arm_alignment(t, wide)
    local key = wide and "arms64" or "arms32"
    local found = t[key]
    if not found then
        found = 1
        for _, arm in pairs(t.arms) do
            if arm.type then found = math.max(found, alignment(arm.type, wide)) end
        end
        t[key] = found
    end
    return found
end

local smallest
local find_smallest = {
    number = function (t, wide) return wide and t.wide or t.size end,
    wchar = function () return 2 end,
    guid = function () return 16 end,
    pointer = function (_, wide) return wide and 8 or 4 end,
    sections = function (_, wide) return wide and 8 or 4 end,
    array = function (_, wide) return wide and 8 or 4 end,
    union = function (t, wide) return smallest(t.tag, wide) end,
    struct = function (t, wide)
        local sum = 0
        for _, member in ipairs(t.members or {}) do sum = sum + smallest(member.type, wide) end
        return math.max(1, sum)
    end,
}

-- The fewest bytes of a value in place, so that bytes bound counts.
function smallest(t, wide)
    local key = wide and "smallest64" or "smallest32"
    local found = t[key]
    if not found then
        found = find_smallest[t.kind](t, wide)
        t[key] = found
    end
    return found
end

local flat, deferred = {}, {}

local function read_whole(stub, record, scope)
    local t = record.t
    t.flat(stub, t, record, scope)
    if t.deferred then t.deferred(stub, t, record, scope) end
end

local function size_of(expression, scope)
    if type(expression) == "string" then return scope[expression] end
    return expression
end

function flat.number(stub, t, record)
    local size = stub.wide and t.wide or t.size
    align(stub, size)
    local at = take(stub, size)
    local value = unsigned(stub, at, size)
    if t.signed and value >= 2 ^ (8 * size - 1) then value = value - 2 ^ (8 * size) end
    record.at, record.len, record.v = at, size, value
    if t.last and (value < t.first or value > t.last) then
        problem(stub, "ndr.range",
            string.format("%.0f is not in the IDL's range %d to %d", value, t.first, t.last), at)
    end
end
flat.wchar = flat.number

function flat.guid(stub, t, record)
    align(stub, alignment(t, stub.wide))
    record.at, record.len = take(stub, 16), 16
end

function flat.pointer(stub, _, record)
    local size = stub.wide and 8 or 4
    align(stub, size)
    local at = take(stub, size)
    record.at, record.len, record.ref = at, size, unsigned(stub, at, size)
end

-- A pointer that is NULL where its array has elements by the member that names their number.
local function judge_null(stub, name, scope)
    local size = type(name) == "string" and scope[name]
    if size and size ~= 0 then
        problem(stub, "ndr.null-array", string.format("NULL where size_is says %.0f", size))
    end
end

function deferred.pointer(stub, t, record, scope)
    if record.ref == 0 then
        if t.ref then problem(stub, "ndr.ref-pointer", "a ref pointer must not be NULL") end
        judge_null(stub, t.target.size_is, scope)
        return
    end
    record.target = new_record(stub, t.target)
    read_whole(stub, record.target, scope)
end

local function is_octets(element)
    return element.kind == "number" and element.size == 1 and not element.signed
end

local function read_elements(stub, t, record, count, scope)
    local element = t.element
    local kind = element.kind
    record.count = count
    if is_octets(element) or kind == "wchar" then
        local length = kind == "wchar" and 2 * count or count
        record.at = stub.pos
        -- A part of a text or a body is evidence.
        record.len = math.min(length, stub.stop - stub.pos)
        take(stub, length)
        return
    end
    if count == 0 then
        record.at, record.len = stub.pos, 0
        return
    end
    local least = smallest(element, stub.wide)
    if count * least > stub.stop - stub.pos then
        fail(stub, "missing-bytes", string.format("%.0f elements of at least %d bytes, %d bytes left",
            count, least, stub.stop - stub.pos))
    end
    if kind == "number" or kind == "guid" then
        align(stub, alignment(element, stub.wide))
        record.at, record.len = take(stub, count * least), count * least
        return
    end
    record.at, record.len, record.kids = stub.pos, 0, {}
    for place = 1, count do
        local one = new_record(stub, element)
        record.kids[place] = one
        element.flat(stub, element, one, scope)
    end
    record.len = stub.pos - record.at
end

function flat.array(stub, t, record, scope)
    local start = stub.pos
    local maximum = counted(stub)
    local expected = size_of(t.size_is, scope)
    if not t.varying then
        if expected and expected ~= maximum then
            problem(stub, "ndr.size-is",
                string.format("%.0f elements where size_is says %.0f", maximum, expected), start)
        end
        return read_elements(stub, t, record, maximum, scope)
    end
    local offset, actual = counted(stub), counted(stub)
    local natural = (not expected or expected < 0) and actual or expected
    if maximum ~= natural and not t.any_size then
        problem(stub, "ndr.size-is",
            string.format("max_count %.0f where size_is says %.0f", maximum, natural), start)
    end
    if offset ~= 0 then
        problem(stub, "ndr.array-offset", string.format("offset %.0f where 0 belongs", offset), start)
    end
    local length = size_of(t.length_is, scope)
    if length and length ~= actual then
        problem(stub, "ndr.length-is",
            string.format("%.0f elements where length_is says %.0f", actual, length), start)
    end
    if offset + actual > maximum then
        problem(stub, "ndr.past-max-count",
            string.format("elements %.0f to %.0f of %.0f", offset, offset + actual, maximum), start)
    end
    read_elements(stub, t, record, actual, scope)
    if t.text and sub(stub.raw, stub.pos - 1, stub.pos) ~= "\0\0" or t.text and actual == 0 then
        problem(stub, "ndr.string-terminator", "a string without its terminator", start)
    end
end

function deferred.array(stub, _, record, scope)
    for _, one in ipairs(record.kids or {}) do
        local later = one.t.deferred
        if later then later(stub, one.t, one, scope) end
    end
end

local function judge(stub, t, record)
    for _, must in ipairs(t.musts or {}) do
        local known = true
        for _, name in ipairs(must.needs) do known = known and record.scope[name] ~= nil end
        if known and not must.holds(record.scope) then
            problem(stub, must.code, must.message, record.at)
        end
    end
end

-- The members of a structure, or parameters: then each is followed by all that it points at.
local function read_members(stub, t, record, following)
    local scope, kids = {}, {}
    record.at, record.len, record.kids, record.scope = stub.pos, 0, kids, scope
    for place, member in ipairs(t.members or {}) do
        local one = new_record(stub, member.type)
        one.name = member.name
        kids[place] = one
        if following then
            read_whole(stub, one, scope)
        else
            one.t.flat(stub, one.t, one, scope)
        end
        scope[member.name] = one.v
    end
    for _, one in ipairs(kids) do
        if one.t.late and one.ref == 0 then judge_null(stub, one.t.late, scope) end
    end
    record.len = stub.pos - record.at
end

function flat.struct(stub, t, record)
    align(stub, alignment(t, stub.wide))
    enter(stub)
    read_members(stub, t, record, false)
    stub.depth = stub.depth - 1
    if stub.wide then align(stub, alignment(t, true)) end
end

function deferred.struct(stub, t, record)
    enter(stub)
    for _, one in ipairs(record.kids) do
        local later = one.t.deferred
        if later then later(stub, one.t, one, record.scope) end
    end
    stub.depth = stub.depth - 1
    judge(stub, t, record)
end

function flat.union(stub, t, record, scope)
    local wide, tag = stub.wide, t.tag
    align(stub, wide and alignment(t, true) or alignment(tag, false))
    local start = stub.pos
    local repeated = new_record(stub, tag)
    flat.number(stub, tag, repeated)
    record.at, record.len = start, repeated.len
    local selected = scope[t.selector]
    if repeated.v ~= selected then
        problem(stub, "ndr.union-tag", string.format(
            "the union says %.0f, the member that switches it %s", repeated.v, tostring(selected)), start)
    end
    local arm = selected and t.arms[selected]
    if not arm then
        stub.pos = start
        fail(stub, "unknown-selector", tostring(selected) .. " selects nothing")
    end
    if not arm.type then
        if wide then align(stub, arm_alignment(t, true)) end
        return
    end
    local own = arm.type
    align(stub, wide and arm_alignment(t, true) or alignment(own, false))
    record.arm, record.arm_name = new_record(stub, own), arm.name
    own.flat(stub, own, record.arm, scope)
end

function deferred.union(stub, _, record, scope)
    local arm = record.arm
    local later = arm and arm.t.deferred
    if later then later(stub, arm.t, arm, scope) end
end

-- Sections of a message: by the IDL a pointer to one array; where that does not work out and an array of
-- pointers does, that.
function flat.sections(stub, t, record, scope)
    align(stub, stub.wide and 8 or 4)
    local pos, depth, problems, records = stub.pos, stub.depth, #stub.problems, stub.records
    local wanted = scope[t.count]
    local function attempt(declared)
        for place = #stub.problems, problems + 1, -1 do stub.problems[place] = nil end
        stub.pos, stub.depth, stub.records = pos, depth, records
        record.at, record.len = pos, 0
        record.target = new_record(stub, declared)
        read_whole(stub, record.target, scope)
        record.len = stub.pos - pos
    end
    local function tried(declared)
        local done, reason = pcall(attempt, declared)
        if not done and type(reason) ~= "table" then error(reason, 0) end
        return done
    end
    if tried(t.declared) then
        local array = record.target.target
        local count = array and array.count or 0
        if not wanted or count == wanted then return end
    end
    if tried(t.pointers) then
        local whole, kids = true, record.target.kids or {}
        for _, one in ipairs(kids) do whole = whole and one.ref ~= 0 end
        if whole and #kids > 0 and #kids == wanted then
            problem(stub, "ndr.array-of-pointers",
                "sections as an array of pointers, not as the IDL has them", pos)
            return
        end
    end
    attempt(t.declared)
end

-- From here on types refer to each other and to what reads them, not to numbers.
for _, t in ipairs(tables.types) do
    for _, key in ipairs({"target", "element", "declared", "pointers", "tag"}) do
        if t[key] then t[key] = tables.types[t[key]] end
    end
    for _, member in ipairs(t.members or {}) do member.type = tables.types[member.type] end
    for _, arm in pairs(t.arms or {}) do
        if arm.type then arm.type = tables.types[arm.type] end
    end
    t.flat, t.deferred = flat[t.kind], deferred[t.kind]
end

-- Where the trailer of a request's stub begins (0-based), nil without one: [MS-RPCE] 2.2.2.13.
local function trailer_start(raw)
    local found
    local at = find(raw, TRAILER, 1, true)
    while at do
        if (at - 1) % 4 == 0 then
            local pos, seen = at + 8, {}
            for _ = 1, MAX_COMMANDS do
                local a, b, c, d = byte(raw, pos, pos + 3)
                if not d then break end
                local kind, length = a + b % 64 * 256, c + d * 256
                local needed = COMMAND_SIZES[kind] or length
                pos = pos + 4 + length
                if length % 4 ~= 0 or length ~= needed or pos > #raw + 1 or seen[kind] then break end
                if floor(b / 64) % 2 == 1 then
                    if pos == #raw + 1 then found = at - 1 end
                    break
                end
                seen[kind] = true
            end
        end
        at = find(raw, TRAILER, at + 1, true)
    end
    return found
end

-- A stub as a record of its parameters; what is wrong with it is in problems and reason.
local function read_stub(pdu, type_number, wide, big, is_request)
    local raw = pdu.stub and pdu.stub:raw() or ""
    -- An empty stub has no bytes to show: those of the header stand for them.
    local stub = {range = pdu.stub or pdu.header, raw = raw, pos = 0, stop = #raw, wide = wide, big = big,
        depth = 0, records = 0, problems = {}, paths = {}}
    if is_request then
        local trailer = trailer_start(raw)
        if trailer then stub.trailer, stub.stop = trailer, trailer end
    end
    local t = tables.types[type_number]
    stub.top = {t = t}
    local done, reason = pcall(read_members, stub, t, stub.top, true)
    if not done then
        if type(reason) ~= "table" then error(reason, 0) end
        stub.reason = reason
    end
    return stub
end

-- Stubs: showing.

local function utf8(point)
    if point < 0x80 then return char(point) end
    if point < 0x800 then return char(0xC0 + floor(point / 64), 0x80 + point % 64) end
    if point < 0x10000 then
        return char(0xE0 + floor(point / 4096), 0x80 + floor(point / 64) % 64, 0x80 + point % 64)
    end
    return char(0xF0 + floor(point / 262144), 0x80 + floor(point / 4096) % 64, 0x80 + floor(point / 64) % 64,
        0x80 + point % 64)
end

-- UTF-16 up to its first NUL as UTF-8; U+FFFD for what is no character.
local function text_of(stub, record)
    local raw, low, high = stub.raw, 1, 2
    if stub.big then low, high = 2, 1 end
    local units = math.min(floor(record.len / 2), MAX_UNITS)
    local out, place = {}, 0
    while place < units do
        local at = record.at + 2 * place
        local unit = byte(raw, at + low) + 256 * byte(raw, at + high)
        place = place + 1
        if unit == 0 then break end
        if unit >= 0xD800 and unit < 0xE000 then
            local point = 0xFFFD
            if unit < 0xDC00 and place < units then
                local other = byte(raw, at + 2 + low) + 256 * byte(raw, at + 2 + high)
                if other >= 0xDC00 and other < 0xE000 then
                    point = 0x10000 + (unit - 0xD800) * 1024 + other - 0xDC00
                    place = place + 1
                end
            end
            unit = point
        end
        out[#out + 1] = utf8(unit)
    end
    return table.concat(out)
end

local function guid_text(stub, record)
    local t, raw, at = record.t, stub.raw, record.at
    local b = {byte(raw, at + 1, at + 16)}
    if not (t.numbers and stub.big) then
        b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8] = b[4], b[3], b[2], b[1], b[6], b[5], b[8], b[7]
    end
    return string.format("%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", unpack(b))
end

local function member_of(record, name)
    for _, one in ipairs(record and record.kids or {}) do
        if one.name == name then return one end
    end
end

-- DIRECT= and what follows, the protocol and a suffix of the system in upper case.
local function direct_name(text, suffix)
    local scheme, rest = text:match("^(%w+)(:.*)$")
    if not scheme then return "DIRECT=" .. text end
    if not find(rest, ";", 1, true) then rest = rest .. suffix end
    rest = rest:gsub(";%a+$", function (tail)
        for _, known in pairs(SUFFIXES) do
            if tail:upper() == known and known ~= ";SUBQUEUE" then return known end
        end
    end)
    return "DIRECT=" .. scheme:upper() .. rest
end

local GUID_NAMES = {[1] = "PUBLIC=", [4] = "MACHINE=", [5] = "CONNECTOR="}

-- The format name of a QUEUE_FORMAT as it was sent, also where no queue can have it; nil where there is none:
-- [MS-MQMQ] 2.2.7.
local function format_name(stub, record)
    local kind, suffix = record.scope.m_qft, record.scope.m_suffix_and_flags
    local holder = member_of(record, "arm")
    local arm = holder and holder.arm
    if not suffix or not arm or not arm.at then return nil end
    suffix = suffix % 16
    suffix = suffix >= 1 and suffix <= 4 and SUFFIXES[suffix] or ""
    if kind == 3 or kind == 8 then
        local text = arm.target
        if not text or not text.at then return nil end
        return direct_name(text_of(stub, text), suffix)
    end
    if GUID_NAMES[kind] then return GUID_NAMES[kind] .. guid_text(stub, arm) .. suffix end
    if kind == 2 then
        local owner, number = member_of(arm, "lineage"), member_of(arm, "uniquifier")
        if not number or not number.v then return nil end
        return string.format("PRIVATE=%s\\%08x", guid_text(stub, owner), number.v) .. suffix
    end
    if kind == 6 then
        local list, domain = member_of(arm, "m_dl_guid"), member_of(arm, "m_pwz_domain")
        if not domain or not domain.at then return nil end
        local text = domain.target and domain.target.at and text_of(stub, domain.target) or ""
        return "DL=" .. guid_text(stub, list) .. (text ~= "" and "@" .. text or "") .. suffix
    end
    if kind == 7 then
        local a, port = member_of(arm, "m_address"), member_of(arm, "m_port")
        if not port or not port.v then return nil end
        return string.format("MULTICAST=%d.%d.%d.%d:%d", a.v % 256, floor(a.v / 256) % 256,
            floor(a.v / 65536) % 256, floor(a.v / 16777216), port.v) .. suffix
    end
end

-- A part of the stub; Wireshark has no empty range at the end of bytes, so that is shown as the last one.
local function part(stub, at, len)
    if at < #stub.raw then return stub.range(at, len) end
    return stub.range(stub.range:len() - 1, 0)
end

-- Adds a number or GUID in the byte order of the stub.
local function add_plain(stub, field, at, len, tree, swapped)
    if swapped then return tree:add(field, part(stub, at, len)) end
    return tree:add_le(field, part(stub, at, len))
end

local function add_text(stub, record, tree, field, text)
    if record.len > 0 then return tree:add(field, part(stub, record.at, record.len), text) end
    return tree:add(field, text)
end

local function flag_names(enumeration, value)
    local found = {}
    for _, bit in ipairs(enumeration.order) do
        if bit ~= 0 and floor(value / bit) % 2 == 1 then
            found[#found + 1] = enumeration.names[bit]
            value = value - bit
        end
    end
    if value ~= 0 then found[#found + 1] = string.format("0x%x", value) end
    return table.concat(found, "|")
end

local show

local function show_number(stub, record, path, tree)
    local item = add_plain(stub, BY_PATH[path], record.at, record.len, tree, stub.big)
    local flags = FLAGS[path]
    if flags and record.v > 0 then item:append_text(" (" .. flag_names(flags, record.v) .. ")") end
end

local shows = {number = show_number, wchar = show_number}

function shows.guid(stub, record, path, tree)
    add_plain(stub, BY_PATH[path], record.at, record.len, tree, stub.big and record.t.numbers)
end

function shows.pointer(stub, record, path, tree)
    local target = record.target
    local name = path:match("[^.]+$")
    if record.ref == 0 then
        if record.t.empty then
            tree:add(BY_PATH[path], part(stub, record.at, 0))
        else
            tree:add(F.null, part(stub, record.at, record.len), path):set_text(name .. ": NULL")
        end
    elseif target and target.t.kind == "pointer" and target.ref == 0 then
        local item = tree:add(F.null_pointee, part(stub, target.at, target.len), path)
        item:set_text(name .. ": pointer to NULL")
    elseif target then
        show(stub, target, path, tree)
    end
end

function shows.array(stub, record, path, tree)
    local element = record.t.element
    if element.kind == "wchar" then
        add_text(stub, record, tree, BY_PATH[path], text_of(stub, record))
    elseif is_octets(element) then
        tree:add(BY_PATH[path], part(stub, record.at, record.len))
    elseif record.kids then
        for _, one in ipairs(record.kids) do show(stub, one, path, tree) end
    elseif record.count > 0 then
        local size = record.len / record.count
        local swapped = stub.big and (element.kind == "number" or element.numbers)
        for place = 0, math.min(record.count, MAX_ELEMENTS) - 1 do
            add_plain(stub, BY_PATH[path], record.at + place * size, size, tree, swapped)
        end
        if record.count > MAX_ELEMENTS then
            tree:add(part(stub, record.at, record.len),
                string.format("and %d more", record.count - MAX_ELEMENTS))
        end
    end
end

local function show_members(stub, record, path, tree)
    for _, one in ipairs(record.kids or {}) do
        if one.t.kind == "union" then
            if one.arm then show(stub, one.arm, path .. "." .. one.arm_name, tree) end
        else
            show(stub, one, path .. "." .. one.name, tree)
        end
    end
end

function shows.struct(stub, record, path, tree)
    local t, paths = record.t, stub.paths
    local outer = paths[t]
    -- A structure inside itself has the filter names of the outer one.
    path = outer or path
    local own = part(stub, record.at, record.len)
    local name, item = path:match("[^.]+$")
    if KINDS[path] == "none" then item = tree:add(BY_PATH[path], own) else item = tree:add(own, name) end
    paths[t] = path
    show_members(stub, record, path, item)
    paths[t] = outer
    if t.queue then
        local text = format_name(stub, record)
        if text then
            item:add(BY_PATH[path .. ".format_name"], own, text):set_generated()
            item:append_text(": " .. text)
        end
    elseif t.handle then
        local handle = member_of(record, "uuid")
        if handle and handle.at then item:append_text(": " .. guid_text(stub, handle)) end
    end
end

function shows.sections(stub, record, path, tree)
    if record.target then show(stub, record.target, path, tree) end
end

function show(stub, record, path, tree)
    -- Without a place it was not reached.
    if record.at then shows[record.t.kind](stub, record, path, tree) end
end

-- Searching values: calls visit with every record that was reached, until it returns something.
local function search(record, visit)
    if not record or not record.at then return nil end
    local found = visit(record)
    if found then return found end
    if record.kids then
        for _, one in ipairs(record.kids) do
            found = search(one, visit)
            if found then return found end
        end
    end
    return search(record.target, visit) or search(record.arm, visit)
end

-- The queue that a request names itself.
local function named_queue(stub)
    local holder = member_of(stub.top, "p_queue_format") or member_of(stub.top, "p_object_format")
    if holder then
        return search(holder, function (record) return record.t.queue and format_name(stub, record) end)
    end
    local path = member_of(stub.top, "lpwcs_path_name")
    return path and path.at and text_of(stub, path) or nil
end

-- The GUIDs of the context handles among the parameters as a set; and whether there are handles at all.
local function handles_of(stub)
    local found, any = {}, false
    for _, one in ipairs(stub.top.kids or {}) do
        local uuid = one.t.handle and member_of(one, "uuid")
        if uuid and uuid.at then
            local bytes = sub(stub.raw, uuid.at + 1, uuid.at + 16)
            any = true
            if find(bytes, "[^\0]") then found[bytes] = true end
        end
    end
    return found, any
end

-- Members by which a request names an open queue without a handle.
local NUMBERS = {h_queue = "h_queue", h_remote_queue = "h_queue", h_qm_context = "h_qm_context"}

local function key_of(server, kind, value) return server .. " " .. kind .. " " .. value end

-- Adds what stands for an open queue among the members of a structure, or of one inside it.
local function add_numbers(record, server, keys)
    for _, one in ipairs(record.kids or {}) do
        local kind = NUMBERS[one.name]
        if kind and one.v and one.v ~= 0 then keys[#keys + 1] = key_of(server, kind, one.v) end
        while one and one.t.kind == "pointer" do one = one.target end
        if one and one.t.kind == "struct" and not one.t.handle then add_numbers(one, server, keys) end
    end
end

-- Messages.

local message_dissectors, own_dissector, structures = {}, nil, nil

local function dissector_of_messages(stem)
    if message_dissectors[stem] == nil then
        local found, dissector = pcall(Dissector.get, "msmq." .. stem)
        message_dissectors[stem] = found and dissector or false
    end
    return message_dissectors[stem]
end

-- Those of msmq.lua: each structure is a protocol, and a filter on a field asks for that protocol only.
local function dissectors_of_structures()
    if structures == nil then
        structures = {}
        for _, name in ipairs(dissector_of_messages("message_packet") and Dissector.list() or {}) do
            if name == "msmq" or name:sub(1, 5) == "msmq." then
                structures[#structures + 1] = Dissector.get(name)
            end
        end
    end
    return structures
end

local function filled_array(record)
    while record and record.t.kind == "pointer" do record = record.target end
    return record and record.t.kind == "array" and record.at and record or nil
end

-- The parts of the packet in sections as (ranges, bytes left out behind the first).
local function section_ranges(stub, record)
    local ranges, kinds, total = {}, {}, 0
    local array = filled_array(record.target)
    for _, one in ipairs(array and array.kids or {}) do
        while one and one.t.kind == "pointer" do one = one.target end
        local data = filled_array(one and member_of(one, "data"))
        if data and data.len > 0 then
            ranges[#ranges + 1] = part(stub, data.at, data.len)
            kinds[#kinds + 1] = one.scope.section_buffer_type
            total = total + data.len
        end
    end
    -- A first section ends in the body, and the server has left out the rest of that.
    if #ranges > 1 and FIRST_SECTIONS[kinds[2] and kinds[2] - 1] and FIRST_SECTIONS[kinds[1]] == nil then
        ranges[1], ranges[2] = ranges[2], ranges[1]
        kinds[1], kinds[2] = kinds[2], kinds[1]
    end
    local first = ranges[1]
    if not first or first:len() < 16 or not FIRST_SECTIONS[kinds[1]] then return ranges, 0 end
    local left_out = first(8, 4):le_uint() - total
    return ranges, left_out > 0 and left_out <= MAX_FILL and left_out or 0
end

local function show_message(stub, pinfo, tree)
    local stem, left_out, ranges = "message_packet", 0, {}
    local sections = member_of(stub.top, "pp_packet_sections")
    if sections and sections.target then
        ranges, left_out = section_ranges(stub, sections)
    else
        -- qm2qm carries a UserMessage packet, [MS-MQQP] 2.2.2.1.
        stem = "user_message"
        search(stub.top, function (record)
            if record.name ~= "lp_buffer" then return nil end
            local data = filled_array(record)
            if data and data.len > 0 then ranges = {part(stub, data.at, data.len)} end
            return true
        end)
    end
    local dissector = dissector_of_messages(stem)
    if #ranges == 0 or not dissector then return end
    local tvb
    if #ranges == 1 and left_out == 0 then
        tvb = ranges[1]:tvb()
    else
        local bytes = ranges[1]:bytes()
        if left_out > 0 then
            bytes:append(ByteArray.new(string.rep("\0", left_out), true))
            tree:add(ranges[1], left_out .. " bytes of the body were left out; zeros stand for them below")
        end
        for place = 2, #ranges do bytes:append(ranges[place]:bytes()) end
        tvb = bytes:tvb("MSMQ message packet")
    end
    dissector:call(tvb, pinfo, tree)
end

-- Conversations.
--
-- streams: by TCP stream, contexts by id as a list of (frame, uuid, syntax), so that any pass finds what was
-- negotiated before a frame; open: the last call by call id. frames: the calls of a frame in order.

--
-- A frame is new when it is behind all that were seen: tshark's first pass of two has no fields to look at,
-- so whether Wireshark has visited a frame does not tell whether this script has.

local streams, stream_order, frames, frame_order, handles, handle_order, latest

-- A queue of keys, of which the oldest leaves when there are too many.
local function new_order() return {first = 1, last = 0} end

local function remember(order, limit, kept, key)
    -- A key that was taken away and comes again stands there twice; that costs it some of its time.
    order.last = order.last + 1
    order[order.last] = key
    if order.last - order.first >= limit then
        kept[order[order.first]] = nil
        order[order.first] = nil
        order.first = order.first + 1
    end
end

local function reset()
    streams, frames, handles = {}, {}, {}
    stream_order, frame_order, handle_order, latest = new_order(), new_order(), new_order(), 0
end
reset()
proto.init = reset

local function known_interface(uuid) return uuid and tables.interfaces[uuid] end

local function set_context(stream, frame, id, uuid, syntax)
    if stream.count >= MAX_CONTEXTS then return end
    local history = stream.contexts[id]
    if not history then
        history = {}
        stream.contexts[id] = history
    end
    stream.count = stream.count + 1
    history[#history + 1] = {frame = frame, uuid = uuid, syntax = syntax}
end

local function context_at(stream, frame, id)
    local history = stream and stream.contexts[id]
    if not history then return nil end
    for place = #history, 1, -1 do
        if history[place].frame <= frame then return history[place].uuid and history[place] end
    end
end

local function note_bind(pdu, frame)
    local stream = streams[pdu.stream]
    if not stream then
        local ours = false
        for _, context in ipairs(pdu.contexts) do ours = ours or known_interface(context.uuid) end
        if not ours then return end
        stream = {contexts = {}, count = 0, open = {}, opened = new_order()}
        streams[pdu.stream] = stream
        remember(stream_order, MAX_STREAMS, streams, pdu.stream)
    end
    stream.offered, stream.offered_by = pdu.contexts, pdu.call_id
    for _, context in ipairs(pdu.contexts) do
        -- Until the answer, and without one, it is what the client asked for.
        if #context.transfers == 1 then
            set_context(stream, frame, context.id, context.uuid, context.transfers[1])
        end
    end
end

local function note_answer(pdu, frame)
    local stream = streams[pdu.stream]
    if not stream or stream.offered_by ~= pdu.call_id then return end
    for place, context in ipairs(stream.offered) do
        local result = pdu.results[place]
        if result and result.result == 0 then
            set_context(stream, frame, context.id, context.uuid, result.transfer)
        elseif result then
            set_context(stream, frame, context.id, nil, nil)
        end
    end
    stream.offered, stream.offered_by = nil, nil
end

-- The call that a request begins.
local function new_call(pdu, frame)
    local stream = streams[pdu.stream]
    local context = context_at(stream, frame, pdu.context_id)
    if not context then return nil end
    return {interface = known_interface(context.uuid), syntax = context.syntax, opnum = pdu.opnum}
end

local function note_call(pdu, frame)
    local stream = streams[pdu.stream]
    if not stream then return nil end
    local call = stream.open[pdu.call_id]
    if pdu.pkt_type == REQUEST then
        -- Fragments of one request are one call.
        if not call or call.answered or pdu.first then
            call = new_call(pdu, frame)
            if not call then return nil end
            stream.open[pdu.call_id] = call
            remember(stream.opened, MAX_CONTEXTS, stream.open, pdu.call_id)
        end
        if pdu.last then call.request = frame end
    else
        if not call then
            call = new_call(pdu, frame)
            if not call then return nil end
        end
        call.answered = true
        if pdu.last then call.response = frame end
    end
    return call
end

-- PDUs.

local function begin_pdu(pkt_type, stream)
    return {pkt_type = pkt_type, stream = stream, contexts = {}, results = {}, little = true, flags = 3}
end

local readers = {
    flags = function (pdu, info) pdu.flags = info.value end,
    byte_order = function (pdu, info) pdu.little = info.value == 1 end,
    call_id = function (pdu, info) pdu.call_id, pdu.header = info.value, info.range end,
    context_id = function (pdu, info)
        pdu.context_id = pdu.context_id or info.value
        if pdu.pkt_type == BIND or pdu.pkt_type == ALTER_CONTEXT then
            pdu.contexts[#pdu.contexts + 1] = {id = info.value, transfers = {}}
        end
    end,
    opnum = function (pdu, info) pdu.opnum = info.value end,
    status = function (pdu, info) pdu.status = info.value end,
    stub = function (pdu, info) pdu.stub = info.range end,
    decrypted = function (pdu, info) pdu.stub = info.range end,
    encrypted = function (pdu, info) pdu.encrypted = info.len > 0 end,
    request_in = function (pdu, info) pdu.request_in = info.value end,
    response_in = function (pdu, info) pdu.response_in = info.value end,
    reassembled = function (pdu) pdu.reassembled = true end,
    uuid = function (pdu, info)
        local context = pdu.contexts[#pdu.contexts]
        if context then context.uuid = tostring(info):lower() end
    end,
    transfer = function (pdu, info)
        local context = pdu.contexts[#pdu.contexts]
        if context then context.transfers[#context.transfers + 1] = tostring(info):lower() end
    end,
    result = function (pdu, info) pdu.results[#pdu.results + 1] = {result = info.value} end,
    accepted = function (pdu, info)
        local result = pdu.results[#pdu.results]
        if result then result.transfer = tostring(info):lower() end
    end,
}

local SIMPLE = {"flags", "byte_order", "call_id", "context_id", "opnum", "status", "stub", "decrypted",
    "encrypted", "request_in", "response_in"}

-- The PDUs of a frame. One PDU with a whole stub is read field by field; of anything else only the order of
-- all fields tells what belongs to what.
local function pdus_of()
    local types = {EXTRACT.pkt_type()}
    if #types == 0 then return nil end
    local kind = types[1].value
    if #types == 1 and SIDES[kind] and not EXTRACT.reassembled() then
        local all = {EXTRACT.stream()}
        if #all == 0 then return nil end
        local pdu = begin_pdu(kind, all[#all].value)
        for _, key in ipairs(SIMPLE) do
            local info = EXTRACT[key]()
            if info then readers[key](pdu, info) end
        end
        return {pdu}
    end
    local found, pdu, stream = {}, nil, nil
    for _, info in ipairs({all_field_infos()}) do
        local key = KEYS[info.name]
        if key == "stream" then
            stream, pdu = info.value, nil
        elseif key == "pkt_type" then
            pdu = stream and begin_pdu(info.value, stream)
            if pdu then found[#found + 1] = pdu end
        elseif key and pdu then
            readers[key](pdu, info)
        end
    end
    return found
end

local function status_name(code)
    local known = tables.statuses[code]
    if known then return known end
    local low = code % 65536
    if code - low == 0x80070000 and tables.win32_errors[low] then
        return "HRESULT_FROM_WIN32(" .. tables.win32_errors[low] .. ")"
    end
    -- HRESULT_FROM_NT sets a bit of an NTSTATUS that is an error.
    local unwrapped = code >= 0xD0000000 and floor(code / 0x10000000) % 2 == 1 and code - 0x10000000
    if unwrapped and tables.system_statuses[unwrapped] then
        return "HRESULT_FROM_NT(" .. tables.system_statuses[unwrapped] .. ")"
    end
    return string.format("0x%08X", code)
end

-- Ends a call with a status: an item, and a note where it is an error.
local function show_status(tree, range, status)
    local item = range and tree:add(F.status, range, status) or tree:add(F.status, status)
    item:set_text(string.format("Status: %s (0x%08x)", status_name(status), status)):set_generated()
    if status ~= 0 then item:add_proto_expert_info(status_expert, status_name(status)) end
end

local function show_stub(stub, side, pinfo, tree)
    show_members(stub, stub.top, side, tree)
    for _, one in ipairs(stub.problems) do
        local at = part(stub, math.min(one.at, stub.stop), 0)
        tree:add(F.anomaly, at, one.code):add_proto_expert_info(anomaly_expert, one.message)
    end
    if stub.reason then
        local at = part(stub, math.min(stub.reason.at, stub.stop), 0)
        tree:add(F.error, at, stub.reason.code):add_proto_expert_info(error_expert, stub.reason.message)
    elseif stub.pos < stub.stop then
        tree:add(F.remainder, part(stub, stub.pos, stub.stop - stub.pos))
    end
    if stub.trailer then
        tree:add(F.verification_trailer, part(stub, stub.trailer, #stub.raw - stub.trailer))
    end
    if side == "response" then show_message(stub, pinfo, tree) end
end

local function syntax_name(syntax)
    return syntax == NDR and "ndr" or syntax == NDR64 and "ndr64" or syntax or "unknown"
end

local function open_queue(key, entry)
    if not handles[key] then remember(handle_order, MAX_HANDLES, handles, key) end
    handles[key] = entry
end

local function opened_queue(keys)
    for _, key in ipairs(keys or {}) do
        if handles[key] then return handles[key].queue end
    end
end

local function note_request(call, stub, server)
    local keys = {}
    call.keys, call.handles = keys, handles_of(stub)
    for uuid in pairs(call.handles) do keys[#keys + 1] = key_of(server, "handle", uuid) end
    add_numbers(stub.top, server, keys)
    call.queue = named_queue(stub) or opened_queue(call.keys)
end

-- What a call that succeeded opened or closed; handles belong to a server, whatever connection brings them.
local function note_response(call, stub, method, server)
    -- The answer to an open may have come after the request, in front of this one.
    call.queue = call.queue or opened_queue(call.keys)
    local status = member_of(stub.top, "status")
    if status and status.v ~= 0 then return end
    local entry = {queue = call.queue}
    for name, known_as in pairs(method.numbers or {}) do
        local given = NUMBERS[known_as] and member_of(stub.top, name)
        if given and given.v and given.v ~= 0 then
            entry.number = key_of(server, known_as, given.v)
            open_queue(entry.number, entry)
        end
    end
    local after, any = handles_of(stub)
    local before = call.handles or {}
    for uuid in pairs(after) do
        if not before[uuid] then open_queue(key_of(server, "handle", uuid), entry) end
    end
    for uuid in pairs(any and before or {}) do
        local key = key_of(server, "handle", uuid)
        local closed = not after[uuid] and handles[key]
        if closed then
            handles[key] = nil
            if closed.number and handles[closed.number] == closed then handles[closed.number] = nil end
        end
    end
end

-- The server's address: handles belong to it.
local function server_of(pdu, address)
    local stream = streams[pdu.stream]
    if not stream then return tostring(address) end
    stream.server = stream.server or tostring(address)
    return stream.server
end

-- What there is to know of one PDU of a call: its side, method, stub and status.
local function read_call(pdu, call, fresh, pinfo)
    local side, wide = SIDES[pdu.pkt_type], call.syntax == NDR64
    local method = call.interface.methods and call.interface.methods[call.opnum]
    local read = {side = side, method = method, sealed = pdu.encrypted and not pdu.stub}
    read.whole = side == "fault" or pdu.last and (pdu.first or pdu.reassembled)
    if side == "fault" then
        read.status = pdu.status
    elseif not read.sealed and read.whole and method and (wide and pdu.little or call.syntax == NDR) then
        local stub = read_stub(pdu, method[side], wide, not pdu.little, side == "request")
        read.stub = stub
        if fresh and side == "request" then
            note_request(call, stub, server_of(pdu, pinfo.dst))
        elseif fresh then
            note_response(call, stub, method, server_of(pdu, pinfo.src))
        end
        local last = side == "response" and member_of(stub.top, "status")
        if last and last.at then read.status, read.status_at = last.v, last.at end
    end
    read.name = method and method.name
        or call.interface.name .. " opnum " .. (call.opnum and tostring(call.opnum) or "unknown")
    return read
end

-- What a PDU of a call says in the info column.
-- Text for people, with what is not seen, or controls what shows it, by its number. Fields have it as it is.
local SHORT = {[9] = "\\t", [10] = "\\n", [13] = "\\r"}

local function numbered(character)
    local first = byte(character)
    local code = first < 0x80 and first or first % (first < 0xE0 and 0x20 or first < 0xF0 and 0x10 or 8)
    for at = 2, #character do code = code * 64 + byte(character, at) % 64 end
    for _, range in ipairs(tables.unseen) do
        if code >= range[1] and code <= range[2] then
            if SHORT[code] then return SHORT[code] end
            return string.format(code < 0x100 and "\\x%02x" or code < 0x10000 and "\\u%04x" or "\\U%08x", code)
        end
    end
end

local function visible(text)
    if not find(text, "[\1-\31\127-\255]") then return text end
    return (text:gsub("[\1-\127\194-\244][\128-\191]*", numbered))
end

local function story_of(call, read)
    local words = {read.name .. " " .. read.side}
    if call.queue then words[#words + 1] = visible(call.queue) end
    if not read.whole then words[#words + 1] = "fragment" end
    if read.sealed then words[#words + 1] = "sealed" end
    if read.status then words[#words + 1] = status_name(read.status) end
    return table.concat(words, ", ")
end

local function show_call(pdu, call, read, pinfo, tree)
    local side, stub = read.side, read.stub
    local own = pdu.stub and tree:add(proto, pdu.stub) or tree:add(proto)
    own:set_text(TITLE .. ", " .. read.name .. " " .. side)
    own:add(F.interface, call.interface.name):set_generated()
    if read.method then own:add(F.method, read.method.name):set_generated() end
    if call.opnum then own:add(F.opnum, call.opnum):set_generated() end
    own:add(F.kind, side):set_generated()
    own:add(F.call_id, pdu.call_id):set_generated()
    if pdu.context_id then own:add(F.context_id, pdu.context_id):set_generated() end
    own:add(F.syntax, syntax_name(call.syntax)):set_generated()
    if side == "request" then
        local other = call.response or pdu.response_in
        if other then own:add(F.response_in, other):set_generated() end
    else
        local other = call.request or pdu.request_in
        if other then own:add(F.request_in, other):set_generated() end
    end
    if read.sealed then own:add(F.sealed, true):set_generated() end
    if stub then show_stub(stub, side, pinfo, own) end
    if read.status then show_status(own, read.status_at and part(stub, read.status_at, 4), read.status) end
    if call.queue then own:add(F.queue, call.queue):set_generated() end
end

-- For a tree that nobody looks at: what Wireshark counts beside it.
local function tell_experts(read, tree)
    local stub = read.stub
    for _, one in ipairs(stub and stub.problems or {}) do
        tree:add_proto_expert_info(anomaly_expert, one.message)
    end
    if stub and stub.reason then tree:add_proto_expert_info(error_expert, stub.reason.message) end
    if read.status and read.status ~= 0 then
        tree:add_proto_expert_info(status_expert, status_name(read.status))
    end
end

local function show_bind(pdu, tree)
    local own
    for _, context in ipairs(pdu.contexts) do
        local interface = known_interface(context.uuid)
        if interface then
            if not own then
                own = tree:add(proto)
                own:set_text(TITLE .. ", bind")
                own:add(F.kind, "bind"):set_generated()
            end
            local item = own:add(F.interface, interface.name):set_generated()
            item:add(F.context_id, context.id):set_generated()
            for _, syntax in ipairs(context.transfers) do
                item:add(F.syntax, syntax_name(syntax)):set_generated()
            end
        end
    end
end

-- Whether anything looks at what stands in the tree: the user, a filter, a column, another script.
local function wanted(tree)
    if tree.visible then return true end
    own_dissector = own_dissector or Dissector.get("msmq_rpc")
    if tree:referenced(own_dissector) then return true end
    for _, structure in ipairs(dissectors_of_structures()) do
        if tree:referenced(structure) then return true end
    end
    return false
end

function proto.dissector(_, pinfo, tree)
    local pdus = pdus_of()
    if not pdus then return end
    local frame, story = pinfo.number, {}
    local fresh, calls = frame > latest, frames[frame]
    if fresh then latest = frame end
    -- Of a frame that is not kept any more the calls are known, their links are not.
    local forgotten = not fresh and not calls
    calls = calls or {}
    for place, pdu in ipairs(pdus) do
        local kind = pdu.pkt_type
        pdu.first, pdu.last = pdu.flags % 2 == 1, floor(pdu.flags / 2) % 2 == 1
        if not pdu.call_id then
            -- Connectionless, or cut in its header.
        elseif kind == BIND or kind == ALTER_CONTEXT then
            if fresh then note_bind(pdu, frame) end
            show_bind(pdu, tree)
        elseif kind == BIND_ACK or kind == ALTER_CONTEXT_RESP then
            if fresh then note_answer(pdu, frame) end
        elseif SIDES[kind] then
            if fresh then calls[place] = note_call(pdu, frame) end
            local call = forgotten and new_call(pdu, frame) or calls[place]
            if call and call.interface then
                local read = read_call(pdu, call, fresh, pinfo)
                if wanted(tree) then
                    show_call(pdu, call, read, pinfo, tree)
                else
                    tell_experts(read, tree)
                end
                story[#story + 1] = story_of(call, read)
            end
        end
    end
    if fresh and next(calls) then
        frames[frame] = calls
        remember(frame_order, MAX_FRAMES, frames, frame)
    end
    if #story > 0 then
        pinfo.cols.protocol = "MSMQ-RPC"
        pinfo.cols.info:clear_fence()
        pinfo.cols.info = table.concat(story, "; ")
    end
end

register_postdissector(proto)
