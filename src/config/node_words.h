// SPDX-License-Identifier: Apache-2.0
// Nodes by the words of a NodeName line, where there is no file: scontrol create, slurmd --conf.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/cluster_config.h"

namespace spur::config {

// "CPUs=4 Gres=gpu:2" in pairs; a word without "=" has an empty value.
using NodeWords = std::vector<std::pair<std::string, std::string>>;
NodeWords split_node_words(std::string_view text);

// One row for each node of the host list, as the same words in slurm.conf make them: what is not said is 1, and
// CPUs follow from the rest. An error names the word.
Result<std::vector<model::NodeConfig>> read_node_words(std::string_view names, const NodeWords& words);

}  // namespace spur::config
