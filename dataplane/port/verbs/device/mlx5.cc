#include "dataplane/port/verbs/device/mlx5.h"

#ifdef CW_HAVE_MLX5
#include <infiniband/mlx5dv.h>
#endif

namespace cw::verbs {

#ifdef CW_HAVE_MLX5
void choose_source_port(ibv_qp& pair, uint16_t source_port) {
  if (!mlx5dv_is_supported(pair.context->device)) return;
  (void)mlx5dv_modify_qp_udp_sport(&pair, source_port);
}
#else
void choose_source_port(ibv_qp&, uint16_t) {}
#endif

}  // namespace cw::verbs
