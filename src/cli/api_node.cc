// SPDX-License-Identifier: Apache-2.0
// node: scontrol show node --json. Energy is as of a node that does not report it.
#include <algorithm>

#include "cli/api_documents.h"
#include "cli/api_values.h"
#include "cli/scontrol_records.h"
#include "cli/users.h"
#include "text/decimal.h"
#include "text/words.h"

namespace spur::cli {
namespace {

using Words = std::vector<std::string>;

const model::NodeHardware& hardware(const NodeOf& of) {
  return of.node->hardware;
}

Words partitions(const NodeOf& of) {
  Words names;
  for (const model::Partition& partition : of.table->partitions)
    if (std::ranges::binary_search(partition.nodes, of.node->index)) names.push_back(partition.config.name);
  return names;
}

std::string empty_if_null(std::string text) {
  return text == "(null)" ? std::string() : text;
}

std::uint32_t port(const NodeOf& of) {
  return text::parse_decimal32(host_and_port(of.node->address).second).value_or(0);
}

std::string address(const NodeOf& of) {
  const std::string host = host_and_port(of.node->address).first;
  return host.empty() ? of.node->name : host;
}

// 0 where nothing is known.
wire::NodeLoad load_of(const NodeOf& of) {
  const wire::NodeLoad* load = of.table->load_of(*of.node);
  return load ? *load : wire::NodeLoad{};
}

std::optional<std::uint64_t> free_memory(const wire::NodeLoad& load) {
  return load.free_memory_mib == 0 ? std::nullopt : std::optional(load.free_memory_mib);
}

std::uint32_t idle_cpus(const NodeOf& of) {
  return hardware(of).cpus - std::min(of.node->cpus_allocated, hardware(of).cpus);
}

std::string next_state(const model::Node& node) {
  switch (node.after_reboot) {
    case model::AfterReboot::Resume:
      return "RESUME";
    case model::AfterReboot::Down:
      return "DOWN";
    case model::AfterReboot::AsBefore:
      break;
  }
  return "INVALID";
}

void add_energy(Document& to, std::string_view key) {
  to.open_object(key);
  to.field("average_watts", 0).field("base_consumed_energy", 0).field("consumed_energy", 0);
  to.number("current_watts", 0).field("previous_consumed_energy", 0).field("last_collected", 0);
  to.close_object();
}

// clang-format off
constexpr ApiField<NodeOf> kFields[] = {
    {"architecture", API_VALUE(of.node->arch)},
    {"burstbuffer_network_address", API_NONE},
    {"boards", API_VALUE(hardware(of).boards)},
    {"boot_time", API_MOMENT(of.node->boot_time)},
    {"cert_flags", API_NO_LIST, 43},
    {"cluster_name", API_NONE},
    {"cores", API_VALUE(hardware(of).cores_per_socket)},
    {"specialized_cores", API_VALUE(hardware(of).spec_cores)},
    {"cpu_binding", API_VALUE(0)},
    {"cpu_load", API_VALUE(load_of(of).hundredths)},
    {"free_mem", API_NUMBER(free_memory(load_of(of)))},
    {"cpus", API_VALUE(hardware(of).cpus)},
    {"effective_cpus", API_VALUE(hardware(of).cpus)},
    {"specialized_cpus", API_VALUE(hardware(of).spec_cpus)},
    {"energy", SPUR_API_ADD(add_energy(to, key))},
    {"external_sensors", API_NO_OBJECT},
    {"extra", API_VALUE(of.node->extra)},
    {"power", API_NO_OBJECT},
    {"features", API_VALUE(of.node->features)},
    {"active_features", API_VALUE(of.node->active_features)},
    {"gpu_spec", API_NONE, 41},
    {"gres", API_VALUE(empty_if_null(node_gres(hardware(of))))},
    {"gres_drained", API_VALUE("N/A")},
    {"gres_used", API_VALUE(empty_if_null(node_gres_used(*of.node)))},
    {"instance_id", API_VALUE(of.node->instance_id)},
    {"instance_type", API_VALUE(of.node->instance_type)},
    {"last_busy", API_MOMENT(of.node->last_busy)},
    {"mcs_label", API_NONE},
    {"specialized_memory", API_VALUE(hardware(of).spec_memory_mib)},
    {"name", API_VALUE(of.node->name)},
    {"next_state_after_reboot", API_VALUE(Words{next_state(*of.node)})},
    {"address", API_VALUE(address(of))},
    {"hostname", API_VALUE(of.node->hostname.empty() ? of.node->name : of.node->hostname)},
    {"state", API_VALUE(node_state_words(*of.node))},
    {"operating_system", API_VALUE(of.node->os)},
    {"owner", API_NONE},
    {"partitions", API_VALUE(partitions(of))},
    {"port", API_VALUE(port(of))},
    {"real_memory", API_VALUE(hardware(of).memory_mib)},
    {"res_cores_per_gpu", API_VALUE(0), 41},
    {"comment", API_VALUE(of.node->comment)},
    {"reason", API_VALUE(of.node->reason)},
    {"reason_changed_at", API_MOMENT(of.node->reason_at)},
    {"reason_set_by_user", API_VALUE(of.node->reason.empty() ? std::string() : user_name(of.node->reason_by))},
    {"resume_after", API_ZERO},
    {"reservation", API_NONE},
    {"alloc_memory", API_VALUE(of.node->memory_allocated_mib)},
    {"alloc_cpus", API_VALUE(of.node->cpus_allocated)},
    {"alloc_idle_cpus", API_VALUE(idle_cpus(of))},
    {"tres_used", API_VALUE(used_tres(*of.node))},
    {"tres_weighted", SPUR_API_ADD(to.decimal(key, 0))},
    {"slurmd_start_time", API_MOMENT(of.node->agent_started)},
    {"sockets", API_VALUE(hardware(of).sockets)},
    {"threads", API_VALUE(hardware(of).threads_per_core)},
    {"temporary_disk", API_VALUE(hardware(of).tmp_disk_mib)},
    {"topology", API_NONE, 43},
    {"tls_cert_last_renewal", API_ZERO, 43},
    {"weight", API_VALUE(of.node->weight)},
    {"tres", API_VALUE(configured_tres(hardware(of)))},
    {"version", API_VALUE(of.node->version.empty() ? std::string() : std::string(kSlurmVersion))},
};
// clang-format on

}  // namespace

Words node_state_words(const model::Node& node) {
  Words words;
  const std::string full = model::state_text_full(node);
  for (const std::string_view word : text::split(full, '+'))
    words.emplace_back(word == "MAINT" ? "MAINTENANCE" : word);
  return words;
}

std::span<const ApiField<NodeOf>> node_fields() {
  return kFields;
}

}  // namespace spur::cli
