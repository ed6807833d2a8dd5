// What is sealed in seal.txt, and with the stranger: headers of which every field counts.
#pragma once

#include "dataplane/wire/control/envelope.h"
#include "tests/unit/seal/sites.h"

namespace cw::seal {

/// `payload` outlives it, and points somewhere even if it is empty.
inline Send golden_slot(const Bytes& payload) {
  Send send;
  send.head = {.target_qp = 0x123456,
               .psn = Psn(0xfffffe),
               .address = 0x1122334455667788,
               .key = 0xabcdef01,
               .payload_bytes = static_cast<uint32_t>(payload.size()),
               .immediate = 0x8000'0001,
               .is_solicited = true};
  send.payload = payload.data();
  return send;
}

inline Send golden_datagram(const Bytes& payload) {
  Send send;
  send.head = {.target_qp = 0x00ca06,
               .psn = Psn(0x00abcd),
               .key = control_qkey,
               .payload_bytes = static_cast<uint32_t>(payload.size())};
  send.source_qp = 0x00ca06;
  send.form = Form::Datagram;
  send.payload = payload.data();
  return send;
}

}  // namespace cw::seal
