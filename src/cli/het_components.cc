// SPDX-License-Identifier: Apache-2.0
#include "cli/het_components.h"

#include <utility>

namespace spur::cli {

std::expected<std::vector<ParsedLine>, int> parse_components(Context& context, const std::vector<OptionRow>& rows,
                                                             std::vector<std::string> words, int failure) {
  std::vector<ParsedLine> lines;
  while (true) {
    auto line = parse_words(context, rows, words, Order::OptionsFirst, failure);
    if (!line) return std::unexpected(line.error());
    lines.push_back(*std::move(line));
    std::vector<std::string>& rest = lines.back().rest;
    if (rest.empty() || rest.front() != ":") return lines;
    words.assign(std::make_move_iterator(rest.begin() + 1), std::make_move_iterator(rest.end()));
    rest.clear();
  }
}

void begin_component(JobRequest& request) {
  const model::JobSpec fresh;
  model::JobSpec& spec = request.spec;
  spec.partitions = fresh.partitions;
  spec.min_nodes = fresh.min_nodes;
  spec.max_nodes = fresh.max_nodes;
  spec.nodes_given = fresh.nodes_given;
  spec.tasks = fresh.tasks;
  spec.tasks_per_node = fresh.tasks_per_node;
  spec.tasks_per_socket = fresh.tasks_per_socket;
  spec.tasks_per_core = fresh.tasks_per_core;
  spec.tasks_per_gpu = fresh.tasks_per_gpu;
  spec.cpus_per_gpu = fresh.cpus_per_gpu;
  spec.cpus_per_task = fresh.cpus_per_task;
  spec.cpus_per_task_given = fresh.cpus_per_task_given;
  spec.min_cpus_per_node = fresh.min_cpus_per_node;
  spec.memory_per_cpu_mib = fresh.memory_per_cpu_mib;
  spec.memory_per_gpu_mib = fresh.memory_per_gpu_mib;
  spec.tmp_disk_mib = fresh.tmp_disk_mib;
  spec.gres_flags = fresh.gres_flags;
  spec.licenses = fresh.licenses;
  spec.exclusive = fresh.exclusive;
  spec.oversubscribe = fresh.oversubscribe;
  spec.contiguous = fresh.contiguous;
  spec.spread_nodes = fresh.spread_nodes;
  spec.fewest_nodes = fresh.fewest_nodes;
  spec.sockets_per_node = fresh.sockets_per_node;
  spec.cores_per_socket = fresh.cores_per_socket;
  spec.threads_per_core = fresh.threads_per_core;
  spec.core_spec = fresh.core_spec;
  spec.core_spec_is_threads = fresh.core_spec_is_threads;
  spec.switches = fresh.switches;
  spec.switch_wait_seconds = fresh.switch_wait_seconds;
  spec.segment = fresh.segment;
  spec.features = fresh.features;
  spec.prefer = fresh.prefer;
  spec.burst_buffer = fresh.burst_buffer;
  spec.container = fresh.container;
  spec.required_nodes = fresh.required_nodes;
  spec.mail_types = fresh.mail_types;
  request.gres.clear();
  request.gpus.clear();
  request.gpus_per_node.clear();
  request.gpus_per_task.clear();
  request.gpus_per_socket.clear();
  request.nodes_given = request.tasks_given = false;
}

}  // namespace spur::cli
