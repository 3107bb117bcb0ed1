// SPDX-License-Identifier: Apache-2.0
#include "model/gres_in_force.h"

#include <algorithm>
#include <string>

#include "text/hostlist.h"
#include "text/words.h"

namespace spur::model {
namespace {

bool type_fits(const std::string& declared, const std::string& found) {
  return declared.empty() || text::lower(found).find(text::lower(declared)) != std::string::npos;
}

}  // namespace

std::vector<NodeGres> gres_in_force(const std::vector<NodeGres>& declared, const std::vector<NodeGres>& found) {
  if (declared.empty()) return found;
  std::vector<NodeGres> out;
  std::vector<bool> taken(found.size(), false);
  for (const NodeGres& row : declared) {
    if (!row.file.empty() || !row.cores.empty() || !row.links.empty()) {
      out.push_back(row);
      continue;
    }
    NodeGres rest = row;
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (taken[i] || rest.count == 0 || found[i].name != row.name || !type_fits(row.type, found[i].type)) continue;
      if (found[i].count == 0 || found[i].count > rest.count || found[i].file.empty()) continue;
      taken[i] = true;
      rest.count -= found[i].count;
      NodeGres& device = out.emplace_back(found[i]);
      device.type = row.type;  // what users ask for
      device.flags = row.flags;
    }
    // Counted without devices, or not all there.
    if (rest.count > 0) out.push_back(std::move(rest));
  }
  return out;
}

std::vector<std::uint64_t> shares_by_gpu(const std::vector<NodeGres>& gres, std::string_view name) {
  constexpr std::uint64_t kMost = 65'536;  // as many devices as a node may have
  std::vector<std::string> files, types;   // by number of the GPU
  for (const NodeGres& row : gres) {
    if (row.name != "gpu") continue;
    auto own = text::expand_hostlist(row.file);
    if (!own) own = std::vector<std::string>();
    own->resize(std::min(row.count, kMost));
    types.resize(types.size() + own->size(), row.type);
    files.insert(files.end(), own->begin(), own->end());
  }
  std::vector<std::uint64_t> shares;
  for (const NodeGres& row : gres) {
    if (row.name != name) continue;
    shares.resize(files.size(), 1);
    std::vector<std::size_t> its;
    const auto add = [&](auto is_its) {
      for (std::size_t gpu = 0; gpu < files.size(); ++gpu)
        if (is_its(gpu)) its.push_back(gpu);
    };
    const auto named = text::expand_hostlist(row.file);
    add([&](std::size_t gpu) {
      return named && !files[gpu].empty() && std::ranges::find(*named, files[gpu]) != named->end();
    });
    if (its.empty()) add([&](std::size_t gpu) { return !row.type.empty() && types[gpu] == row.type; });
    if (its.empty()) add([](std::size_t) { return true; });
    const std::uint64_t count = std::min(row.count, kMost);
    for (std::size_t i = 0; i < its.size(); ++i)
      shares[its[i]] = std::max<std::uint64_t>(1, count / its.size() + (i < count % its.size() ? 1 : 0));
  }
  return shares;
}

}  // namespace spur::model
