// SPDX-License-Identifier: Apache-2.0
// The calls about accounts of controller_calls.h: what sshare and scontrol show assoc_mgr show.
#include <algorithm>

#include "ctld/controller_calls.h"
#include "ctld/core_thread.h"
#include "ctld/sight.h"
#include "model/counting.h"
#include "model/fair_tree.h"
#include "spur/v1/controller.pb.h"
#include "text/private_data.h"
#include "wire/accounts_codec.h"

namespace spur::ctld {

namespace {

v1::GetSharesReply shares_of(const model::View& view, const Sight& sight, Time at) {
  const model::PriorityConfig& rules = view.config->priority;
  const std::int64_t second = model::whole_seconds(at);
  v1::GetSharesReply reply;
  reply.set_cluster(view.config->cluster_name);
  reply.set_multifactor(rules.multifactor);
  reply.set_fair_tree(model::is_fair_tree(rules));
  for (const std::string& name : view.tres->names()) reply.add_tres(name);
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
  return reply;
}

void fill(const model::View& view, const model::TallyPtr* tally, Time at, v1::GetAccountBookReply::Holding* out) {
  const std::size_t columns = view.tres->size();
  static const model::Tally kNothing;
  const model::Tally& held = tally ? **tally : kNothing;
  const std::int64_t second = model::whole_seconds(at);
  out->set_running(held.running);
  out->set_submitted(held.submitted);
  out->set_accruing(held.accruing);
  for (std::size_t column = 0; column < columns; ++column) {
    out->add_tres(column < held.tres.size() ? held.tres[column] : 0);
    out->add_used_seconds(tally ? held.used(column, second) : 0);
    out->add_run_seconds(tally ? held.promised(column, second) : 0);
  }
  if (!tally) return;
  out->set_wall_seconds(held.used(columns, second));  // behind the columns of the table, see model/tally.h
  out->set_billed(held.used(model::TresTable::kBilling, second));
}

void fill(const model::View& view, const model::Qos& qos, const Sight& sight, Uid caller, Time at,
          v1::GetAccountBookReply::QosRow* out) {
  const bool own_only = sight.lacks(text::kPrivateUsage);
  wire::to_proto(qos, out->mutable_qos());
  fill(view, view.tallies.qos.find(qos.id), at, out->mutable_holding());
  if (const auto* accounts = view.tallies.accounts.find(qos.id))
    accounts->for_each([&](std::uint32_t association, const model::TallyPtr& tally) {
      const model::Association* account = view.accounts->find(association);
      if (!account || tally->empty() || !sight.sees(*account)) return;
      auto* part = out->add_accounts();
      part->set_account(account->account);
      fill(view, &tally, at, part->mutable_holding());
    });
  if (const auto* users = view.tallies.users.find(qos.id))
    users->for_each([&](std::uint32_t uid, const model::TallyPtr& tally) {
      if (tally->empty() || (own_only && uid != caller.value)) return;
      auto* part = out->add_users();
      part->set_uid(uid);
      fill(view, &tally, at, part->mutable_holding());
    });
}

}  // namespace

void ControllerCalls::get_shares(const Caller& caller, const v1::GetSharesRequest&, Answer<v1::GetSharesReply> answer) {
  const auto picture = core_.picture();
  answer(shares_of(picture->view, Sight(picture->view, caller), now(picture->view)));
}

void ControllerCalls::get_account_book(const Caller& caller, const v1::GetAccountBookRequest&,
                                       Answer<v1::GetAccountBookReply> answer) {
  const auto picture = core_.picture();
  const model::View& view = picture->view;
  const Time at = now(view);
  v1::GetAccountBookReply reply;
  const Sight sight(view, caller);
  *reply.mutable_shares() = shares_of(view, sight, at);
  for (const auto& row : reply.shares().rows())
    fill(view, view.tallies.associations.find(row.association().id()), at, reply.add_holdings());
  for (const model::AccountUser& user : view.accounts->users())
    if (!sight.lacks(text::kPrivateUsers) || user.uid == caller.uid.value) wire::to_proto(user, reply.add_users());
  for (const model::Qos& qos : *view.qos) fill(view, qos, sight, caller.uid, at, reply.add_qos());
  answer(std::move(reply));
}

}  // namespace spur::ctld
