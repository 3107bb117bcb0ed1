// SPDX-License-Identifier: Apache-2.0
// What administrators ask for: reservations and partitions. Requests of users are in controller_requests.cc.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ctld/controller.h"
#include "wire/config_codec.h"

namespace spur::ctld {
namespace {

std::unexpected<Error> not_admin() {
  return fail(ErrorCode::InvalidUser, "Invalid user id");
}

}  // namespace

void Controller::create_reservation(const model::Caller& caller, const model::ReservationChange& change,
                                    const KnownIds& ids, std::function<void(Result<std::string>)> reply) {
  if (!caller.is_admin()) return reply(not_admin());
  const auto& view = cluster_->view();
  auto made = make_reservation(view, change, ids, std::max(doors_.clock.now(), view.as_of));
  if (!made) return reply(std::unexpected(std::move(made.error())));
  made->created_by = caller.uid;
  propose(
      state::CreateReservation{*std::move(made)},
      [reply = std::move(reply)](const state::Outcome& outcome) {
        if (!outcome.status) return reply(std::unexpected(outcome.status.error()));
        reply(outcome.name);
      },
      IfFull::Refuse, caller.uid);
}

void Controller::update_reservation(const model::Caller& caller, const model::ReservationChange& change,
                                    const KnownIds& ids, DoneReply reply) {
  if (!caller.is_admin()) return reply(not_admin());
  const auto& view = cluster_->view();
  auto made = change_reservation(view, change, ids, std::max(doors_.clock.now(), view.as_of));
  if (!made) return reply(std::unexpected(std::move(made.error())));
  propose(
      state::UpdateReservation{*std::move(made)},
      [reply = std::move(reply)](const state::Outcome& outcome) { reply(outcome.status); }, IfFull::Refuse, caller.uid);
}

void Controller::delete_reservation(const model::Caller& caller, const std::string& name, DoneReply reply) {
  const model::Reservation* found = model::find_reservation(cluster_->view(), name);
  const bool own = found && found->has(model::kResvUserDelete) && !found->users.denied &&
                   std::ranges::binary_search(found->user_ids, caller.uid);
  if (!caller.is_admin() && !own) return reply(not_admin());
  propose(
      state::DeleteReservation{name},
      [reply = std::move(reply)](const state::Outcome& outcome) { reply(outcome.status); }, IfFull::Refuse, caller.uid);
}

void Controller::edit_partition(const model::Caller& caller, PartitionEdit how, const model::PartitionConfig& wanted,
                                const std::vector<std::string>& changed, DoneReply reply) {
  if (!caller.is_admin()) return reply(not_admin());
  const auto invalid = [&] {
    return reply(fail(ErrorCode::InvalidPartition, fmt::format("there is no partition {}", wanted.name)));
  };
  model::ClusterConfig fresh = config();
  const auto at = std::ranges::find(fresh.partitions, wanted.name, &model::PartitionConfig::name);
  const bool exists = at != fresh.partitions.end();
  if (wanted.name.empty() || exists == (how == PartitionEdit::Create)) return invalid();
  if (how == PartitionEdit::Remove) {
    bool used = false;
    const auto names_it = [&](std::uint32_t, const model::JobPtr& job) {
      const auto& asked = job->spec->partitions;
      used = (job->allocation && job->allocation->partition == wanted.name) ||
             std::ranges::find(asked, wanted.name) != asked.end();
      return !used;
    };
    cluster_->view().pending.for_each(names_it);
    if (!used) cluster_->view().active.for_each(names_it);
    if (used) return reply(fail(ErrorCode::PartitionInUse, fmt::format("jobs use partition {}", wanted.name)));
    fresh.partitions.erase(at);
  } else {
    model::PartitionConfig row = exists ? *at : model::PartitionConfig{};
    row.name = wanted.name;
    if (auto ok = wire::merge_partition(wanted, changed, &row); !ok) return reply(std::move(ok));
    if (row.is_default)
      for (auto& other : fresh.partitions) other.is_default = false;
    if (exists) {
      *at = std::move(row);
    } else {
      fresh.partitions.push_back(std::move(row));
    }
  }
  set_config(std::move(fresh), [reply = std::move(reply)](Status status) {
    // The one thing that an edit can get wrong in a way that only the whole configuration shows.
    if (!status && status.error().message.find("there is no node") != std::string::npos)
      return reply(fail(ErrorCode::InvalidNode, status.error().message));
    reply(std::move(status));
  }, caller.uid);
}

}  // namespace spur::ctld
