// Objects of libibverbs with an owner. Each is destroyed before those that it was made from.
#pragma once

#include <infiniband/verbs.h>

#include <memory>

namespace cw::verbs {

template <class T, int (*destroy)(T*)>
struct Destroys {
  void operator()(T* object) const { (void)destroy(object); }
};
template <class T, int (*destroy)(T*)>
using Handle = std::unique_ptr<T, Destroys<T, destroy>>;

using Context = Handle<ibv_context, ibv_close_device>;
using ProtectionDomain = Handle<ibv_pd, ibv_dealloc_pd>;
using Channel = Handle<ibv_comp_channel, ibv_destroy_comp_channel>;
using CompletionQueue = Handle<ibv_cq, ibv_destroy_cq>;
using QueuePair = Handle<ibv_qp, ibv_destroy_qp>;
using AddressHandle = Handle<ibv_ah, ibv_destroy_ah>;
using Registration = Handle<ibv_mr, ibv_dereg_mr>;

}  // namespace cw::verbs
