/* Members of groups and meshes over the simulated fabric, for tests in C and C++: the device "sim:"
 * has as many hosts as group_sim_begin() says, and time passes only in group_sim_run() and
 * mesh_sim_run(). */
#ifndef CW_TESTS_GROUP_SIM_H
#define CW_TESTS_GROUP_SIM_H

#include "dataplane/collective/sdk/collective.h"
#include "dataplane/message/sdk/messages.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Makes the fabric anew; groups of the one before must be gone. */
void group_sim_begin(size_t hosts, uint64_t seed);
void group_sim_end(void);
/* Of each cable, from now on. */
void group_sim_lose(double share);
/* Lets time pass and gives all their turns; any may be null. */
void group_sim_run(cw_group* const* groups, size_t count, int64_t ns);
void mesh_sim_run(cw_mesh* const* meshes, size_t count, int64_t ns);

#ifdef __cplusplus
}
#endif

#endif
