// The 256 opcodes of the Base Transport Header: who speaks (service), what is done (operation), and
// which headers follow (SPEC 2.10, SPEC 2.11). Enough to read our own packets in full and to
// classify everybody else's.
//
// An opcode is three bits of service and five of operation. CNP is the one that is a number of its
// own. Reliable Datagram does not exist over Ethernet and counts as unknown.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace cw {

inline constexpr uint8_t opcode_uc_write_only = 0x2a;
inline constexpr uint8_t opcode_uc_write_only_immediate = 0x2b;
inline constexpr uint8_t opcode_ud_send_only = 0x64;
inline constexpr uint8_t opcode_ud_send_only_immediate = 0x65;
inline constexpr uint8_t opcode_cnp = 0x81;

enum class Service : uint8_t { Unknown, Rc, Uc, Ud, Xrc, Cnp };

enum class Operation : uint8_t {
  Unknown,
  Send,
  Write,
  ReadRequest,
  ReadResponse,
  Acknowledge,
  AtomicAcknowledge,
  AtomicRequest,
  Flush,
  AtomicWrite,
  CongestionNotice,
};

/// Extended headers, as bits in the order in which they stand behind the BTH.
namespace extended {
inline constexpr uint16_t xrceth = 1 << 0;      // 4 bytes: XRC domain's receive queue
inline constexpr uint16_t deth = 1 << 1;        // 8: Q_Key, source QP
inline constexpr uint16_t feth = 1 << 2;        // 4: what FLUSH makes persistent
inline constexpr uint16_t reth = 1 << 3;        // 16: address, key, length
inline constexpr uint16_t atomic_eth = 1 << 4;  // 28
inline constexpr uint16_t aeth = 1 << 5;        // 4: syndrome, message number
inline constexpr uint16_t atomic_ack = 1 << 6;  // 8: the value that was there before
inline constexpr uint16_t immediate = 1 << 7;   // 4
inline constexpr uint16_t ieth = 1 << 8;        // 4: the key to invalidate
inline constexpr uint16_t cnp_rest = 1 << 9;    // 16 reserved bytes of a CNP
inline constexpr uint8_t bytes[] = {4, 8, 4, 16, 28, 4, 8, 4, 4, 16};
}  // namespace extended

/// What an opcode alone says. Unknown opcodes have Service::Unknown and all else zero.
struct OpcodeFacts {
  Service service = Service::Unknown;
  Operation operation = Operation::Unknown;
  uint16_t headers = 0;      ///< bits of `extended`
  uint8_t header_bytes = 0;  ///< the BTH and all of `headers`
  bool carries_payload = false;
  bool is_only = false;  ///< a whole message in one packet

  constexpr bool has(uint16_t header) const { return (headers & header) != 0; }
  constexpr bool is_known() const { return service != Service::Unknown; }
  /// Travels from responder to requester. All else that is known, save CNP, is a request.
  constexpr bool is_response() const {
    return is_pure_acknowledgement() || is_read_or_atomic_response();
  }
  constexpr bool is_request() const { return is_known() && !is_response() && !is_cnp(); }
  /// ACK or NAK without data: cumulative, so a later one makes up for it.
  constexpr bool is_pure_acknowledgement() const { return operation == Operation::Acknowledge; }
  constexpr bool is_read_or_atomic_response() const {
    return operation == Operation::ReadResponse || operation == Operation::AtomicAcknowledge;
  }
  constexpr bool is_cnp() const { return service == Service::Cnp; }
};

