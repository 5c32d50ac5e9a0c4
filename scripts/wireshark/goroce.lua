-- Wireshark's dissector for goroce's extension of RoCEv2 (docs/wire.md): XACK, XDATA, SRC, PROBE,
-- PROBE_ACK, RTS, TOKEN and CREDIT, with instructions for its installation.
--
-- It replaces Wireshark's own RoCEv2 dissector on UDP port 4791 and calls it for all opcodes except
-- those of the extension. Of these it shows the common header and the TLVs, and calls the other
-- dissector for the wrapped packet: an XACK as an ACK, an XDATA as the packet whose opcode it names.
-- The others wrap none. For every packet it shows the marks in its BTH.

local goroce = Proto("goroce", "goroce extension of RoCEv2")

local ROCE_PORT = 4791
local BTH, XCH, AETH, ICRC = 12, 4, 4, 4 -- lengths
local TLVS = BTH + XCH + AETH            -- where TLVs begin
local MAX_TLVS = 192
local FIRST, LAST, PROBE, PROBE_ACK, RTS, TOKEN, CREDIT, XACK, XDATA, SRC = 0xc0, 0xdf, 0xc0, 0xc1, 0xc2, 0xc3, 0xc4, 0xc5, 0xc6, 0xc7
local RTS_LEN, TOKEN_LEN, RANGE_LEN, MAX_RANGES = 16, 8, 4, 32
local MARKS = 8 -- the byte of the BTH that has them
local PROBE_LEN, ECHO_LEN, ALONE, RESPONSE = 8, 20, 2, 3
local RC_ACK = 0x11
local PAD, TIMING, SACK, INT, INT_ECHO, CREDITS, HOST, BOLT, ECN_ECHO, BOLT_ECHO, GRANT, OPTIONAL, GAP = 0, 1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 128, 140
local GRANT_LEN, CREDIT_LEN, HOST_LEN, RESIDENCE = 4, 16, 12, 1
local BOLT_LEN, BOLT_ECHO_LEN, SRC_LEN, GAP_LEN = 12, 16, 8, 12
local INT_ECHO_HEAD, ECN_ECHO_LEN, TIMING_LEN, INT_HEAD, INT_RECORD, MAX_RECORDS, MAX_BITS = 8, 8, 16, 4, 16, 7, 512

local opcodes = { [PROBE] = "PROBE", [PROBE_ACK] = "PROBE_ACK", [RTS] = "RTS", [TOKEN] = "TOKEN", [CREDIT] = "CREDIT", [XACK] = "XACK", [XDATA] = "XDATA", [SRC] = "SRC" }
local types = { [PAD] = "PAD", [TIMING] = "TIMING", [SACK] = "SACK", [INT] = "INT", [INT_ECHO] = "INT_ECHO", [ECN_ECHO] = "ECN_ECHO",
    [BOLT] = "BOLT", [BOLT_ECHO] = "BOLT_ECHO", [GRANT] = "GRANT", [CREDITS] = "CREDIT", [HOST] = "HOST", [GAP] = "GAP" }

