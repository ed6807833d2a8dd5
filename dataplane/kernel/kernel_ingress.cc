#include "dataplane/kernel/kernel_ingress.h"

#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace cw {
namespace {

/// Messages of nf_tables that take effect together.
class Batch {
 public:
  void begin(uint16_t type, uint16_t flags, uint8_t family = NFPROTO_NETDEV) {
    message_ = bytes_.size();
    const nlmsghdr header = {0, type, static_cast<uint16_t>(NLM_F_REQUEST | flags), ++sequence_, 0};
    append(&header, sizeof header);
    const nfgenmsg body = {family, NFNETLINK_V0,
                           htons(family == AF_UNSPEC ? NFNL_SUBSYS_NFTABLES : 0)};
    append(&body, sizeof body);
    end_message();
  }
  void add(uint16_t type, std::string_view text) { add(type, text.data(), text.size(), 1); }
  void add(uint16_t type, uint32_t number) {
    const uint32_t big = htonl(number);
    add(type, &big, sizeof big, 0);
  }
  /// Values of registers are in the byte order of what they are compared with.
  void add_value(uint16_t type, uint32_t value) { add(type, &value, sizeof value, 0); }

  /// What is added until the end of `content` lies inside.
  template <class Content>
  void nest(uint16_t type, Content content) {
    const size_t at = bytes_.size();
    add(static_cast<uint16_t>(type | NLA_F_NESTED), nullptr, 0, 0);
    content();
    const auto length = static_cast<uint16_t>(bytes_.size() - at);
    std::memcpy(&bytes_[at], &length, sizeof length);
  }
  /// An expression of a rule.
  template <class Content>
  void expression(std::string_view name, Content content) {
    nest(NFTA_LIST_ELEM, [&] {
      add(NFTA_EXPR_NAME, name);
      nest(NFTA_EXPR_DATA, content);
    });
  }
  std::span<const uint8_t> bytes() const { return bytes_; }

 private:
  void add(uint16_t type, const void* data, size_t count, size_t zeros) {
    const rtattr header = {static_cast<uint16_t>(RTA_LENGTH(count + zeros)), type};
    append(&header, sizeof header);
    append(data, count);
    bytes_.resize(NLMSG_ALIGN(bytes_.size() + zeros));
    end_message();
  }
  void append(const void* data, size_t count) {
    const auto* from = static_cast<const uint8_t*>(data);
    bytes_.insert(bytes_.end(), from, from + count);
  }
  void end_message() {
    const auto length = static_cast<uint32_t>(bytes_.size() - message_);
    std::memcpy(&bytes_[message_], &length, sizeof length);
  }