namespace detail {

struct OperationRow {
  Operation operation = Operation::Unknown;
  uint16_t headers = 0;
  bool carries_payload = false;
  bool is_only = false;
};

/// By the low five bits of an RC opcode; the other services have a part of these.
inline constexpr std::array<OperationRow, 32> operations = {{
    {Operation::Send, 0, true, false},                                     // 00 SEND first
    {Operation::Send, 0, true, false},                                     // 01 middle
    {Operation::Send, 0, true, false},                                     // 02 last
    {Operation::Send, extended::immediate, true, false},                   // 03 last, immediate
    {Operation::Send, 0, true, true},                                      // 04 only
    {Operation::Send, extended::immediate, true, true},                    // 05 only, immediate
    {Operation::Write, extended::reth, true, false},                       // 06 WRITE first
    {Operation::Write, 0, true, false},                                    // 07 middle
    {Operation::Write, 0, true, false},                                    // 08 last
    {Operation::Write, extended::immediate, true, false},                  // 09 last, immediate
    {Operation::Write, extended::reth, true, true},                        // 0a only
    {Operation::Write, extended::reth | extended::immediate, true, true},  // 0b only, immediate
    {Operation::ReadRequest, extended::reth, false, true},                 // 0c READ request
    {Operation::ReadResponse, extended::aeth, true, false},                // 0d READ response first
    {Operation::ReadResponse, 0, true, false},                             // 0e middle
    {Operation::ReadResponse, extended::aeth, true, false},                // 0f last
    {Operation::ReadResponse, extended::aeth, true, true},                 // 10 only
    {Operation::Acknowledge, extended::aeth, false, true},                 // 11 ACK, NAK
    {Operation::AtomicAcknowledge, extended::aeth | extended::atomic_ack, false, true},  // 12
    {Operation::AtomicRequest, extended::atomic_eth, false, true},  // 13 compare and swap
    {Operation::AtomicRequest, extended::atomic_eth, false, true},  // 14 fetch and add
    {},                                                             // 15
    {Operation::Send, extended::ieth, true, false},                 // 16 last, invalidate
    {Operation::Send, extended::ieth, true, true},                  // 17 only, invalidate
    {},
    {},
    {},
    {},                                                                // 18 to 1b
    {Operation::Flush, extended::feth | extended::reth, false, true},  // 1c FLUSH
    {Operation::AtomicWrite, extended::reth, true, true},              // 1d ATOMIC WRITE
    {},
    {},  // 1e, 1f
}};

constexpr uint8_t bytes_of(uint16_t headers) {
  uint8_t total = 12;  // the BTH
  for (size_t i = 0; i < std::size(extended::bytes); ++i) {
    if (headers >> i & 1) total = static_cast<uint8_t>(total + extended::bytes[i]);
  }
  return total;
}

constexpr OpcodeFacts facts_of(Service service, OperationRow row, uint16_t more_headers = 0) {
  const auto headers = static_cast<uint16_t>(row.headers | more_headers);
  return {service, row.operation, headers, bytes_of(headers), row.carries_payload, row.is_only};
}

constexpr std::array<OpcodeFacts, 256> make_opcode_table() {
  std::array<OpcodeFacts, 256> table{};
  for (size_t i = 0; i < operations.size(); ++i) {
    const OperationRow row = operations[i];
    if (row.operation == Operation::Unknown) continue;
    const bool is_request = facts_of(Service::Rc, row).is_request();
    table[0x00 | i] = facts_of(Service::Rc, row);
    if (i <= 0x0b) table[0x20 | i] = facts_of(Service::Uc, row);
    if (i == 0x04 || i == 0x05) table[0x60 | i] = facts_of(Service::Ud, row, extended::deth);
    if (i <= 0x17) {
      table[0xa0 | i] = facts_of(Service::Xrc, row, is_request ? extended::xrceth : uint16_t{0});
    }
  }
  table[opcode_cnp] =
      facts_of(Service::Cnp, {Operation::CongestionNotice, extended::cnp_rest, false, true});
  return table;
}

}  // namespace detail

inline constexpr std::array<OpcodeFacts, 256> opcode_table = detail::make_opcode_table();

static_assert(opcode_table[opcode_uc_write_only_immediate].header_bytes == 32);
static_assert(opcode_table[opcode_ud_send_only].header_bytes == 20);

}  // namespace cw