local f = {
    opcode = ProtoField.uint8("goroce.opcode", "Opcode", base.HEX, opcodes),
    version = ProtoField.uint8("goroce.version", "Version", base.DEC, nil, 0xf0),
    tlvs = ProtoField.uint8("goroce.tlvs", "Length of the TLVs", base.DEC, nil, nil, "in units of 4 bytes"),
    tag = ProtoField.uint16("goroce.tag", "Tag", base.HEX, nil, nil, "chosen by the receiver of the packet"),
    qp = ProtoField.uint24("goroce.probe.qp", "Queue pair", base.HEX),
    psn = ProtoField.uint24("goroce.probe.psn", "PSN", base.HEX),
    mode = ProtoField.uint8("goroce.probe.mode", "Mode", base.DEC, { [1] = "beside data", [ALONE] = "probe", [RESPONSE] = "response" }),
    number = ProtoField.uint8("goroce.probe.number", "Number"),
    left = ProtoField.uint64("goroce.probe.left", "Left the prober", base.DEC, nil, nil, "in ns"),
    probe_residence = ProtoField.uint32("goroce.probe.residence", "Time there", base.DEC, nil, nil, "in ns"),
    probe_arrived = ProtoField.uint32("goroce.probe.arrived", "Arrived", base.DEC, nil, nil, "in ns"),
    probe_ttl = ProtoField.uint8("goroce.probe.ttl", "Hop limit at arrival"),
    probe_tos = ProtoField.uint8("goroce.probe.tos", "TOS at arrival", base.HEX),
    probe_gap = ProtoField.uint64("goroce.probe.gap", "Poll gap", base.DEC, nil, nil, "in ns: how long before its arrival it may have waited"),
    unscheduled = ProtoField.bool("goroce.mark.unscheduled", "Left without a token", 8, nil, 0x40),
    more = ProtoField.bool("goroce.mark.more", "More than a BDP waits", 8, nil, 0x20),
    echo = ProtoField.bool("goroce.mark.echo", "A token came with congestion experienced", 8, nil, 0x10),
    timed_too = ProtoField.bool("goroce.mark.timing", "Asks for a TIMING", 8, nil, 0x08),
    demand = ProtoField.uint32("goroce.rts.demand", "Demand", base.DEC, nil, nil, "bytes since the connection began"),
    spent = ProtoField.uint32("goroce.rts.spent", "Spent", base.DEC, nil, nil, "bytes since the connection began"),
    ce = ProtoField.uint16("goroce.rts.ce", "Tokens with congestion experienced"),
    answered = ProtoField.uint16("goroce.rts.seq", "TOKEN that is answered"),
    rts_flags = ProtoField.uint8("goroce.rts.flags", "Flags", base.HEX),
    limit = ProtoField.uint32("goroce.token.limit", "Limit", base.DEC, nil, nil, "bytes since the connection began"),
    token = ProtoField.uint16("goroce.token.seq", "Number"),
    holes = ProtoField.uint8("goroce.token.ranges", "Ranges"),
    token_flags = ProtoField.uint8("goroce.token.flags", "Flags", base.HEX, nil, 0x1f),
    priority = ProtoField.uint8("goroce.token.priority", "Priority of the data", base.DEC, nil, 0xe0),
    hole = ProtoField.uint24("goroce.token.first", "Missing from", base.HEX),
    holes_of = ProtoField.uint8("goroce.token.count", "Packets"),
    grant = ProtoField.uint16("goroce.grant.seq", "Left by TOKEN"),
    credit_flags = ProtoField.uint8("goroce.credit.flags", "Flags", base.HEX),
    epoch = ProtoField.uint8("goroce.credit.epoch", "Times that the lines changed"),
    lines = ProtoField.uint32("goroce.credit.lines", "Lines that may be unconsumed"),
    returned = ProtoField.uint64("goroce.credit.returned", "Lines returned", base.DEC, nil, nil, "since the connection began"),
    waited = ProtoField.uint32("goroce.host.waited", "Waited for the program", base.DEC, nil, nil, "in ns"),
    served = ProtoField.uint32("goroce.host.served", "Took the program", base.DEC, nil, nil, "in ns"),
    inner = ProtoField.uint8("goroce.inner", "Inner opcode", base.HEX),
    tlv = ProtoField.none("goroce.tlv", "TLV"),
    type = ProtoField.uint8("goroce.tlv.type", "Type", base.DEC, types),
    length = ProtoField.uint8("goroce.tlv.length", "Length", base.DEC, nil, nil, "in units of 4 bytes"),
    content = ProtoField.bytes("goroce.tlv.content", "Content"),
    bits = ProtoField.uint16("goroce.sack.bits", "Bits"),
    map = ProtoField.bytes("goroce.sack.map", "Bit map"),
    here = ProtoField.string("goroce.sack.here", "Here"),
    missing = ProtoField.string("goroce.sack.missing", "Missing"),
    ttl = ProtoField.uint8("goroce.timing.ttl", "Hop limit at arrival"),
    timed = ProtoField.uint24("goroce.timing.psn", "Packet", base.HEX),
    residence = ProtoField.uint32("goroce.timing.residence", "Time here", base.DEC, nil, nil, "in ns"),
    arrived = ProtoField.uint32("goroce.timing.arrived", "Arrived", base.DEC, nil, nil, "in ns"),
    gap = ProtoField.uint32("goroce.gap.gap", "Poll gap", base.DEC, nil, nil, "in ns: how long before its arrival the packet may have waited"),
    away = ProtoField.uint32("goroce.gap.away", "Away", base.DEC, nil, nil, "in ns: for how much of its stay the receiver did not poll"),
    records = ProtoField.uint8("goroce.int_echo.records", "Records"),
    brought = ProtoField.uint24("goroce.int_echo.psn", "Packet", base.HEX),
    marked = ProtoField.uint32("goroce.ecn.marked", "Packets marked", base.DEC, nil, nil, "since the connection began"),
    flags = ProtoField.uint8("goroce.bolt.flags", "Flags", base.HEX),
    sender = ProtoField.uint24("goroce.bolt.sender", "Queue pair of the sender", base.HEX),
    link = ProtoField.uint16("goroce.bolt.rate", "Link rate", base.DEC, nil, nil, "in 100 Mb/s"),
    drain = ProtoField.uint32("goroce.bolt.drain", "Queue drains in", base.DEC, nil, nil, "in ns"),
    ais = ProtoField.uint16("goroce.bolt.ai", "Packets with AI"),
    incs = ProtoField.uint32("goroce.bolt.inc", "Packets with INC"),
    decs = ProtoField.uint16("goroce.bolt.dec", "Packets with DEC"),
    filled = ProtoField.uint8("goroce.int.filled", "Records filled"),
    fits = ProtoField.uint8("goroce.int.fits", "Records that fit"),
    record = ProtoField.none("goroce.int.record", "Record"),
    port = ProtoField.uint16("goroce.int.port", "Port", base.HEX),
    rate = ProtoField.uint16("goroce.int.rate", "Link rate", base.DEC, nil, nil, "in 100 Mb/s"),
    time = ProtoField.uint32("goroce.int.time", "Clock", base.DEC, nil, nil, "in ns"),
    sent = ProtoField.uint32("goroce.int.sent", "Sent", base.DEC, nil, nil, "bytes"),
    queue = ProtoField.uint32("goroce.int.queue", "Queue", base.DEC, nil, nil, "bytes"),
    trimmed = ProtoField.uint32("goroce.trimmed", "Bytes that a switch cut off", base.DEC, nil, nil, "all behind what is here"),
    trimmed_qp = ProtoField.uint24("goroce.trimmed.qp", "Queue pair", base.HEX),
    trimmed_psn = ProtoField.uint24("goroce.trimmed.psn", "PSN", base.HEX),
}
goroce.fields = f

