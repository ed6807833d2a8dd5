-- Shows what Causeway gateways say to each other, in Wireshark and tshark (dataplane/wire/SPEC.md).
-- README.md beside this file says how it is loaded, and how sealed packets are opened for it.
--
-- Wireshark's own dissector reads UDP, BTH, RETH, DETH and the ICRC; this one is asked what their
-- payload is. Whether a slot is ours does not show in its bytes: it is, once the same two addresses
-- have been heard to speak control packets, which show by their Q_Key.
--
--   infiniband -> payload of UD SEND, Q_Key ours  -> handshake | envelope | sealed
--              -> payload of UC WRITE WITH IMMEDIATE between those two -> slot | sealed
--
-- All bytes are hostile: nothing is read before its length was looked at.

local causeway = Proto("causeway", "Causeway")
local control_qkey = 0x1ca05e0a
local opcode_slot, opcode_control, opcode_group_slot = 0x2b, 0x64, 0x65
local mac_bytes, number_bytes, tag_bytes = 16, 8, 16
local seal_bytes = number_bytes + tag_bytes

causeway.prefs.takes_all_slots = Pref.bool("Take all UC WRITEs with immediate for slots", false,
  "Also where no control packet of the two addresses is in the capture")
causeway.prefs.shows_frames = Pref.bool("Dissect the packets of hosts in slots", true)

-- ---- fields ------------------------------------------------------------------------------------

local names = {
  ["handshake.type"] = {"first message", "second message", "cookie"},
  ["hello.state"] = {[0] = "trying", "in force", "leaving"},
  ["hello.icrc_mode"] = {[0] = "exact", "pseudo", "none", "hardware"},
  ["abandoned.reason"] = {[0] = "finished by the policy", "older than its hold", "memory",
    "drain deadline", "cancelled by the application", "policy quarantined"},
  ["swap_prepare.direction"] = {[0] = "data from the sender", "data from the receiver"},
  ["swap_cancel.direction"] = {[0] = "data from the sender", "data from the receiver"},
  ["swap_ready.status"] = {[0] = "ready", "no such policy", "its notes have another version",
    "it does not take the parameters", "its blocks need more room", "another swap is under way",
    "not allowed", "barred"},
  ["ready.operation"] = {"Broadcast", "Allgather", "Reduce-Scatter",
    "Allgather and Reduce-Scatter", "all-to-all"},
  ["ready.type"] = {[0] = "bytes", "f32", "bf16"},
  ["cancel.reason"] = {"cancelled", "its deadline is over", "not known any more",
    "posted for another step", "posted for another number of bytes"},
  ["frame.order"] = {[0] = "in turn", "behind", "at once", "refused"},
  ["group.kind"] = {"multicast", "unicast", "fetched"},
}
names["refuse.reason"] = names["cancel.reason"]

local fields = {}
local makers = {[1] = ProtoField.uint8, [2] = ProtoField.uint16, [3] = ProtoField.uint24,
  [4] = ProtoField.uint32, [6] = ProtoField.uint64, [8] = ProtoField.uint64}

-- One of `width` bytes, whose name for filters is causeway.`key`.
local function number_field(key, width, shown_in)
  local title = key:match("[^.]+$"):gsub("_", " ")
  fields[key] = makers[width]("causeway." .. key, title, shown_in or base.DEC, names[key])
end

local function other_field(key, maker)
  fields[key] = maker("causeway." .. key, (key:match("[^.]+$"):gsub("_", " ")))
end

