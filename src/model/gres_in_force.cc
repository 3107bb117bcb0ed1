// SPDX-License-Identifier: Apache-2.0
#include "model/gres_in_force.h"

#include <string>

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

}  // namespace spur::model
