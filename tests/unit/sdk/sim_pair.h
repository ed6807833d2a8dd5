/* Two ends of the SDK over the simulated network, for tests in C and C++: the devices "sim:0" and
 * "sim:1" are joined by one path, and time passes only in sim_run(). */
#ifndef CW_TESTS_SIM_PAIR_H
#define CW_TESTS_SIM_PAIR_H

#include "dataplane/sdr/sdr.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Makes the network anew; contexts of the one before must be gone. */
void sim_begin(uint64_t seed, double loss, int64_t delay_ns);
/* Frees the network. */
void sim_end(void);
/* Changes what the wire does to packets from now on, both ways. */
void sim_set_wire(double loss, int64_t delay_ns);
/* Lets time pass and gives both ends their turns; either may be null. */
void sim_run(cw_context* first, cw_context* second, int64_t ns);
/* Packets that a context has dropped because their message was over. */
uint64_t sim_late_packets(const cw_context* context);
/* Slots that a context has rebuilt by code. */
uint64_t sim_rebuilt(const cw_context* context);
/* Slots that a context has sent again. */
uint64_t sim_resends(const cw_context* context);

#ifdef __cplusplus
}
#endif

#endif
