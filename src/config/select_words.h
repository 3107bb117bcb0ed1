// SPDX-License-Identifier: Apache-2.0
// The words of SelectTypeParameters that are a setting of their own, in the order in which Slurm shows them. Read by
// the setter, by `scontrol show config` and by the translation from spur.conf to slurm.conf.
#pragma once

#include <string>
#include <string_view>

#include "model/cluster_config.h"

namespace spur::config {

struct SelectWord {
  std::string_view word;
  bool model::ClusterConfig::* flag;
};

inline constexpr SelectWord kSelectWords[] = {
    {"CR_ONE_TASK_PER_CORE", &model::ClusterConfig::one_task_per_core},
    {"CR_CORE_DEFAULT_DIST_BLOCK", &model::ClusterConfig::block_sockets},
    {"CR_LLN", &model::ClusterConfig::least_loaded_nodes},
    {"CR_PACK_NODES", &model::ClusterConfig::pack_tasks},
    {"LL_SHARED_GRES", &model::ClusterConfig::spread_shares},
    {"MULTIPLE_SHARING_GRES_PJ", &model::ClusterConfig::shares_of_several},
    {"ENFORCE_BINDING_GRES", &model::ClusterConfig::bind_to_gres},
    {"ONE_TASK_PER_SHARING_GRES", &model::ClusterConfig::one_task_per_shared_gres},
};

// Those that are set, each behind a comma.
inline std::string select_words(const model::ClusterConfig& cluster) {
  std::string out;
  for (const SelectWord& word : kSelectWords)
    if (cluster.*word.flag) out.append(",").append(word.word);
  return out;
}

}  // namespace spur::config
