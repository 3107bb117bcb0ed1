// SPDX-License-Identifier: Apache-2.0
// scontrol show assoc_mgr: users, associations and QOS as the controller has them, with what their jobs hold. Slurm's
// layout, of 25.05: the line of an association that 22.05 does not have is its comment, and its place in the tree is
// told by names.
#include <algorithm>

#include "cli/display.h"
#include "cli/scontrol.h"
#include "cli/users.h"
#include "text/printable.h"
#include "text/words.h"

namespace spur::cli {
namespace {

using text::printable;
using wire::Holding;

struct Wanted {
  bool users = false, associations = false, qos = false;
  std::vector<std::string> user_names, accounts, qos_names;  // none: all
  bool all() const { return !users && !associations && !qos; }
};

bool is_wanted(const std::vector<std::string>& names, const std::string& name) {
  return names.empty() || std::ranges::find(names, name) != names.end();
}

std::vector<std::string> names_in(std::string_view list, bool lower) {
  std::vector<std::string> names;
  for (const std::string_view word : text::split(list, ','))
    if (!word.empty()) names.push_back(lower ? text::lower(std::string(word)) : std::string(word));
  return names;
}

bool contains_ignoring_case(std::string_view text, std::string_view word) {
  return text::lower(std::string(text)).find(word) != std::string::npos;
}

// False after a message. As in Slurm, only a word that means nothing at all is a failure.
bool read_wanted(Scontrol& run, const Words& given, Wanted& wanted) {
  for (const std::string& word : given) {
    const KeyValue pair = split_pair(word);
    const auto is = [&](std::string_view name) { return text::starts_with_ignoring_case(name, pair.key); };
    if (pair.value.empty()) {
      run.context.plain("No value given for option {}", word);
      return false;
    }
    if (is("accounts")) {
      wanted.accounts = names_in(pair.value, true);
    } else if (is("flags")) {
      wanted.users |= contains_ignoring_case(pair.value, "users");
      wanted.associations |= contains_ignoring_case(pair.value, "assoc");
      wanted.qos |= contains_ignoring_case(pair.value, "qos");
      if (wanted.all()) {
        run.context.plain("invalid flag '{}', valid options are 'Assoc, QOS, and/or Users'", pair.value);
        return false;
      }
    } else if (is("qos")) {
      wanted.qos_names = names_in(pair.value, true);
    } else if (is("users")) {
      wanted.user_names = names_in(pair.value, false);
    } else {
      run.fail("invalid entity: {} for keyword:show assoc_mgr", word);
      return false;
    }
  }
  if (wanted.all()) wanted.users = wanted.associations = wanted.qos = true;
  return true;
}

// One record: what parts its lines depends on -o.
class AssocMgrPage {
 public:
  AssocMgrPage(const wire::AccountBookTable& book, bool one_line)
      : book_(book), one_line_(one_line), line_(one_line ? " " : "\n    "), inner_(one_line ? " " : "\n        ") {}

  std::string heading(std::string_view title) const {
    const std::string_view around = one_line_ ? "" : "\n";
    return fmt::format("{}{}{}\n", around, title, around);
  }

  std::string user(const model::AccountUser& user) const {
    constexpr std::string_view kLevels[] = {"None", "Operator", "Administrator"};
    return fmt::format("UserName={}({}) DefAccount={} DefWckey={} AdminLevel={}\n", printable(user.name),
                       user.uid.value_or(0xfffffffe), or_null(printable(user.default_account)),
                       or_null(printable(user.default_wckey)), kLevels[static_cast<std::size_t>(user.admin)]);
  }

  std::string association(std::size_t at) const {
    const wire::ShareRow& row = book_.shares.rows[at];
    const model::Association& a = row.association;
    const Holding& held = book_.holdings[at];
    const model::Association* parent = parent_of(a);
    std::string text =
        fmt::format("ClusterName={} Account={} ", printable(book_.shares.cluster), printable(a.account));
    text += a.is_user() ? fmt::format("UserName={}({}) ", printable(a.user), a.uid.value_or(0xfffffffe))
                        : "UserName= ";
    text += fmt::format("Partition={} Priority={} ID={}{}", printable(a.partition), a.priority.value_or(0), a.id,
                        line_);
    text += fmt::format("SharesRaw/Norm/Level/Factor={}/{:.2f}/{}/{:.2f}{}", a.shares, row.norm_shares,
                        level_shares(a), row.factor, line_);
    text += fmt::format("UsageRaw/Norm/Efctv={:.2f}/{:.2f}/{:.2f}{}", static_cast<double>(row.raw_usage),
                        row.norm_usage, row.effective_usage, line_);
    text += !a.is_user() && parent ? fmt::format("ParentAccount={}({}) ", printable(parent->account), parent->id)
                                   : "ParentAccount= ";
    text += fmt::format("Lineage={} DefAssoc={}{}", printable(lineage(a)), a.is_default ? "Yes" : "No", line_);
    text += group_limits(a.group, held, line_);
    text += fmt::format("MaxJobs={} ", limit_of(a.max_jobs, held.running));
    text += fmt::format("MaxJobsAccrue={} ", limit_of(a.max_jobs_accrue, held.accruing));
    text += fmt::format("MaxSubmitJobs={} MaxWallPJ={}{}", limit_of(a.max_submit, held.submitted),
                        number(a.max_wall_minutes), line_);
    text += limits("MaxTRESPJ", a.max_tres_per_job) + limits("MaxTRESPN", a.max_tres_per_node) +
            limits("MaxTRESMinsPJ", a.max_tres_minutes_per_job);
    text += fmt::format("MinPrioThresh={}{}Comment={}\n", number(a.min_priority), line_, printable(a.comment));
    return text;
  }

