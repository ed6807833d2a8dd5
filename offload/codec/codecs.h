// Every codec of this folder in its static form: the same table that its .so exports.
#pragma once

#include <array>

#include "dataplane/codec.h"

extern "C" {
const cw_codec_ops* cw_codec_rs(void);
const cw_codec_ops* cw_codec_xor(void);
}

namespace cw::code {

inline std::array<const cw_codec_ops*, 2> all() { return {cw_codec_rs(), cw_codec_xor()}; }

}  // namespace cw::code
