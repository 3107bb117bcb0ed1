// SPDX-License-Identifier: Apache-2.0
#include "ctld/job_account.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/limits.h"
#include "text/words.h"

namespace spur::ctld {
namespace {

// sbatch shows the limit before the sentence.
std::unexpected<Error> refuse(model::Reason limit) {
  return fail(ErrorCode::ResourceLimit, std::string(model::reason_name(limit)));
}

std::unexpected<Error> refuse(ErrorCode code) {
  return fail(code, std::string(slurm_message(code)));
}

// Slurm: the association's default, else "normal" where it is allowed, else the first that is.
std::string default_qos(const model::Association& row) {
  if (!row.default_qos.empty()) return row.default_qos;
  if (row.qos.empty()) return {};
  return std::ranges::find(row.qos, "normal") != row.qos.end() ? "normal" : row.qos.front();
}

const model::Partition* partition_of(const model::View& view, const model::JobSpec& spec) {
  return spec.partitions.empty() ? model::default_partition(view)
                                 : model::find_partition(view, spec.partitions.front());
}

Status check_qos(const model::View& view, const model::JobSpec& spec, const model::Association* row) {
  if (spec.qos.empty()) return {};
  const model::Qos* qos = model::find_qos(view, spec.qos);
  if (!qos) return refuse(ErrorCode::InvalidQos);
  if ((qos->flags & model::kQosRequiresReservation) && spec.reservation.empty()) return refuse(ErrorCode::InvalidQos);
  const bool listed = row && std::ranges::find(row->qos, spec.qos) != row->qos.end();
  if (view.config->accounting.qos && !listed && spec.uid != kRootUid) return refuse(ErrorCode::InvalidQos);
  return {};
}

// With TrackWCKey a job that names none has its user's default, marked as such. Where wckeys are demanded it must be one
// of the user's.
Status settle_wckey(const model::AccountingConfig& rules, const model::AccountUser* user, model::JobSpec& spec) {
  spec.wckey = text::lower(spec.wckey);  // as they are kept
  if (spec.wckey.empty() && user && (rules.track_wckeys || rules.wckeys)) {
    spec.wckey.push_back('*');
    spec.wckey.append(user->default_wckey);
  }
  if (!rules.wckeys || spec.uid == kRootUid) return {};
  if (!user) return refuse(ErrorCode::InvalidWckey);
  const bool is_default = spec.wckey.starts_with('*');
  if (is_default || std::ranges::find(user->wckeys, spec.wckey) != user->wckeys.end()) return {};
  return refuse(ErrorCode::InvalidWckey);
}

}  // namespace

Result<SpecPtr> with_account(const model::View& view, SpecPtr spec) {
  const model::AccountingConfig& rules = view.config->accounting;
  const model::AccountBook& book = *view.accounts;
  if (book.empty()) {
    if (rules.associations && spec->uid != kRootUid) return refuse(ErrorCode::InvalidAccount);
    return spec;
  }
  const model::Partition* partition = partition_of(view, *spec);
  const std::string_view in = partition ? std::string_view(partition->config.name) : "";
  const std::string account = spec->account.empty() ? std::string(book.default_account(spec->uid)) : spec->account;
  const model::Association* row = book.find(account, spec->uid, in);
  if (!row && rules.associations) return refuse(ErrorCode::InvalidAccount);
  auto settled = std::make_shared<model::JobSpec>(*spec);
  settled->account = account;
  if (settled->qos.empty() && row) settled->qos = default_qos(*row);
  // Where QOS are not enforced a word that is none is no error, and the job goes without: so does Slurm.
  if (!rules.qos && !model::find_qos(view, settled->qos)) settled->qos.clear();
  SPUR_TRY(settle_wckey(rules, book.user(spec->uid), *settled));
  SPUR_TRY(check_qos(view, *settled, row));
  if (row && partition && rules.limits) {
    const auto question = model::limit_question(view, *settled, row->id, *partition, settled->time_limit);
    // Without a time limit of its own the job gets one that the account allows.
    const bool timed = settled->time_limit.is_set();
    const auto over = model::denied_at_submit(view, question);
    using enum model::Reason;
    const bool of_time = over == QosMaxWall || over == AssocMaxWall || over == QosGrpWall || over == AssocGrpWall;
    if (over != None && (timed || !of_time)) return refuse(over);
  }
  return settled;
}

}  // namespace spur::ctld
