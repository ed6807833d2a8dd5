// Assertions for what we control. A broken invariant of ours stops the program at once, in every
// build: a gateway that goes on with wrong state corrupts memory of the hosts behind it. Bytes from
// the wire are never asserted on; they are dropped and counted (core/drop_reasons.def).
#pragma once

namespace cw {

/// Prints one line (file, line, condition) to standard error and aborts. Thread: any.
[[noreturn]] void assert_failed(const char* condition, const char* file, int line) noexcept;

}  // namespace cw

/// Always on. Use per burst or per message.
#define CW_ASSERT(condition)                    \
  (__builtin_expect(!!(condition), 1) ? void(0) \
                                      : ::cw::assert_failed(#condition, __FILE__, __LINE__))

/// For checks that cost something per packet: on in debug, sanitizer and fuzz builds.
#ifdef NDEBUG
#define CW_DCHECK(condition) void(sizeof(!(condition)))
#else
#define CW_DCHECK(condition) CW_ASSERT(condition)
#endif
