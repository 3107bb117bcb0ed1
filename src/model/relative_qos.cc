// SPDX-License-Identifier: Apache-2.0
#include "model/relative_qos.h"

#include <algorithm>

namespace spur::model {
namespace {

void add(TresRow& row, const TresTable& table, const Node& node) {
  row[TresTable::kCpu] += node.hardware.cpus;
  row[TresTable::kBilling] += node.hardware.cpus;
  row[TresTable::kMemory] += node.hardware.memory_mib;
  ++row[TresTable::kNode];
  for (const NodeGres& gres : node.hardware.gres) {
    if (const std::size_t at = table.find("gres/" + gres.name); at < table.size()) row[at] += gres.count;
    if (gres.type.empty()) continue;
    if (const std::size_t at = table.find("gres/" + gres.name + ":" + gres.type); at < table.size())
      row[at] += gres.count;
  }
}

TresRow total(const View& view, const Partition* of) {
  TresRow row(view.tres->size(), 0);
  if (of) {
    for (const NodeIndex at : of->nodes)
      if (const NodePtr* node = view.nodes.find(at.value)) add(row, *view.tres, **node);
  } else {
    view.nodes.for_each([&](std::uint32_t, const NodePtr& node) { add(row, *view.tres, *node); });
  }
  for (const LicenseConfig& license : view.config->licenses)
    if (const std::size_t at = view.tres->find("license/" + license.name); at < row.size()) row[at] += license.count;
  return row;
}

}  // namespace

View::List<Qos> qos_with_amounts(const View& view) {
  if (std::ranges::none_of(*view.qos, [](const Qos& qos) { return qos.flags & kQosRelative; })) return nullptr;
  auto list = std::make_shared<std::vector<Qos>>(*view.qos);
  for (Qos& qos : *list) {
    if (!(qos.flags & kQosRelative)) continue;
    const Partition* of = nullptr;
    if (view.partitions)
      for (const Partition& partition : *view.partitions)
        if (!of && partition.config.qos == qos.name) of = &partition;
    const TresRow all = total(view, of);
    for (TresCounts* limits : {&qos.group.tres, &qos.max_tres_per_job, &qos.max_tres_per_user,
                               &qos.max_tres_per_account, &qos.min_tres_per_job})
      for (TresCount& limit : *limits)
        if (const std::size_t at = view.tres->find(limit.tres); at < all.size())
          limit.count = all[at] * std::min<std::uint64_t>(limit.count, 100) / 100;
  }
  return list;
}

}  // namespace spur::model