  std::vector<uint8_t> bytes_;
  size_t message_ = 0;
  uint32_t sequence_ = 0;
};

constexpr uint16_t message_type(int number) {
  return static_cast<uint16_t>(NFNL_SUBSYS_NFTABLES << 8 | number);
}

void compare(Batch& batch, uint32_t operation, uint32_t value) {
  batch.expression("cmp", [&] {
    batch.add(NFTA_CMP_SREG, uint32_t{NFT_REG_1});
    batch.add(NFTA_CMP_OP, operation);
    batch.nest(NFTA_CMP_DATA, [&] { batch.add_value(NFTA_DATA_VALUE, value); });
  });
}

/// meta pkttype host  fib daddr type != local  drop
void add_expressions(Batch& batch) {
  batch.expression("meta", [&] {
    batch.add(NFTA_META_KEY, uint32_t{NFT_META_PKTTYPE});
    batch.add(NFTA_META_DREG, uint32_t{NFT_REG_1});
  });
  // One byte in the register, whose others are zero.
  compare(batch, NFT_CMP_EQ, PACKET_HOST);
  batch.expression("fib", [&] {
    batch.add(NFTA_FIB_RESULT, uint32_t{NFT_FIB_RESULT_ADDRTYPE});
    batch.add(NFTA_FIB_FLAGS, uint32_t{NFTA_FIB_F_DADDR});
    batch.add(NFTA_FIB_DREG, uint32_t{NFT_REG_1});
  });
  compare(batch, NFT_CMP_NEQ, RTN_LOCAL);
  batch.expression("immediate", [&] {
    batch.add(NFTA_IMMEDIATE_DREG, uint32_t{NFT_REG_VERDICT});
    batch.nest(NFTA_IMMEDIATE_DATA, [&] {
      batch.nest(NFTA_DATA_VERDICT, [&] { batch.add(NFTA_VERDICT_CODE, uint32_t{NF_DROP}); });
    });
  });
}

Batch rules_for(const std::string& interface) {
  const std::string table = "causeway_" + std::to_string(getpid()) + "_" + interface;
  constexpr std::string_view chain = "hosts";
  Batch batch;
  batch.begin(NFNL_MSG_BATCH_BEGIN, 0, AF_UNSPEC);
  batch.begin(message_type(NFT_MSG_NEWTABLE), NLM_F_CREATE);
  batch.add(NFTA_TABLE_NAME, table);
  batch.add(NFTA_TABLE_FLAGS, uint32_t{NFT_TABLE_F_OWNER});
  batch.begin(message_type(NFT_MSG_NEWCHAIN), NLM_F_CREATE);
  batch.add(NFTA_CHAIN_TABLE, table);
  batch.add(NFTA_CHAIN_NAME, chain);
  batch.nest(NFTA_CHAIN_HOOK, [&] {
    batch.add(NFTA_HOOK_HOOKNUM, uint32_t{NF_NETDEV_INGRESS});
    batch.add(NFTA_HOOK_PRIORITY, uint32_t{0});
    batch.add(NFTA_HOOK_DEV, interface);
  });
  batch.add(NFTA_CHAIN_POLICY, uint32_t{NF_ACCEPT});
  batch.add(NFTA_CHAIN_TYPE, "filter");
  batch.begin(message_type(NFT_MSG_NEWRULE), NLM_F_CREATE | NLM_F_APPEND | NLM_F_ACK);
  batch.add(NFTA_RULE_TABLE, table);
  batch.add(NFTA_RULE_CHAIN, chain);
  batch.nest(NFTA_RULE_EXPRESSIONS, [&] { add_expressions(batch); });
  batch.begin(NFNL_MSG_BATCH_END, 0, AF_UNSPEC);
  return batch;
}

/// Zero, or an errno.
int make_rules(int fd, const std::string& interface) {
  const Batch batch = rules_for(interface);
  if (send(fd, batch.bytes().data(), batch.bytes().size(), 0) < 0) return errno;
  alignas(nlmsghdr) uint8_t answer[4096];
  const ssize_t count = recv(fd, answer, sizeof answer, 0);  // the first mistake, or the rule's end
  if (count < static_cast<ssize_t>(NLMSG_LENGTH(sizeof(nlmsgerr)))) {
    return count < 0 ? errno : EPROTO;
  }
  nlmsgerr reply;
  std::memcpy(&reply, answer + NLMSG_HDRLEN, sizeof reply);
  return -reply.error;
}

}  // namespace

Result<OwnedFd> silence_forwarding(const std::string& interface) {
  OwnedFd fd(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_NETFILTER));
  const int error = fd.get() < 0 ? errno : make_rules(fd.get(), interface);
  if (error == 0) return fd;
  return failure("routes: cannot keep the kernel from forwarding what hosts send to " + interface +
                 " (" + std::strerror(error) +
                 (error == EPERM ? "; grant CAP_NET_ADMIN" : "; it takes nf_tables of Linux 5.12") +
                 "), or say routes = false and drop it yourself: `ip rule add pref 100 iif " +
                 interface + " blackhole`, and the same with -6");
}

}  // namespace cw
