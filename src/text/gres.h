// SPDX-License-Identifier: Apache-2.0
// Generic resources: what a job asks for ("gpu:mi300x:8,shard:4", "gres:gpu:2", "none") and what a node declares
// ("gpu:mi300x:8(S:0-1)"). Plain structs; model/ and config/ turn them into theirs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/index_set.h"
#include "base/result.h"

namespace spur::text {

struct GresItem {
  std::string name;  // "gpu"
  std::string type;  // "mi300x" or empty
  std::uint64_t count = 1;
  friend bool operator==(const GresItem&, const GresItem&) = default;
};

// --gres and friends. An empty list for "none" and for "". "gpu=2" means "gpu:2"; a leading "gres:" or "gres/" is
// dropped. A count may carry K, M, G (powers of 1024). "gpu:0" is kept: it takes back what came before.
// InvalidGres names the item that is wrong; the same name and type twice is wrong.
Result<std::vector<GresItem>> parse_gres_request(std::string_view text);

// --gpus, --gpus-per-node, --gpus-per-task, --gpus-per-socket: "2", "mi300x:2", "a100:1,h100:1". The name is "gpu".
Result<std::vector<GresItem>> parse_gpu_request(std::string_view text);

struct GresDeclaration {
  GresItem item;
  bool no_consume = false;  // "gpu:no_consume:2"
  IndexSet sockets;         // "(S:0-1)": the sockets the devices sit on; empty: not said
  friend bool operator==(const GresDeclaration&, const GresDeclaration&) = default;
};
// NodeName's Gres=. Also reads back what Slurm prints: "gpu:8(S:0-1)", "gpu:mi300x:8(IDX:0-7)" (the indices are
// dropped), "(null)".
Result<std::vector<GresDeclaration>> parse_gres_declaration(std::string_view text);

std::string format_gres(const GresItem& item);                // "gpu:mi300x:8"
std::string format_gres(const std::vector<GresItem>& items);  // joined by commas
std::string format_gres(const GresDeclaration& declaration);  // with "(S:0-1)"

}  // namespace spur::text