  std::string qos(const wire::QosHolding& row) const {
    const model::Qos& q = row.qos;
    std::string text = fmt::format("QOS={}({}){}UsageRaw={}.000000{}", printable(q.name), q.id, line_,
                                   row.holding.billed, line_);
    text += group_limits(q.group, row.holding, " ");
    text += fmt::format("MaxWallPJ={}{}", number(q.max_wall_minutes), line_);
    text += limits("MaxTRESPJ", q.max_tres_per_job) + limits("MaxTRESPN", q.max_tres_per_node) +
            limits("MaxTRESMinsPJ", q.max_tres_minutes_per_job);
    text += fmt::format("MinPrioThresh={} {}", number(q.min_priority), line_);
    text += limits("MinTRESPJ", q.min_tres_per_job);
    text += fmt::format("PreemptMode={}{}Priority={}{}", preempt_mode(q.preempt_mode), line_, q.priority, line_);
    text += fmt::format("Account Limits{}", one_line_ ? "=" : "");
    for (const auto& [name, held] : row.accounts)
      text += part(printable(name), "PA", held, q.max_jobs_per_account, q.max_jobs_accrue_per_account,
                   q.max_submit_per_account, q.max_tres_per_account, q.max_tres_run_minutes_per_account);
    if (row.accounts.empty()) text += fmt::format("{}No Accounts", one_line_ ? "" : inner_);
    text += fmt::format("{}User Limits{}", line_, one_line_ ? "=" : "");
    for (const auto& [uid, held] : row.users)
      text += part(fmt::format("{}({})", printable(user_name(uid)), uid.value), "PU", held, q.max_jobs_per_user,
                   q.max_jobs_accrue_per_user, q.max_submit_per_user, q.max_tres_per_user,
                   q.max_tres_run_minutes_per_user);
    if (row.users.empty()) text += fmt::format("{}No Users", one_line_ ? "" : inner_);
    return text + "\n";
  }

 private:
  using Number = std::optional<std::uint32_t>;
  static std::string number(const Number& limit) { return limit ? fmt::format("{}", *limit) : ""; }
  static std::string limit_of(const Number& limit, std::uint32_t used) {
    return limit ? fmt::format("{}({})", *limit, used) : "";
  }
  static std::string group_limit(const Number& limit, std::uint32_t used) {
    return limit ? limit_of(limit, used) : fmt::format("N({})", used);
  }
  static std::string_view preempt_mode(model::PreemptHow how) {
    switch (how) {
      case model::PreemptHow::Unset:
      case model::PreemptHow::Off:
        return "OFF";
      case model::PreemptHow::Cancel:
        return "CANCEL";
      case model::PreemptHow::Requeue:
        return "REQUEUE";
      case model::PreemptHow::Suspend:
        return "SUSPEND";
      case model::PreemptHow::Within:
        return "WITHIN";
    }
    return "OFF";
  }

  // Of resources that have one.
  std::string limits(std::string_view name, const model::TresCounts& counts) const {
    std::string text = fmt::format("{}=", name);
    bool any = false;
    for (const std::string& tres : book_.shares.tres)
      if (const auto* limit = model::find_tres(counts, tres))
        text += fmt::format("{}{}={}", std::exchange(any, true) ? "," : "", tres, limit->count);
    return text + std::string(line_);
  }

  // Of all of them, with what is used.
  std::string used_limits(std::string_view name, const model::TresCounts& counts,
                          const std::vector<std::uint64_t>& used, std::uint64_t divisor) const {
    std::string text = fmt::format("{}=", name);
    for (std::size_t i = 0; i < book_.shares.tres.size(); ++i) {
      const auto* limit = model::find_tres(counts, book_.shares.tres[i]);
      text += fmt::format("{}{}={}({})", i > 0 ? "," : "", book_.shares.tres[i],
                          limit ? fmt::format("{}", limit->count) : "N", used[i] / divisor);
    }
    return text;
  }

