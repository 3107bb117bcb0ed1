// SPDX-License-Identifier: Apache-2.0
#include "wire/node_codec.h"

#include "spur/v1/types.pb.h"
#include "wire/fields.h"
#include "wire/id_codec.h"

namespace spur::wire {

#define SPUR_NODE_GRES_FIELDS(F) \
  F(PLAIN, name)                 \
  F(PLAIN, type) F(PLAIN, count) F(PLAIN, file) F(PLAIN, cores) F(PLAIN, links) F(PLAIN, nic) F(TEXTS, flags)
void to_proto(const model::NodeGres& m, v1::NodeGres* p){SPUR_NODE_GRES_FIELDS(SPUR_TO)} Status
    from_proto(const v1::NodeGres& p, model::NodeGres* m) {
  SPUR_NODE_GRES_FIELDS(SPUR_FROM)
  return {};
}

// clang-format off
#define SPUR_NODE_HARDWARE_FIELDS(F) \
  F(DEF, cpus) F(DEF, boards) F(DEF, sockets) F(DEF, cores_per_socket) F(DEF, threads_per_core) \
  F(DEF, memory_mib) F(PLAIN, tmp_disk_mib) F(MSGS, gres) F(PLAIN, numa_nodes) F(PLAIN, spec_cores) \
  F(PLAIN, spec_cpus) F(PLAIN, spec_memory_mib)
// clang-format on
void to_proto(const model::NodeHardware& m, v1::NodeHardware* p){SPUR_NODE_HARDWARE_FIELDS(SPUR_TO)} Status
    from_proto(const v1::NodeHardware& p, model::NodeHardware* m) {
  SPUR_NODE_HARDWARE_FIELDS(SPUR_FROM)
  return {};
}

#define SPUR_DEVICES_IN_USE_FIELDS(F) F(PLAIN, gres) F(NUMBERS, bits) F(NUMBERS, shares)
static void to_proto(const model::Node::DevicesInUse& m, v1::Node::DevicesInUse* p) {
  SPUR_DEVICES_IN_USE_FIELDS(SPUR_TO)
}
static Status from_proto(const v1::Node::DevicesInUse& p, model::Node::DevicesInUse* m) {
  SPUR_DEVICES_IN_USE_FIELDS(SPUR_FROM)
  return {};
}

// clang-format off
#define SPUR_NODE_FIELDS(F) \
  F(ID, index) F(PLAIN, name) F(PLAIN, address) F(PLAIN, hostname) F(MSG, hardware) F(MSG, found) F(TEXTS, features) \
  F(TEXTS, active_features) F(DEF, weight) F(PLAIN, comment) F(PLAIN, extra) F(PLAIN, reason) F(ID, reason_by) \
  F(TIME, reason_at) F(PLAIN, down) F(PLAIN, flags) F(PLAIN, registered) F(TIME, registered_at) F(TIME, boot_time) \
  F(TIME, agent_started) F(TIME, last_busy) F(PLAIN, version) F(PLAIN, os) F(PLAIN, arch) F(PLAIN, public_key) \
  F(PLAIN, cpus_allocated) F(PLAIN, memory_allocated_mib) F(NUMBERS, cpus_in_use) F(MSGS, devices_in_use) \
  F(IDS, jobs) F(PLAIN, jobs_completing) F(PLAIN, exclusive) F(PLAIN, launch_failures) \
  F(ENUM, after_reboot) F(TIME, ordered_at) F(PLAIN, instance_id) F(PLAIN, instance_type)
// clang-format on
void to_proto(const model::Node& m, v1::Node* p){SPUR_NODE_FIELDS(SPUR_TO)} Status
    from_proto(const v1::Node& p, model::Node* m) {
  SPUR_NODE_FIELDS(SPUR_FROM)
  return {};
}

// clang-format off
#define SPUR_NODE_UPDATE_FIELDS(F) \
  F(TEXTS, nodes) F(ENUM, action) F(OPT, reason) F(OPT, comment) F(OPT, extra) F(OPT, features) F(OPT, weight) F(ID, by) \
  F(PLAIN, asap) F(ENUM, after_reboot) F(OPT, active_features) F(OPT, instance_id) F(OPT, instance_type)
// clang-format on
void to_proto(const state::UpdateNode& m, v1::NodeUpdate* p){SPUR_NODE_UPDATE_FIELDS(SPUR_TO)} Status
    from_proto(const v1::NodeUpdate& p, state::UpdateNode* m) {
  SPUR_NODE_UPDATE_FIELDS(SPUR_FROM)
  return {};
}

}  // namespace spur::wire