-- "name:4 flags:2x -:3" as a row of {key, width}; x: shown in hex; -: reserved.
local function layout(prefix, text)
  local row = {bytes = 0}
  for name, width, hex in text:gmatch("([%w_-]+):(%d)(x?)") do
    width = tonumber(width)
    local key = name ~= "-" and prefix .. "." .. name or nil
    if key then number_field(key, width, hex == "x" and base.HEX or base.DEC) end
    row[#row + 1] = {key = key, width = width}
    row.bytes = row.bytes + width
  end
  return row
end

-- Adds a row's fields; `bytes` are as many as it has. Returns what is behind them.
local function add_row(tree, bytes, row)
  local at = 0
  for _, each in ipairs(row) do
    if each.key then tree:add(fields[each.key], bytes(at, each.width)) end
    at = at + each.width
  end
end

-- What of a range lies from `at` on, or nil where nothing does: no range is empty.
local function rest_of(range, at)
  if at < range:len() then return range(at, range:len() - at) end
end

for key, maker in pairs({
  kind = ProtoField.string, ["handshake.message"] = ProtoField.bytes,
  ["handshake.ephemeral_key"] = ProtoField.bytes,
  ["handshake.sealed_static_key"] = ProtoField.bytes,
  ["handshake.sealed_offer"] = ProtoField.bytes, ["handshake.salt"] = ProtoField.bytes,
  ["handshake.sealed_cookie"] = ProtoField.bytes, ["handshake.first_mac"] = ProtoField.bytes,
  ["handshake.second_mac"] = ProtoField.bytes, ["sealed.bytes"] = ProtoField.bytes,
  ["sealed.tag"] = ProtoField.bytes, ["envelope.mac"] = ProtoField.bytes,
  record = ProtoField.string,
  ["record.pad"] = ProtoField.bytes, ["record.text"] = ProtoField.string,
  ["record.bytes"] = ProtoField.bytes, ["record.entry"] = ProtoField.none, item = ProtoField.string,
  ["slot.rest_of_frame"] = ProtoField.bytes, ["slot.unused"] = ProtoField.bytes,
  ["slot.bytes"] = ProtoField.bytes, frame = ProtoField.none, ["frame.packet"] = ProtoField.bytes,
}) do other_field(key, maker) end

local problem = ProtoExpert.new("causeway.problem", "Not as SPEC.md says",
  expert.group.MALFORMED, expert.severity.WARN)
local is_cut = ProtoExpert.new("causeway.cut", "The capture has not all of it",
  expert.group.UNDECODED, expert.severity.NOTE)
causeway.experts = {problem, is_cut}

-- ---- records -----------------------------------------------------------------------------------

-- What stands behind a record's fixed part: text, bytes, zeros, or rows of entries.
local record_types, item_types = {}, {}

local function declare(types, number, title, fixed, rest)
  local prefix = title:lower()
  local it = {title = title, row = layout(prefix, fixed), rest = rest}
  if rest and rest:find(":") then
    it.rest, it.entry = "entries", layout(prefix, rest)
  end
  types[number] = it
end

for number, it in ipairs({
  {"HELLO", "capabilities:4x control_qpn:4x payload_bytes:2 control_bytes:2 message_id_bits:1 " ..
    "slot_bits:1 immediate_bits:1 generations:1 channels:1 paths:1 qps:2 state:1 icrc_mode:1 " ..
    "description_parts:2 description_received:4x"},
  {"PAD", "", "zeros"},
  {"DESCRIPTION", "part:2 parts:2 part_bytes:2 -:2", "items"},
  {"CLEAR_TO_SEND", "qp:2 policy_epoch:2 retired_seq:4 message_limit:4 heard_seq:4 slot_limit:8",
    "placement_seq:4 data_key:4x data_address:8x repair_key:4x repair_address:8x"},
  {"PROBE", "qp:2 -:2 next_seq:4"},
  {"OPENED", "qp:2 policy_epoch:2 seq:4 data_slots_max:4 slots:4 rows:2 m_cap:2 k:1 -:3"},
  {"BLOCK_CLOSED", "qp:2 -:2 seq:4",
    "block:4 slot_first:4 slots:4 rows:2 k:1 m:1 codec:1 -:3"},
  {"CLOSED", "qp:2 flags:2x seq:4 slots:4 frames:4 message_bytes:8 immediate:4x"},
  {"ABANDONED", "qp:2 reason:2 seq:4 first_slot:4 slots:4"},
  {"NOTE", "qp:2 policy_epoch:2 flags:2x -:2", "bytes"},
  {"ECHO", "flags:2x path:2 token:8x held_ns:8"},
  {"PATH_REPORT", "path:2 channels:2 received:8 lost:8 reordered:8 duplicates:8 bursts:8 " ..
    "reorder_depth_max:4 -:4"},
  {"SWAP_PREPARE", "qp:2 direction:2 swap_id:4x", "text"},
  {"SWAP_READY", "qp:2 status:2 swap_id:4x", "text"},
  {"SWAP_BOUNDARY", "qp:2 policy_epoch:2 swap_id:4x boundary_seq:4"},
  {"SWAP_ACKNOWLEDGE", "qp:2 policy_epoch:2 swap_id:4x boundary_seq:4"},
  {"SWAP_CANCEL", "qp:2 direction:2 swap_id:4x", "text"},
  {"OUTCOME", "qp:2 policy_epoch:2 frames_out:8 frames_given_up:8 frames_late:8 " ..
    "slots_by_code:8 slots_behind:8", "holes:4"},
  {"DRAINING", "number:4 is_wanted:1 -:3"},
  {"JOIN", "heard_nonce:8x key:4x qpn:4x rate:8 payload:2 site:2 digest:4x clock:4 echo:4"},
  {"EPOCH", "id:8x key:4x rate:4 payload:2 members:2"},
  {"READY", "step:4 operation:1 type:1 root:2 bytes:8 members:4"},
  {"GO", "step:4 rank:2 pace:2"},
  {"TURN", "step:4 rank:2 pace:2"},
  {"ALL_DONE", "step:4 rank:2 pace:2"},
  {"DONE", "step:4 rank:2 share:2 members:4 fetched_slots:4"},
  {"FETCH", "step:4 source:2 number:2 message:4", "first_slot:4 slots:4"},
  {"MISS", "step:4 source:2 number:2 message:4", "first_slot:4 slots:4"},
  {"STATUS", "step:4 message:4 slots:4 clock:4 held:4"},
  {"FAIL", "step:4 rank:2 -:2", "text"},
  {"OFFER", "step:4 message:4 bytes:8 sent_slots:4 answered:2 -:2"},
  {"CANCEL", "step:4 message:4 reason:1 -:3"},
  {"REFUSE", "step:4 message:4 reason:1 -:3"},
}) do declare(record_types, number, it[1], it[2], it[3]) end

for number, it in ipairs({
  {"PAIR_KEY", "", "text"},
  {"QP", "qp:2 generations:1 channels:1 paths:1 -:3 data_key:4x repair_key:4x data_base:8x " ..
    "repair_base:8x data_window_bytes:8 repair_window_bytes:8", "qpn:4x"},
  {"SITE", "", "text"},
  {"POLICY", "qp:2", "text"},
  {"PEER", "", "text"},
}) do declare(item_types, number, it[1], it[2], it[3]) end

number_field("record.type", 1)
number_field("record.flags", 1, base.HEX)
number_field("record.body_length", 2)

local add_records

local function add_entries(tree, bytes, row)
  local at = 0
  while at + row.bytes <= bytes:len() do
    local each = bytes(at, row.bytes)
    add_row(#row > 1 and tree:add(fields["record.entry"], each) or tree, each, row)
    at = at + row.bytes
  end
  if at < bytes:len() then tree:add_proto_expert_info(problem, "Entries are not whole") end
end

local function add_rest(tree, rest, it, is_whole)
  if it.rest == "entries" then
    add_entries(tree, rest, it.entry)
  elseif it.rest == "text" then
    tree:add(fields["record.text"], rest)
  elseif it.rest == "items" and is_whole then
    add_records(tree, rest, item_types, "item")
  elseif it.rest then
    tree:add(fields["record.bytes"], rest)
  else
    tree:add_proto_expert_info(problem, "The body is too long")
  end
end

local function add_body(tree, body, it)
  local fixed = it.row.bytes
  if body and body:len() >= fixed then
    if fixed > 0 then add_row(tree, body, it.row) end
    -- A description of one part begins and ends here.
    local is_whole = it.title == "DESCRIPTION" and body(2, 2):uint() == 1
    local rest = rest_of(body, fixed)
    if rest then add_rest(tree, rest, it, is_whole) end
  elseif fixed > 0 then
    tree:add_proto_expert_info(problem, "The body is too short")
    if body then tree:add(fields["record.bytes"], body) end
  end
end

-- A row of records, or of a description's items; returns their names.
function add_records(tree, bytes, types, key)
  local titles, at = {}, 0
  while at + 4 <= bytes:len() do
    local kind, length = bytes(at, 1):uint(), bytes(at + 2, 2):uint()
    local whole = 4 + length + (4 - length % 4) % 4
    local it = types[kind]
    local title = it and it.title or "unknown " .. key .. " " .. kind
    titles[#titles + 1] = title
    local here = bytes(at, math.min(whole, bytes:len() - at))
    local branch = tree:add(fields[key], here, title)
    branch:add(fields["record.type"], here(0, 1))
    branch:add(fields["record.flags"], here(1, 1))
    branch:add(fields["record.body_length"], here(2, 2))
    if here:len() < whole then
      branch:add_proto_expert_info(problem, "It ends behind its envelope's records")
      return titles
    end
    local body = length > 0 and here(4, length) or nil
    if it then
      add_body(branch, body, it)
    elseif body then
      branch:add(fields["record.bytes"], body)
    end
    local pad = rest_of(here, 4 + length)
    if pad then branch:add(fields["record.pad"], pad) end
    at = at + whole
  end
  if at < bytes:len() then tree:add_proto_expert_info(problem, "Bytes behind the last record") end
  return titles
end

-- ---- control packets ---------------------------------------------------------------------------

local envelope = layout("envelope", "magic:2x version:1 key:1 length:2 link:2 sender_nonce:8x " ..
  "receiver_nonce:8x sequence:8")

local function is_envelope(bytes, length)
  return length >= envelope.bytes + mac_bytes and bytes:len() >= envelope.bytes and
    bytes(0, 2):uint() == 0xca05 and bytes(2, 1):uint() == 2 and bytes(4, 2):uint() == length
end

local function add_envelope(tree, bytes, length)
  add_row(tree, bytes, envelope)
  local here = math.min(length - mac_bytes, bytes:len()) - envelope.bytes
  local titles = {}
  if here > 0 then
    titles = add_records(tree, bytes(envelope.bytes, here), record_types, "record")
  end
  if bytes:len() == length then
    tree:add(fields["envelope.mac"], bytes(length - mac_bytes, mac_bytes))
  else
    tree:add_proto_expert_info(is_cut)
  end
  return #titles > 0 and table.concat(titles, ", ") or "no records"
end

local handshake = layout("handshake", "magic:2x version:1 type:1 ticket:4x reserved:4x")
-- What each type's message is made of.
local messages = {
  {bytes = 100, {"ephemeral_key", 32}, {"sealed_static_key", 48}, {"sealed_offer", 20}},
  {bytes = 52, {"ephemeral_key", 32}, {"sealed_offer", 20}},
  {bytes = 48, {"salt", 16}, {"sealed_cookie", 32}},
}

local function is_handshake(bytes)
  if bytes:len() < handshake.bytes or bytes(0, 2):uint() ~= 0xca5e then return false end
  local message = messages[bytes(3, 1):uint()]
  return bytes(2, 1):uint() == 1 and message ~= nil and
    bytes:len() == handshake.bytes + message.bytes + 2 * mac_bytes
end

local function add_handshake(tree, bytes)
  local kind = bytes(3, 1):uint()
  local message = messages[kind]
  add_row(tree, bytes, handshake)
  local at = handshake.bytes
  local branch = tree:add(fields["handshake.message"], bytes(at, message.bytes))
  for _, part in ipairs(message) do
    branch:add(fields["handshake." .. part[1]], bytes(at, part[2]))
    at = at + part[2]
  end
  tree:add(fields["handshake.first_mac"], bytes(at, mac_bytes))
  tree:add(fields["handshake.second_mac"], bytes(at + mac_bytes, mac_bytes))
  return string.format("Handshake, %s, ticket 0x%08x", names["handshake.type"][kind],
    bytes(4, 4):uint())
end

-- ---- sealed packets ----------------------------------------------------------------------------

local number_row = layout("sealed", "index:1 shard:1 count:6")
number_field("sealed.length", 2)

local function add_sealed(tree, bytes, length)
  local inner = length - seal_bytes
  local here = math.min(inner, bytes:len())
  tree:add(fields["sealed.length"], inner):set_generated()
  if here > 0 then tree:add(fields["sealed.bytes"], bytes(0, here)) end
  if bytes:len() < length then
    tree:add_proto_expert_info(is_cut)
    return string.format("sealed, %d bytes", inner)
  end
  local number = bytes(inner, number_bytes)
  add_row(tree, number, number_row)
  tree:add(fields["sealed.tag"], bytes(inner + number_bytes, tag_bytes))
  return string.format("sealed, %d bytes, number %d/%d/%s", inner, number(0, 1):uint(),
    number(1, 1):uint(), tostring(number(2, 6):uint64()))
end

-- Whether the last bytes could be a number and a tag: no count reaches 2^30 [C-83].
local function may_be_sealed(bytes, length)
  if length < seal_bytes then return false end
  if bytes:len() < length then return true end
  local count = bytes(length - seal_bytes + 2, 6)
  return count(0, 2):uint() == 0 and count(2, 4):uint() < 0x40000000
end

-- ---- slots -------------------------------------------------------------------------------------

local slot_row = layout("slot", "seq:4 used:2 first_frame:2x")
local frame_row = layout("frame", "bucket:2 bucket_seq:4")
fields["frame.order"] = ProtoField.uint16("causeway.frame.order", "order", base.DEC,
  names["frame.order"], 0xc000)
fields["frame.length"] = ProtoField.uint16("causeway.frame.length", "length", base.DEC, nil, 0x3fff)
local no_frame = 0xffff
local ip = Dissector.get("ip")

-- A slot that breaks C-45 is dropped by gateways; and the id of its message is in the immediate,
-- the highest bits of that.
local function is_plain_slot(bytes, length, immediate, id_bits)
  if length < slot_row.bytes or bytes:len() < slot_row.bytes then return false end
  local used, first = bytes(4, 2):uint(), bytes(6, 2):uint()
  if used > length - slot_row.bytes or (first ~= no_frame and first >= used) then return false end
  return bit32.extract(bytes(0, 4):uint(), 0, id_bits) == bit32.rshift(immediate, 32 - id_bits)
end

-- Dissects a host's packet, and gives the packet's own addresses back to it afterwards.
local is_inside = false
local function add_host_packet(tree, bytes, pinfo)
  if not causeway.prefs.shows_frames then return tree:add(fields["frame.packet"], bytes) end
  local kept = {src = pinfo.src, dst = pinfo.dst, src_port = pinfo.src_port,
    dst_port = pinfo.dst_port}
  is_inside = true
  pcall(ip.call, ip, bytes:tvb(), pinfo, tree)  -- it says itself what is malformed
  is_inside = false
  for key, value in pairs(kept) do pinfo[key] = value end
end

-- Returns where the next begins.
local function add_frame(tree, used, at, pinfo)
  local left = used:len() - at
  if left < 8 then
    tree:add(fields.frame, used(at, left)):set_text("Frame header that goes on in the next slot")
    return used:len()
  end
  local length = bit32.band(used(at, 2):uint(), 0x3fff)
  local here = math.min(length, left - 8)
  local branch = tree:add(fields.frame, used(at, 8 + here))
  branch:set_text(string.format("Frame of %d bytes%s", length,
    here < length and ", goes on in the next slot" or ""))
  branch:add(fields["frame.order"], used(at, 2))
  branch:add(fields["frame.length"], used(at, 2))
  add_row(branch, used(at + 2, 6), frame_row)
  if length < 20 or length > 9216 or used(at, 1):uint() >= 0xc0 then
    branch:add_proto_expert_info(problem, "A frame header with another length or order")
    return used:len()
  end
  if here == length then
    add_host_packet(branch, used(at + 8, here), pinfo)
  elseif here > 0 then
    branch:add(fields["frame.packet"], used(at + 8, here))
  end
  return at + 8 + here
end

local function add_slot(tree, bytes, pinfo)
  add_row(tree, bytes, slot_row)
  local used_bytes, first = bytes(4, 2):uint(), bytes(6, 2):uint()
  local here = math.min(used_bytes, bytes:len() - slot_row.bytes)
  if here < used_bytes then tree:add_proto_expert_info(is_cut) end
  local frames = 0
  if here > 0 then
    local used = bytes(slot_row.bytes, here)
    local at = math.min(first == no_frame and here or first, here)
    if at > 0 then tree:add(fields["slot.rest_of_frame"], used(0, at)) end
    while at < here do
      at = add_frame(tree, used, at, pinfo)
      frames = frames + 1
    end
  end
  local unused = rest_of(bytes, slot_row.bytes + used_bytes)
  if unused then tree:add(fields["slot.unused"], unused) end
  return string.format("Slot of message %s, %d frames begin", tostring(bytes(0, 4):uint()), frames)
end

local group_row = layout("group", "flags:1x source:2 key:4x step:4 message:4 message_slots:4 " ..
  "source_slots:4 clock:4 path:1 resends:1 last_bytes:2")
fields["group.version"] = ProtoField.uint8("causeway.group.version", "version", base.DEC, nil, 0xf0)
fields["group.kind"] = ProtoField.uint8("causeway.group.kind", "kind", base.DEC,
  names["group.kind"], 0x0f)

local function add_group_slot(tree, bytes)
  tree:add(fields["group.version"], bytes(0, 1))
  tree:add(fields["group.kind"], bytes(0, 1))
  add_row(tree, bytes(1, group_row.bytes), group_row)
  local rest = rest_of(bytes, 1 + group_row.bytes)
  if rest then tree:add(fields["slot.bytes"], rest) end
  return string.format("Slot of a group, rank %d, step %s", bytes(2, 2):uint(),
    tostring(bytes(8, 4):uint()))
end

-- ---- whose packets are ours --------------------------------------------------------------------

local udp_target = Field.new("udp.dstport")
local bth_opcode = Field.new("infiniband.bth.opcode")
local deth_qkey = Field.new("infiniband.deth.q_key")
local reth_bytes = Field.new("infiniband.reth.dmalen")
local immediate_data = Field.new("infiniband.immdt")

-- Of each two addresses: whether their last control packet was sealed, and how their HELLO splits
-- immediates. By the number of a frame: how it stood then, as frames are looked at again in any
-- order.
local pairs_known, known_at = {}, {}
function causeway.init() pairs_known, known_at = {}, {} end

local function pair_of(pinfo)
  local one, other = tostring(pinfo.net_src), tostring(pinfo.net_dst)
  return one < other and one .. " " .. other or other .. " " .. one
end

local function note_control(pinfo, is_sealed, bytes)
  if pinfo.visited then return end
  local it = pairs_known[pair_of(pinfo)] or {id_bits = 10}
  local hello = envelope.bytes + 4
  local has_hello = not is_sealed and bytes:len() >= hello + 28 and
    bytes(envelope.bytes, 1):uint() == 1
  local id_bits = has_hello and bytes(hello + 12, 1):uint() or 0
  pairs_known[pair_of(pinfo)] = {is_sealed = is_sealed,
    id_bits = id_bits >= 1 and id_bits <= 10 and id_bits or it.id_bits}
end

local function knowledge(pinfo)
  if known_at[pinfo.number] == nil then
    known_at[pinfo.number] = pairs_known[pair_of(pinfo)] or false
  end
  local it = known_at[pinfo.number]
  return it or causeway.prefs.takes_all_slots and {is_sealed = true, id_bits = 10}
end

-- What adds it to a tree and says in a line what it is; nil: it is not ours.
local function control_kind(bytes, length, pinfo)
  if is_handshake(bytes) then return add_handshake end
  if is_envelope(bytes, length) then
    note_control(pinfo, false, bytes)
    return add_envelope
  end
  if not may_be_sealed(bytes, length) then
    return function(tree)
      tree:add_proto_expert_info(problem, "Neither an envelope nor sealed")
      return "Control, nothing that is known"
    end
  end
  note_control(pinfo, true, bytes)
  return function(tree) return "Control, " .. add_sealed(tree, bytes, length) end
end

local function slot_kind(bytes, reported, pinfo)
  local reth, immediate = reth_bytes(), immediate_data()
  local known = knowledge(pinfo)
  if not known or not reth or not immediate then return end
  local length = reth.value
  if length == 0 or length > reported then return end
  local whole = bytes(0, math.min(length, bytes:len()))
  if is_plain_slot(whole, length, immediate.range:uint(), known.id_bits) then
    return function(tree) return add_slot(tree, whole, pinfo) end
  end
  if known.is_sealed and may_be_sealed(whole, length) then
    return function(tree) return "Slot, " .. add_sealed(tree, whole, length) end
  end
  return function(tree)
    tree:add(fields["slot.bytes"], whole)
    return string.format("Slot without a header, %d bytes", length)
  end
end

local function kind_of(bytes, length, pinfo)
  local opcode = bth_opcode()
  if opcode.value == opcode_slot then return slot_kind(bytes, length, pinfo) end
  local qkey = deth_qkey()
  if not qkey or tonumber(tostring(qkey.value)) ~= control_qkey then return end
  if opcode.value == opcode_control then return control_kind(bytes, length, pinfo) end
  if opcode.value == opcode_group_slot and bytes:len() > group_row.bytes and
    bit32.rshift(bytes(0, 1):uint(), 4) == 1 then
    return add_group_slot
  end
end

-- Whoever had the last packet is asked first for the next one, and Ethernet over InfiniBand takes
-- every UD packet that begins with 0xc, as our control packets do. Over UDP there is none of that.
local data = Dissector.get("data")
local function keep_from_ethernet(tvb, pinfo, root)
  local is_like_it = udp_target() and bit32.rshift(bth_opcode().value, 5) == 3 and
    bit32.rshift(tvb(0, 1):uint(), 4) == 0xc
  if is_like_it then data:call(tvb, pinfo, root) end
  return is_like_it or false
end

local function dissect(tvb, pinfo, root)
  -- What hosts say to each other in slots is theirs.
  if is_inside or tvb:len() == 0 or not bth_opcode() then return false end
  local bytes, length = tvb(), tvb:reported_len()
  local add = kind_of(bytes, length, pinfo)
  if not add then return keep_from_ethernet(tvb, pinfo, root) end
  local tree = root:add(causeway, bytes)
  local text = add(tree, bytes, length)
  tree:append_text(", " .. text)
  pinfo.cols.protocol = "Causeway"
  pinfo.cols.info = text
  return true
end

local all = {}
for _, field in pairs(fields) do all[#all + 1] = field end
causeway.fields = all
causeway:register_heuristic("infiniband.payload", dissect)