-- Errors for which the receiver drops the packet.
local function wrong(name, text)
    return ProtoExpert.new("goroce.wrong." .. name, text, expert.group.MALFORMED, expert.severity.ERROR)
end
local e = {
    opcode = wrong("opcode", "Opcode that is kept for the extension"),
    short = wrong("length", "Packet too short for the extension"),
    version = wrong("version", "Version that this dissector does not know"),
    area = wrong("tlvs", "TLVs longer than they may be, or than the packet"),
    left = wrong("left", "Bytes behind the TLVs of an XACK"),
    probe = wrong("probe.length", "PROBE or PROBE_ACK of a wrong length"),
    mode = wrong("probe.mode", "Mode that this packet does not have"),
    rts = wrong("rts", "RTS with TLVs, or of a wrong length"),
    token = wrong("token", "TOKEN with TLVs, or whose length does not match its ranges"),
    hole = wrong("token.range", "Range of no packets"),
    credit = wrong("credit", "CREDIT of a wrong length, or not alone in a packet of its own"),
    host = wrong("host", "HOST of a wrong length"),
    grant = wrong("grant", "GRANT of a wrong length"),
    src = wrong("src", "SRC with TLVs, or of a wrong length"),
    bolt = wrong("bolt", "BOLT or BOLT_ECHO of a wrong length"),
    inner = wrong("inner", "No opcode to wrap"),
    fit = wrong("tlv.length", "TLV that does not fit its area"),
    twice = wrong("tlv.twice", "TLV that comes twice"),
    unknown = wrong("tlv.unknown", "Unknown TLV that may not be skipped"),
    place = wrong("tlv.place", "TLV that has no place here"),
    timing = wrong("timing", "TIMING of a wrong length"),
    echo = wrong("ecn", "ECN_ECHO of a wrong length"),
    sack = wrong("sack", "SACK whose bits are not 32 to 512, in steps of 32, or not its length"),
    int = wrong("int", "INT whose length does not match its records"),
    skipped = ProtoExpert.new("goroce.tlv.skipped", "Unknown TLV, to be skipped", expert.group.UNDECODED, expert.severity.NOTE),
    empty = ProtoExpert.new("goroce.sack.empty", "SACK without a bit", expert.group.SEQUENCE, expert.severity.WARN),
}
do
    local all = {}
    for _, x in pairs(e) do all[#all + 1] = x end
    goroce.experts = all
end

-- wraps reports whether XDATA may wrap an opcode: those of RC, UC and UD (IB table 38).
local function wraps(op)
    return op <= 0x14 or op == 0x16 or op == 0x17 or (op >= 0x20 and op <= 0x2b) or op == 0x64 or op == 0x65
end

-- ranges shows sorted PSNs: 0x000005, 0x000007..0x000009.
local function ranges(psns)
    local out, i = {}, 1
    while i <= #psns do
        local j = i
        while psns[j + 1] == (psns[j] + 1) % 0x1000000 do j = j + 1 end
        out[#out + 1] = i == j and string.format("0x%06x", psns[i]) or string.format("0x%06x..0x%06x", psns[i], psns[j])
        i = j + 1
    end
    return table.concat(out, ", ")
end

local function add_sack(range, tree, epsn)
    local n = range(2, 2):uint()
    tree:add(f.bits, range(2, 2))
    if n == 0 or n % 32 ~= 0 or n > MAX_BITS or range:len() ~= 4 + n / 8 then
        tree:add_proto_expert_info(e.sack)
        return
    end
    local map = range(4)
    tree:add(f.map, map)
    local here, missing, unset = {}, {}, { epsn }
    for i = 0, n - 1 do
        local psn = (epsn + 1 + i) % 0x1000000
        if math.floor(map(math.floor(i / 8), 1):uint() / 2 ^ (7 - i % 8)) % 2 == 1 then
            here[#here + 1] = psn
            for _, p in ipairs(unset) do missing[#missing + 1] = p end
            unset = {}
        else
            unset[#unset + 1] = psn
        end
    end
    if #here == 0 then
        tree:add_proto_expert_info(e.empty)
        return
    end
    tree:add(f.here, map, ranges(here)):set_generated()
    tree:add(f.missing, map, ranges(missing)):set_generated()
    tree:append_text(": missing " .. ranges(missing))
end

-- add_records shows n INT records from byte head on.
local function add_records(range, tree, head, n)
    for i = 0, n - 1 do
        local r = range(head + i * INT_RECORD, INT_RECORD)
        local sub = tree:add(f.record, r)
        sub:append_text(string.format(" %d: %d bytes queued", i, r(12, 4):uint()))
        sub:add(f.port, r(0, 2))
        sub:add(f.rate, r(2, 2)):append_text(string.format(" (%g Gb/s)", r(2, 2):uint() / 10))
        sub:add(f.time, r(4, 4)):append_text(" ns")
        sub:add(f.sent, r(8, 4)):append_text(" bytes")
        sub:add(f.queue, r(12, 4)):append_text(" bytes")
    end
end

local function add_int_echo(range, tree)
    local n = range:len() >= INT_ECHO_HEAD and range(2, 1):uint() or MAX_RECORDS + 1
    if n > MAX_RECORDS or range:len() ~= INT_ECHO_HEAD + n * INT_RECORD then
        tree:add_proto_expert_info(e.int)
        return
    end
    tree:add(f.records, range(2, 1))
    tree:add(f.brought, range(4, 3))
    tree:append_text(string.format(": %d records of 0x%06x", n, range(4, 3):uint()))
    add_records(range, tree, INT_ECHO_HEAD, n)
end

local function add_int(range, tree)
    local filled, fits = range(2, 1):uint(), range(3, 1):uint()
    tree:add(f.filled, range(2, 1))
    tree:add(f.fits, range(3, 1))
    if fits > MAX_RECORDS or filled > fits or range:len() ~= INT_HEAD + fits * INT_RECORD then
        tree:add_proto_expert_info(e.int)
        return
    end
    tree:append_text(string.format(": %d of %d records", filled, fits))
    add_records(range, tree, INT_HEAD, filled)
end

local bolt_flags = { "FIRST", "LAST", "INC", "DEC", "AI" }

-- add_report shows a switch's report of its queue.
local function add_report(range, tree)
    tree:add(f.link, range(0, 2)):append_text(string.format(" (%g Gb/s)", range(0, 2):uint() / 10))
    tree:add(f.drain, range(2, 4)):append_text(" ns")
end

local function add_bolt(range, tree)
    local flags, names = range(2, 1):uint(), {}
    for i, name in ipairs(bolt_flags) do
        if math.floor(flags / 2 ^ (i - 1)) % 2 == 1 then names[#names + 1] = name end
    end
    tree:add(f.flags, range(2, 1)):append_text(" " .. table.concat(names, " "))
    tree:add(f.sender, range(3, 3))
    add_report(range(6, 6), tree)
    tree:append_text(": " .. table.concat(names, " "))
end

local function add_bolt_echo(range, tree)
    tree:add(f.ais, range(2, 2))
    tree:add(f.incs, range(4, 4))
    tree:add(f.decs, range(8, 2))
    add_report(range(10, 6), tree)
end

-- named returns the names of flags that are set, lowest bit first.
local function named(flags, names)
    local out = ""
    for i, name in ipairs(names) do
        if name ~= "" and math.floor(flags / 2 ^ (i - 1)) % 2 == 1 then out = out .. " " .. name end
    end
    return out
end

local credit_flags = { "asks", "idle", "beyond-ddio", "approaching" }

-- add_credit shows a CREDIT and returns a summary line.
local function add_credit(range, tree)
    local flags = named(range(2, 1):uint(), credit_flags)
    tree:add(f.credit_flags, range(2, 1)):append_text(flags)
    tree:add(f.epoch, range(3, 1))
    tree:add(f.lines, range(4, 4))
    tree:add(f.returned, range(8, 8))
    return string.format(": %d lines, %s returned", range(4, 4):uint(), tostring(range(8, 8):uint64())) .. flags
end

-- add_tlv shows one TLV in an area of TLVs; first is true for the first one.
local function add_tlv(range, tree, op, epsn, first)
    local type = range(0, 1):uint()
    tree:add(f.type, range(0, 1))
    tree:add(f.length, range(1, 1))
    tree:append_text(" " .. (types[type] or type))
    if type == SACK and op == XACK then
        add_sack(range, tree, epsn)
    elseif type == INT and op == XDATA and first then
        add_int(range, tree)
    elseif type == INT_ECHO and op == XACK then
        add_int_echo(range, tree)
    elseif type == TIMING and op == XACK and range:len() == TIMING_LEN then
        tree:add(f.ttl, range(2, 1))
        tree:add(f.timed, range(4, 3))
        tree:add(f.residence, range(8, 4)):append_text(" ns")
        tree:add(f.arrived, range(12, 4)):append_text(" ns")
        tree:append_text(string.format(": 0x%06x was here for %d ns", range(4, 3):uint(), range(8, 4):uint()))
    elseif type == GAP and op == XACK and range:len() == GAP_LEN then
        tree:add(f.gap, range(4, 4)):append_text(" ns")
        tree:add(f.away, range(8, 4)):append_text(" ns")
        tree:append_text(string.format(": waited for up to %d ns, the receiver was away for %d ns", range(4, 4):uint(), range(8, 4):uint()))
    elseif type == ECN_ECHO and op == XACK and range:len() == ECN_ECHO_LEN then
        tree:add(f.marked, range(4, 4))
        tree:append_text(": " .. range(4, 4):uint() .. " packets marked")
    elseif type == BOLT and op == XDATA and first and range:len() == BOLT_LEN then
        add_bolt(range, tree)
    elseif type == BOLT_ECHO and op == XACK and range:len() == BOLT_ECHO_LEN then
        add_bolt_echo(range, tree)
    elseif type == CREDITS and op == XACK and range:len() == CREDIT_LEN then
        tree:append_text(add_credit(range, tree))
    elseif type == HOST and op == XACK and range:len() == HOST_LEN and range(2, 2):uint() == RESIDENCE then
        tree:add(f.waited, range(4, 4)):append_text(" ns")
        tree:add(f.served, range(8, 4)):append_text(" ns")
        tree:append_text(string.format(": waited %d ns, took %d ns", range(4, 4):uint(), range(8, 4):uint()))
    elseif type == GRANT and op == XDATA and range:len() == GRANT_LEN then
        tree:add(f.grant, range(2, 2))
        tree:append_text(": " .. range(2, 2):uint())
    else
        tree:add(f.content, range(2))
        if (type == BOLT and op == XDATA and first) or (type == BOLT_ECHO and op == XACK) then
            tree:add_proto_expert_info(e.bolt)
        elseif type == SACK or type == INT or type == BOLT or type == BOLT_ECHO or (type == GRANT and op ~= XDATA) or ((type == TIMING or type == INT_ECHO or type == ECN_ECHO or type == CREDITS or type == HOST) and op ~= XACK) then
            tree:add_proto_expert_info(e.place)
        elseif type == TIMING then
            tree:add_proto_expert_info(e.timing)
        elseif type == ECN_ECHO then
            tree:add_proto_expert_info(e.echo)
        elseif type == GRANT then
            tree:add_proto_expert_info(e.grant)
        elseif type == CREDITS then
            tree:add_proto_expert_info(e.credit)
        elseif type == HOST then
            if range:len() ~= HOST_LEN then tree:add_proto_expert_info(e.host) end
        elseif type > INT and type < OPTIONAL then
            tree:add_proto_expert_info(e.unknown)
        elseif type >= OPTIONAL then
            tree:add_proto_expert_info(e.skipped)
        end
    end
end

local function add_tlvs(area, tree, op, epsn)
    local seen, at = {}, 0
    while at < area:len() do
        local left = area:len() - at
        local n = left >= 4 and area(at + 1, 1):uint() * 4 or 0
        if n == 0 or n > left then
            tree:add(f.tlv, area(at)):add_proto_expert_info(e.fit)
            return
        end
        local range = area(at, n)
        local sub = tree:add(f.tlv, range)
        add_tlv(range, sub, op, epsn, at == 0)
        local type = range(0, 1):uint()
        if seen[type] and type ~= PAD then sub:add_proto_expert_info(e.twice) end
        seen[type] = true
        at = at + n
    end
end

-- add_probe shows a PROBE or PROBE_ACK.
local function add_probe(tvb, tree, op)
    local at = BTH + XCH
    local mode, number = tvb(at, 1):uint(), tvb(at + 1, 1):uint()
    tree:add(f.qp, tvb(5, 3))
    tree:add(f.psn, tvb(BTH - 3, 3))
    local item = tree:add(f.mode, tvb(at, 1))
    if mode ~= (op == PROBE and ALONE or RESPONSE) then item:add_proto_expert_info(e.mode) end
    tree:add(f.number, tvb(at + 1, 1))
    tree:add(f.left, tvb(at + 2, 6)):append_text(" ns")
    tree:append_text(" " .. number)
    if op == PROBE then return end
    tree:add(f.probe_residence, tvb(at + 8, 4)):append_text(" ns")
    tree:add(f.probe_arrived, tvb(at + 12, 4)):append_text(" ns")
    tree:add(f.probe_ttl, tvb(at + 16, 1))
    tree:add(f.probe_tos, tvb(at + 17, 1))
    local short = tvb(at + 18, 2):uint() -- 5 bits of exponent, 11 of mantissa
    tree:add(f.probe_gap, tvb(at + 18, 2), UInt64(short % 0x800) * UInt64(2 ^ math.floor(short / 0x800))):append_text(" ns")
    tree:append_text(", there for " .. tvb(at + 8, 4):uint() .. " ns")
end

local rts_flags = { "repeat", "unscheduled", "", "answers", "", "ends", "behind", "again" }
local token_flags = { "repeat", "", "asks", "trimmed", "single" }

-- add_rts shows an RTS and returns a summary line.
local function add_rts(tvb, tree)
    local at = BTH + XCH
    local flags = named(tvb(at + 12, 1):uint(), rts_flags)
    tree:add(f.demand, tvb(at, 4)):append_text(" bytes")
    tree:add(f.spent, tvb(at + 4, 4)):append_text(" bytes")
    tree:add(f.ce, tvb(at + 8, 2))
    tree:add(f.answered, tvb(at + 10, 2))
    tree:add(f.rts_flags, tvb(at + 12, 1)):append_text(flags)
    return string.format("RTS: demand %d, spent %d", tvb(at, 4):uint(), tvb(at + 4, 4):uint()) .. flags
end

-- add_token shows a TOKEN and returns a summary line.
local function add_token(tvb, tree)
    local at = BTH + XCH
    local flags, n = named(tvb(at + 7, 1):uint() % 32, token_flags), tvb(at + 6, 1):uint()
    tree:add(f.limit, tvb(at, 4)):append_text(" bytes")
    tree:add(f.token, tvb(at + 4, 2))
    tree:add(f.holes, tvb(at + 6, 1))
    tree:add(f.token_flags, tvb(at + 7, 1)):append_text(flags)
    tree:add(f.priority, tvb(at + 7, 1))
    for i = 0, n - 1 do
        local r = at + TOKEN_LEN + i * RANGE_LEN
        tree:add(f.hole, tvb(r, 3))
        local count = tree:add(f.holes_of, tvb(r + 3, 1))
        if tvb(r + 3, 1):uint() == 0 then count:add_proto_expert_info(e.hole) end
    end
    return string.format("TOKEN %d: limit %d, %d ranges", tvb(at + 4, 2):uint(), tvb(at, 4):uint(), n) .. flags
end

-- add_marks shows the marks of a packet between ours.
local function add_marks(tvb, tree)
    for _, mark in ipairs({ f.unscheduled, f.more, f.echo, f.timed_too }) do
        tree:add(mark, tvb(MARKS, 1))
    end
end

local udp_port = DissectorTable.get("udp.port")
local roce = udp_port:get_dissector(ROCE_PORT)

-- wrapped builds the packet that ours wraps: its BTH with a standard opcode, and what follows.
local function wrapped(tvb, op, from, to)
    local bytes = tvb(0, BTH):bytes()
    bytes:set_index(0, op)
    if to > from then bytes:append(tvb(from, to - from):bytes()) end
    bytes:append(tvb(tvb:len() - ICRC):bytes())
    return bytes:tvb("wrapped packet")
end

local udp_length = Field.new("udp.length")

-- add_trimmed shows a packet that a switch trimmed to its headers: its UDP length exceeds the packet.
local function add_trimmed(tvb, pinfo, root, gone)
    local tree = root:add(goroce, tvb(0, BTH))
    tree:append_text(", trimmed packet: the length of UDP is that of the whole one")
    tree:add(f.trimmed, gone):set_generated()
    tree:add(f.trimmed_qp, tvb(5, 3))
    tree:add(f.trimmed_psn, tvb(BTH - 3, 3))
    pinfo.cols.info = string.format("Trimmed: opcode 0x%02x, PSN 0x%06x, %d bytes gone", tvb(0, 1):uint(), tvb(BTH - 3, 3):uint(), gone)
    pinfo.cols.protocol = "goroce"
    return tvb:len()
end

function goroce.dissector(tvb, pinfo, root)
    local op = tvb:len() > 0 and tvb(0, 1):uint() or 0
    local said = udp_length()
    if said and tvb:len() >= BTH and said.value - 8 > tvb:reported_len() then
        return add_trimmed(tvb, pinfo, root, said.value - 8 - tvb:reported_len())
    end
    local marked = tvb:len() > MARKS and math.floor(tvb(MARKS, 1):uint() / 8) % 16 ~= 0
    if op < FIRST or op > LAST then
        local read = roce:call(tvb, pinfo, root)
        if marked then add_marks(tvb, root:add(goroce, tvb(MARKS, 1), "goroce marks")) end
        return read
    end

    local cut = tvb:len() < tvb:reported_len() -- by the capture
    local tree = root:add(goroce, tvb())
    tree:add(f.opcode, tvb(0, 1))
    pinfo.cols.protocol = "goroce"
    pinfo.cols.info = opcodes[op] or "?"
    -- give_up reports why the rest cannot be read.
    local function give_up(why)
        tree:add_proto_expert_info(why)
        return tvb:len()
    end
    if not opcodes[op] then return give_up(e.opcode) end
    if tvb:reported_len() < TLVS + ICRC then return give_up(e.short) end
    if tvb:len() < TLVS then return tvb:len() end

    tree:append_text(", " .. opcodes[op])
    tree:add(f.version, tvb(BTH, 1))
    tree:add(f.tlvs, tvb(BTH + 1, 1)):append_text(" (times 4 bytes)")
    tree:add(f.tag, tvb(BTH + 2, 2))
    if marked then add_marks(tvb, tree) end
    local length = tvb(BTH + 1, 1):uint() * 4
    local behind = TLVS + length
    if tvb(BTH, 1):uint() >= 32 or tvb(BTH, 1):uint() < 16 then return give_up(e.version) end
    if op == PROBE or op == PROBE_ACK then
        local ends = BTH + XCH + (op == PROBE and PROBE_LEN or ECHO_LEN)
        if length > 0 then return give_up(e.area) end
        if ends + ICRC ~= tvb:reported_len() then return give_up(e.probe) end
        if ends <= tvb:len() then add_probe(tvb, tree, op) end
        return tvb:len()
    end
    if op == RTS then
        if length > 0 or tvb:reported_len() ~= BTH + XCH + RTS_LEN + ICRC then return give_up(e.rts) end
        if not cut then pinfo.cols.info = add_rts(tvb, tree) end
        return tvb:len()
    end
    if op == TOKEN then
        local least = BTH + XCH + TOKEN_LEN
        if tvb:len() < least then return cut and tvb:len() or give_up(e.token) end
        local n = tvb(least - 2, 1):uint()
        if length > 0 or n > MAX_RANGES or tvb:reported_len() ~= least + n * RANGE_LEN + ICRC then return give_up(e.token) end
        if not cut then pinfo.cols.info = add_token(tvb, tree) end
        return tvb:len()
    end
    if op == CREDIT then
        local at = BTH + XCH
        if length ~= CREDIT_LEN or tvb:reported_len() ~= at + CREDIT_LEN + ICRC then return give_up(e.credit) end
        if cut then return tvb:len() end
        if tvb(at, 1):uint() ~= CREDITS or tvb(at + 1, 1):uint() * 4 ~= CREDIT_LEN then return give_up(e.credit) end
        pinfo.cols.info = "CREDIT" .. add_credit(tvb(at, CREDIT_LEN), tree)
        return tvb:len()
    end
    if op == SRC then
        if length > 0 or tvb:reported_len() ~= BTH + XCH + SRC_LEN + ICRC then return give_up(e.src) end
        if cut then return tvb:len() end
        add_report(tvb(BTH + XCH + 2, 6), tree)
        pinfo.cols.info = string.format("SRC: a queue that drains in %d ns", tvb(BTH + XCH + 4, 4):uint())
        return tvb:len()
    end
    if length > MAX_TLVS or behind + ICRC > tvb:reported_len() then return give_up(e.area) end
    if behind > tvb:len() then return tvb:len() end
    if length > 0 then
        add_tlvs(tvb(TLVS, length), tree, op, (tvb(BTH - 3, 3):uint() + 1) % 0x1000000)
    end

    if op == XACK and behind + ICRC ~= tvb:reported_len() then return give_up(e.left) end
    if cut then return tvb:len() end

    local inner
    if op == XACK then
        inner = wrapped(tvb, RC_ACK, BTH + XCH, TLVS)
    else
        local item = tree:add(f.inner, tvb(BTH + XCH, 1))
        if not wraps(tvb(BTH + XCH, 1):uint()) then
            item:add_proto_expert_info(e.inner)
            return tvb:len()
        end
        inner = wrapped(tvb, tvb(BTH + XCH, 1):uint(), behind, tvb:len() - ICRC)
    end
    roce:call(inner, pinfo, root)
    pinfo.cols.protocol = "goroce"
    pinfo.cols.info:prepend(opcodes[op] .. " ")
    return tvb:len()
end

udp_port:add(ROCE_PORT, goroce)
