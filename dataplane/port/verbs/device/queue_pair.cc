#include "dataplane/port/verbs/device/queue_pair.h"

#include <cerrno>
#include <cstring>

namespace cw::verbs {
namespace {

/// Who only receives names somebody to send to.
constexpr uint32_t nobody = 1;

Result<void> change(ibv_qp& pair, ibv_qp_attr& attributes, int mask, const char* step) {
  const int error = ibv_modify_qp(&pair, &attributes, mask);
  if (error == 0) return {};
  return failure("queue pair " + std::to_string(pair.qp_num) + " cannot " + step + ": " +
                 std::strerror(error));
}

ibv_qp_cap room_for(Depth depth, uint32_t pieces) {
  return {.max_send_wr = depth.sends,
          .max_recv_wr = depth.receives,
          .max_send_sge = pieces,
          .max_recv_sge = pieces,
          .max_inline_data = 0};
}

Result<QueuePair> make(const Device& device, ibv_cq& sends, ibv_cq& receives, Depth depth,
                       ibv_qp_type type, uint32_t pieces = 1) {
  ibv_qp_init_attr wanted{};
  wanted.send_cq = &sends;
  wanted.recv_cq = &receives;
  wanted.cap = room_for(depth, pieces);
  wanted.qp_type = type;
  QueuePair pair(ibv_create_qp(device.domain(), &wanted));
  if (pair != nullptr) return pair;
  return failure("device \"" + device.name() + "\" makes no queue pair of " +
                 std::to_string(depth.sends) + " sends and " + std::to_string(depth.receives) +
                 " receives: " + std::strerror(errno));
}

Result<void> begin_uc(ibv_qp& pair) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.port_num = port_number;
  attributes.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
  return change(pair, attributes,
                IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, "begin");
}

Result<void> begin_ud(ibv_qp& pair, uint32_t queue_key) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.port_num = port_number;
  attributes.qkey = queue_key;
  const auto begun = change(pair, attributes,
                            IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY, "begin");
  if (!begun) return begun;
  attributes.qp_state = IBV_QPS_RTR;
  const auto receives = change(pair, attributes, IBV_QP_STATE, "receive");
  if (!receives) return receives;
  attributes.qp_state = IBV_QPS_RTS;
  attributes.sq_psn = 0;
  return change(pair, attributes, IBV_QP_STATE | IBV_QP_SQ_PSN, "send");
}

Result<void> connect(ibv_qp& pair, const ibv_ah_attr& way, ibv_mtu path_mtu, uint32_t target_qp) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RTR;
  attributes.ah_attr = way;
  attributes.path_mtu = path_mtu;
  attributes.dest_qp_num = target_qp;
  attributes.rq_psn = 0;
  return change(pair, attributes,
                IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN,
                "reach its peer");
}

Result<void> reset(ibv_qp& pair) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_ERR;  // from which a queue that hangs lets go
  (void)ibv_modify_qp(&pair, &attributes, IBV_QP_STATE);
  attributes.qp_state = IBV_QPS_RESET;
  return change(pair, attributes, IBV_QP_STATE, "be reset");
}

/// Null: the device does not know this, or makes no pair at all.
QueuePair make_without_own(const Device& device, ibv_cq& sends, ibv_cq& receives, Depth depth,
                           uint32_t pieces) {
  ibv_qp_init_attr_ex wanted{};
  wanted.send_cq = &sends;
  wanted.recv_cq = &receives;
  wanted.cap = room_for(depth, pieces);
  wanted.qp_type = IBV_QPT_UD;
  wanted.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS;
  wanted.pd = device.domain();
  wanted.create_flags = IBV_QP_CREATE_BLOCK_SELF_MCAST_LB;
  return QueuePair(ibv_create_qp_ex(device.context(), &wanted));
}

}  // namespace

Result<QueuePair> make_uc(const Device& device, ibv_cq& sends, ibv_cq& receives, Depth depth) {
  auto pair = make(device, sends, receives, depth, IBV_QPT_UC);
  if (!pair) return pair;
  if (const auto begun = begin_uc(**pair); !begun) return std::unexpected(begun.error());
  return pair;
}

Result<QueuePair> make_ud(const Device& device, ibv_cq& sends, ibv_cq& receives, Depth depth,
                          uint32_t queue_key) {
  auto pair = make(device, sends, receives, depth, IBV_QPT_UD);
  if (!pair) return pair;
  if (const auto begun = begin_ud(**pair, queue_key); !begun) {
    return std::unexpected(begun.error());
  }
  return pair;
}

Result<GroupPair> make_group_ud(const Device& device, ibv_cq& sends, ibv_cq& receives, Depth depth,
                                uint32_t queue_key) {
  constexpr uint32_t pieces = 2;
  GroupPair made{make_without_own(device, sends, receives, depth, pieces), true};
  if (made.pair == nullptr) {
    auto plain = make(device, sends, receives, depth, IBV_QPT_UD, pieces);
    if (!plain) return std::unexpected(plain.error());
    made = {std::move(*plain), false};
  }
  if (const auto begun = begin_ud(*made.pair, queue_key); !begun) {
    return std::unexpected(begun.error());
  }
  return made;
}

Result<void> begin_receiving(ibv_qp& uc, const ibv_ah_attr& way, ibv_mtu path_mtu) {
  return connect(uc, way, path_mtu, nobody);
}

Result<void> begin_sending(ibv_qp& uc, const ibv_ah_attr& way, ibv_mtu path_mtu, uint32_t target_qp,
                           uint32_t psn) {
  const auto connected = connect(uc, way, path_mtu, target_qp);
  if (!connected) return connected;
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RTS;
  attributes.sq_psn = psn;
  return change(uc, attributes, IBV_QP_STATE | IBV_QP_SQ_PSN, "send");
}

Result<void> renew_uc(ibv_qp& uc) {
  const auto is_reset = reset(uc);
  return is_reset ? begin_uc(uc) : is_reset;
}

Result<void> renew_ud(ibv_qp& ud, uint32_t queue_key) {
  const auto is_reset = reset(ud);
  return is_reset ? begin_ud(ud, queue_key) : is_reset;
}

}  // namespace cw::verbs
