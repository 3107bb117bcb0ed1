// SPDX-License-Identifier: Apache-2.0
// The calls of a ControllerClient about accounts: what sshare and scontrol show assoc_mgr show.
#include <algorithm>

#include "spur/v1/controller.pb.h"
#include "wire/accounts_codec.h"
#include "wire/controller_channel.h"

namespace spur::wire {

static Result<ShareTable> share_table(const v1::GetSharesReply& reply) {
  ShareTable table;
  table.cluster = reply.cluster();
  table.multifactor = reply.multifactor();
  table.fair_tree = reply.fair_tree();
  table.tres.assign(reply.tres().begin(), reply.tres().end());
  table.rows.reserve(static_cast<std::size_t>(reply.rows_size()));
  for (const auto& row : reply.rows()) {
    ShareRow& out = table.rows.emplace_back();
    SPUR_TRY(from_proto(row.association(), &out.association));
    out.depth = std::min(row.depth(), 1000u);
    out.raw_usage = row.raw_usage();
    out.norm_shares = row.norm_shares();
    out.norm_usage = row.norm_usage();
    out.effective_usage = row.effective_usage();
    out.level_fs = row.level_fs();
    out.factor = row.factor();
    out.run_seconds.assign(row.run_seconds().begin(), row.run_seconds().end());
    out.used_seconds.assign(row.used_seconds().begin(), row.used_seconds().end());
  }
  return table;
}

Result<ShareTable> ControllerClient::shares() {
  v1::GetSharesReply reply;
  SPUR_TRY(channel_->ask("GetShares", v1::GetSharesRequest{}, &reply));
  return share_table(reply);
}

static Result<Holding> holding_of(const v1::GetAccountBookReply::Holding& from, const ShareTable& table) {
  const auto columns = static_cast<int>(table.tres.size());
  if (from.tres_size() != columns || from.used_seconds_size() != columns || from.run_seconds_size() != columns)
    return fail(ErrorCode::Corrupt, "The controller's list of accounts does not fit together");
  return Holding{.running = from.running(),
                 .submitted = from.submitted(),
                 .accruing = from.accruing(),
                 .tres = {from.tres().begin(), from.tres().end()},
                 .used_seconds = {from.used_seconds().begin(), from.used_seconds().end()},
                 .run_seconds = {from.run_seconds().begin(), from.run_seconds().end()},
                 .wall_seconds = from.wall_seconds(),
                 .billed = from.billed()};
}

Result<AccountBookTable> ControllerClient::account_book() {
  v1::GetAccountBookReply reply;
  SPUR_TRY(channel_->ask("GetAccountBook", v1::GetAccountBookRequest{}, &reply));
  AccountBookTable book;
  SPUR_ASSIGN(book.shares, share_table(reply.shares()));
  if (reply.holdings_size() != reply.shares().rows_size())
    return fail(ErrorCode::Corrupt, "The controller's list of accounts does not fit together");
  for (const auto& holding : reply.holdings()) {
    SPUR_ASSIGN(auto held, holding_of(holding, book.shares));
    book.holdings.push_back(std::move(held));
  }
  for (const auto& user : reply.users()) SPUR_TRY(from_proto(user, &book.users.emplace_back()));
  for (const auto& row : reply.qos()) {
    QosHolding& out = book.qos.emplace_back();
    SPUR_TRY(from_proto(row.qos(), &out.qos));
    SPUR_ASSIGN(out.holding, holding_of(row.holding(), book.shares));
    for (const auto& part : row.accounts()) {
      SPUR_ASSIGN(auto held, holding_of(part.holding(), book.shares));
      out.accounts.emplace_back(part.account(), std::move(held));
    }
    for (const auto& part : row.users()) {
      SPUR_ASSIGN(auto held, holding_of(part.holding(), book.shares));
      out.users.emplace_back(Uid{part.uid()}, std::move(held));
    }
  }
  return book;
}

}  // namespace spur::wire
