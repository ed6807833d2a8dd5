// How causewayctl ends.
#pragma once

namespace cw::ctl {

inline constexpr int exit_done = 0, exit_failed = 1, exit_usage = 2;
inline constexpr int exit_no_daemon = 3;     ///< nobody answers
inline constexpr int exit_peer_refused = 4;  ///< the other site will not, and its sentence says why
inline constexpr int exit_busy = 5;          ///< something else is under way; try again
inline constexpr int exit_not_allowed = 6;   ///< for whoever this is
inline constexpr int exit_waiting = 7;       ///< for a link, a restart, or the end of a drain

}  // namespace cw::ctl
