// SPDX-License-Identifier: Apache-2.0
#include "model/view.h"

#include <algorithm>

#include "text/hostlist.h"

namespace spur::model {

const Job* find_job(const View& view, JobId id) {
  const JobPtr* job = view.jobs.find(id.value);
  return job ? job->get() : nullptr;
}

const Job* find_array_task(const View& view, JobId array, std::uint32_t task) {
  if (const CowMap<JobId>* tasks = view.arrays.find(array.value))
    if (const JobId* own = tasks->find(task)) return find_job(view, *own);
  const Job* rest = find_job(view, array);
  return rest && rest->is_array_rest() && rest->array_pending->contains(task) ? rest : nullptr;
}

const Node* find_node(const View& view, std::string_view name) {
  if (!view.node_by_name) return nullptr;
  const auto at = view.node_by_name->find(name);
  if (at == view.node_by_name->end()) return nullptr;
  const NodePtr* node = view.nodes.find(at->second.value);
  return node ? node->get() : nullptr;
}

const Job* run_on_node(const View& view, const JobRun& run, std::string_view node) {
  const JobPtr* job = view.active.find(run.job.value);
  if (!job || (*job)->epoch != run.epoch) return nullptr;
  const Node* found = find_node(view, node);
  if (!found) return nullptr;
  const auto& left = (*job)->nodes_left;
  return std::ranges::binary_search(left, found->index) ? job->get() : nullptr;
}

const Partition* find_partition(const View& view, std::string_view name) {
  if (!view.partitions) return nullptr;
  for (const Partition& partition : *view.partitions)
    if (partition.config.name == name) return &partition;
  return nullptr;
}

const Partition* default_partition(const View& view) {
  if (!view.partitions) return nullptr;
  for (const Partition& partition : *view.partitions)
    if (partition.config.is_default) return &partition;
  return nullptr;
}

const Reservation* find_reservation(const View& view, std::string_view name) {
  const auto at = std::ranges::find(*view.reservations, name, &Reservation::name);
  return at != view.reservations->end() ? &*at : nullptr;
}

const Qos* find_qos(const View& view, std::string_view name) {
  const auto& list = view.qos_in_force ? *view.qos_in_force : *view.qos;
  const auto at = std::ranges::lower_bound(list, name, {}, &Qos::name);
  return at != list.end() && at->name == name ? &*at : nullptr;
}

const FairShare* find_share(const View& view, std::string_view account, Uid user, std::string_view partition) {
  const auto find = [&](std::string_view part) -> const FairShare* {
    FairShare key;
    key.account = account, key.user = user, key.partition = part;
    const auto at = std::lower_bound(view.shares->begin(), view.shares->end(), key, before);
    return at != view.shares->end() && !before(key, *at) ? &*at : nullptr;
  };
  const FairShare* own = partition.empty() ? nullptr : find(partition);
  return own ? own : find({});
}

std::string node_list(const View& view, const std::vector<NodeIndex>& nodes) {
  if (nodes.size() == 1) {
    const NodePtr* node = view.nodes.find(nodes[0].value);
    return node ? (*node)->name : std::string();
  }
  std::vector<std::string> names;
  names.reserve(nodes.size());
  for (const NodeIndex index : nodes)
    if (const NodePtr* node = view.nodes.find(index.value)) names.push_back((*node)->name);
  return text::compress_hostlist(names);
}

}  // namespace spur::model
