/* A program's own policy for cw_mesh_attr.policy. */
#ifndef CW_TESTS_OWN_POLICY_H
#define CW_TESTS_OWN_POLICY_H

#include "dataplane/policy.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Asks for all that a message lacks, again and again; `interval` is its only parameter. */
extern const struct cw_policy_ops own_policy;

#ifdef __cplusplus
}
#endif

#endif