  std::string group_limits(const model::GroupLimits& group, const Holding& held, std::string_view between) const {
    std::string text = fmt::format("GrpJobs={} GrpJobsAccrue={}{}", group_limit(group.jobs, held.running),
                                   group_limit(group.jobs_accrue, held.accruing), between);
    text += fmt::format("GrpSubmitJobs={} GrpWall={}({:.2f}){}", group_limit(group.submit, held.submitted),
                        group.wall_minutes ? number(group.wall_minutes) : "N",
                        static_cast<double>(held.wall_seconds) / 60, line_);
    text += used_limits("GrpTRES", group.tres, held.tres, 1) + std::string(line_);
    text += used_limits("GrpTRESMins", group.tres_minutes, held.used_seconds, 60) + std::string(line_);
    return text + used_limits("GrpTRESRunMins", group.tres_run_minutes, held.run_seconds, 60) + std::string(line_);
  }

  // An account's or a user's part in a QOS; `of` is "PA" or "PU".
  std::string part(std::string_view name, std::string_view of, const Holding& held, const Number& jobs,
                   const Number& accrue, const Number& submit, const model::TresCounts& tres,
                   const model::TresCounts& run_minutes) const {
    std::string text = fmt::format("{}{}{}", one_line_ ? " " : "\n      ", name, one_line_ ? "={" : inner_);
    text += fmt::format("MaxJobs{0}={1} MaxJobsAccrue{0}={2} MaxSubmitJobs{0}={3}{4}", of,
                        group_limit(jobs, held.running), group_limit(accrue, held.accruing),
                        group_limit(submit, held.submitted), inner_);
    text += used_limits(fmt::format("MaxTRES{}", of), tres, held.tres, 1) + std::string(inner_);
    text += used_limits(fmt::format("MaxTRESRunMins{}", of), run_minutes, held.run_seconds, 60);
    return text + (one_line_ ? "}" : "");
  }

  const model::Association* parent_of(const model::Association& a) const {
    for (const wire::ShareRow& row : book_.shares.rows)
      if (a.parent != 0 && row.association.id == a.parent) return &row.association;
    return nullptr;
  }

  // Of all that share with it; the root has nobody to share with.
  std::uint64_t level_shares(const model::Association& a) const {
    if (a.parent == 0) return 1;
    std::uint64_t sum = 0;
    for (const wire::ShareRow& row : book_.shares.rows)
      if (row.association.parent == a.parent && row.association.shares != model::kShareOfParent)
        sum += row.association.shares;
    return sum;
  }

  // "/physics/lab/0-alice/": the accounts below the root, then the user, then the partition.
  std::string lineage(const model::Association& a) const {
    std::string text = "/";
    if (a.is_user()) {
      text += fmt::format("0-{}/", a.user);
      if (!a.partition.empty()) text += a.partition + "/";
    }
    for (const model::Association* at = a.is_user() ? parent_of(a) : &a; at && at->parent != 0; at = parent_of(*at))
      text = "/" + at->account + text;
    return text;
  }

  const wire::AccountBookTable& book_;
  bool one_line_;
  std::string_view line_, inner_;
};

}  // namespace

void scontrol_show_assoc_mgr(Scontrol& run, const Words& given) {
  Wanted wanted;
  if (!read_wanted(run, given, wanted)) return;
  Controller* controller = run.controller();
  if (controller == nullptr) return;
  auto book = controller->account_book();
  if (!book) return run.fail("slurm_load_assoc_mgr_info error: {}", words(book.error()));
  std::ranges::sort(book->qos, {}, [](const wire::QosHolding& row) { return row.qos.id; });
  const AssocMgrPage page(*book, run.style.one_line);
  Output& out = run.context.out;
  out.write("Current Association Manager state\n");
  const auto section = [&](bool is_asked_for, std::string_view title, std::string_view none,
                           const std::vector<std::string>& records) {
    if (!is_asked_for) return;
    out.write(page.heading(records.empty() ? fmt::format("No {} currently cached in Slurm.", none)
                                           : std::string(title)));
    for (const std::string& record : records) out.write(record);
  };
  std::vector<std::string> users, associations, qos;
  for (const model::AccountUser& user : book->users)
    if (is_wanted(wanted.user_names, user.name)) users.push_back(page.user(user));
  for (std::size_t i = 0; i < book->shares.rows.size(); ++i) {
    const model::Association& a = book->shares.rows[i].association;
    if (is_wanted(wanted.accounts, a.account) && (!a.is_user() || is_wanted(wanted.user_names, a.user)))
      associations.push_back(page.association(i));
  }
  for (const wire::QosHolding& row : book->qos)
    if (is_wanted(wanted.qos_names, row.qos.name)) qos.push_back(page.qos(row));
  section(wanted.users, "User Records", "users", users);
  section(wanted.associations, "Association Records", "associations", associations);
  section(wanted.qos, "QOS Records", "QOS", qos);
}

}  // namespace spur::cli
