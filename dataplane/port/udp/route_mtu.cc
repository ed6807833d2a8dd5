#include "dataplane/port/udp/route_mtu.h"

#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <span>

#include "dataplane/wire/icrc.h"
#include "dataplane/wire/opcode.h"

namespace cw {
namespace {

constexpr size_t v4_prefix_bytes = 12;

struct RouteQuestion {
  nlmsghdr header{};
  rtmsg route{};
  rtattr target{};
  uint8_t ip[16] = {};
  rtattr interface{};
  uint32_t interface_index = 0;
};
static_assert(offsetof(RouteQuestion, target) == NLMSG_LENGTH(sizeof(rtmsg)));

/// An answer of the kernel, which it has checked, as far as it fits.
using Answer = std::array<uint8_t, 4096>;

/// The content of the first attribute of a `type` in `row`; empty: there is none.
std::span<const uint8_t> attribute_of(std::span<const uint8_t> row, uint16_t type) {
  while (row.size() >= sizeof(rtattr)) {
    rtattr attribute;
    std::memcpy(&attribute, row.data(), sizeof attribute);
    if (attribute.rta_len < sizeof attribute || attribute.rta_len > row.size()) break;
    if (attribute.rta_type == type) return row.first(attribute.rta_len).subspan(RTA_LENGTH(0));
    row = row.subspan(std::min<size_t>(RTA_ALIGN(attribute.rta_len), row.size()));
  }
  return {};
}

uint32_t number_of(std::span<const uint8_t> content) {
  uint32_t number = 0;
  if (content.size() == sizeof number) std::memcpy(&number, content.data(), sizeof number);
  return number;
}

RouteQuestion question_about(const UdpAddress& peer, uint32_t flags) {
  RouteQuestion question;
  const bool is_v4 = peer.is_v4();
  const auto ip = std::span(peer.ip).subspan(is_v4 ? v4_prefix_bytes : 0);
  question.header.nlmsg_type = RTM_GETROUTE;
  question.header.nlmsg_flags = NLM_F_REQUEST;
  question.route.rtm_family = is_v4 ? AF_INET : AF_INET6;
  question.route.rtm_dst_len = static_cast<uint8_t>(ip.size() * 8);
  question.route.rtm_flags = flags;
  question.target = {static_cast<uint16_t>(RTA_LENGTH(ip.size())), RTA_DST};
  std::ranges::copy(ip, question.ip);
  question.interface = {RTA_LENGTH(sizeof(uint32_t)), RTA_OIF};
  question.interface_index = peer.scope;
  const bool has_interface = peer.scope != 0;
  question.header.nlmsg_len = static_cast<uint32_t>(
      has_interface ? sizeof question : offsetof(RouteQuestion, ip) + ip.size());
  return question;
}

/// The attributes of the route; empty: there is none, or the kernel does not say.
std::span<const uint8_t> ask(int fd, const RouteQuestion& question, Answer& answer) {
  if (send(fd, &question, question.header.nlmsg_len, 0) < 0) return {};
  const ssize_t bytes = recv(fd, answer.data(), answer.size(), 0);
  if (bytes < static_cast<ssize_t>(NLMSG_LENGTH(sizeof(rtmsg)))) return {};
  nlmsghdr header;
  std::memcpy(&header, answer.data(), sizeof header);
  if (header.nlmsg_type != RTM_NEWROUTE || header.nlmsg_len > static_cast<size_t>(bytes)) return {};
  return std::span(answer).first(header.nlmsg_len).subspan(NLMSG_LENGTH(sizeof(rtmsg)));
}

}  // namespace

uint32_t interface_mtu(uint32_t index) {
  ifreq request{};
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const bool is_told = fd >= 0 && if_indextoname(index, request.ifr_name) != nullptr &&
                       ioctl(fd, SIOCGIFMTU, &request) == 0;
  if (fd >= 0) close(fd);
  return is_told ? static_cast<uint32_t>(std::max(request.ifr_mtu, 0)) : 0;
}

uint32_t route_mtu(const UdpAddress& peer) {
  const int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
  if (fd < 0) return 0;
  Answer answer;
  const uint32_t index = number_of(attribute_of(ask(fd, question_about(peer, 0), answer), RTA_OIF));
  uint32_t mtu = interface_mtu(index);
  // The entry of the table, in which nothing is learnt; the answer above holds that as well.
  const auto entry = ask(fd, question_about(peer, RTM_F_FIB_MATCH), answer);
  const uint32_t wanted = number_of(attribute_of(attribute_of(entry, RTA_METRICS), RTAX_MTU));
  if (wanted != 0) mtu = std::min(mtu, wanted);
  close(fd);
  return mtu;
}

uint32_t payload_for(uint32_t mtu, bool is_v4) {
  const uint32_t overhead = (is_v4 ? 20 : 40) + 8 +
                            opcode_table[opcode_uc_write_only_immediate].header_bytes + icrc_bytes;
  return mtu > overhead ? (mtu - overhead) / 4 * 4 : 0;
}

}  // namespace cw
