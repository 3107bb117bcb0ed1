// SPDX-License-Identifier: Apache-2.0
// The calls about accounts of controller_calls.h: what sshare shows.
#include <algorithm>

#include "ctld/controller_calls.h"
#include "ctld/core_thread.h"
#include "ctld/sight.h"
#include "model/counting.h"
#include "model/fair_tree.h"
#include "spur/v1/controller.pb.h"
#include "wire/accounts_codec.h"

namespace spur::ctld {

void ControllerCalls::get_shares(const Caller& caller, const v1::GetSharesRequest&,
                                 Answer<v1::GetSharesReply> answer) {
  const auto picture = core_.picture();
  const model::View& view = picture->view;
  const model::PriorityConfig& rules = view.config->priority;
  const Time at = now(view);
  const std::int64_t second = model::whole_seconds(at);
  v1::GetSharesReply reply;
  reply.set_cluster(view.config->cluster_name);
  reply.set_multifactor(rules.multifactor);
  reply.set_fair_tree(std::ranges::find(rules.flags, "NO_FAIR_TREE") == rules.flags.end());
  for (const std::string& name : view.tres->names()) reply.add_tres(name);
  const Sight sight(view, caller);
  for (const model::Standing& standing : model::standings(view, at)) {
    if (!sight.sees(*view.accounts->find(standing.association))) continue;
    auto* row = reply.add_rows();
    wire::to_proto(*view.accounts->find(standing.association), row->mutable_association());
    row->set_depth(standing.depth);
    row->set_raw_usage(standing.raw_usage);
    row->set_norm_shares(standing.norm_shares);
    row->set_norm_usage(standing.norm_usage);
    row->set_effective_usage(standing.effective_usage);
    row->set_level_fs(standing.level_fs);
    row->set_factor(standing.factor);
    const model::TallyPtr* tally = view.tallies.associations.find(standing.association);
    for (std::size_t column = 0; column < view.tres->size(); ++column) {
      row->add_run_seconds(tally ? (*tally)->promised(column, second) : 0);
      row->add_used_seconds(tally ? (*tally)->used(column, second) : 0);
    }
  }
  answer(std::move(reply));
}

}  // namespace spur::ctld
