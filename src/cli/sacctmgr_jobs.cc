// SPDX-License-Identifier: Apache-2.0
// What sacctmgr does with jobs and reservations of the database: shows reservations, changes jobs, looks for runaways.
#include "cli/sacctmgr_jobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "cli/accounting_books.h"
#include "cli/display.h"
#include "cli/sacctmgr.h"
#include "model/job_state.h"
#include "spur/v1/accounting.pb.h"
#include "text/date.h"
#include "text/decimal.h"
#include "text/printable.h"
#include "text/words.h"

namespace spur::cli {
namespace {

std::string tres_of(const google::protobuf::RepeatedPtrField<v1::AcctTres>& list) {
  model::TresCounts tres;
  for (const auto& t : list)
    if (t.name() != "node") tres.push_back({t.name(), t.count()});
  return tres_text(tres);
}

// Jobs that the database thinks are there.
Result<std::vector<v1::AcctJobRow>> unfinished(Accounting& accounting, const std::string& cluster) {
  v1::AcctJobQuery query;
  query.add_clusters(cluster);
  query.set_duplicates(true);
  using model::JobState;
  for (const auto state : {JobState::Pending, JobState::Running, JobState::Suspended})
    query.add_states(static_cast<std::uint32_t>(state));
  std::vector<v1::AcctJobRow> out;
  SPUR_TRY(accounting.jobs(query, [&](v1::AcctJobRow row) {
    if (!row.job().ended_us()) out.push_back(std::move(row));
  }));
  return out;
}

// Those of them that the controller does not know. The database is asked again afterwards: what ended meanwhile is no runaway.
Result<std::vector<v1::AcctJobRow>> find_runaways(Context& context, Accounting& accounting) {
  v1::AcctPingReply ping;
  SPUR_TRY(accounting.ping(&ping));
  for (const auto& cluster : ping.clusters())
    if (cluster.name() == accounting.cluster() && cluster.waiting() > 0)
      return fail(ErrorCode::Busy, fmt::format("{} records of the controller are still on their way to the database: try again "
                                               "when they are there",
                                               cluster.waiting()));
  SPUR_ASSIGN(auto rows, unfinished(accounting, accounting.cluster()));
  SPUR_ASSIGN(const auto controller, context.controller());
  wire::JobFilter all;
  all.all_states = true;
  SPUR_ASSIGN(const auto table, controller->jobs(all));
  std::set<std::uint32_t> known;
  for (const auto& job : table.jobs) known.insert(job->id.value);
  std::erase_if(rows, [&](const auto& row) { return known.contains(row.job().job()); });
  if (rows.empty()) return rows;
  SPUR_ASSIGN(const auto again, unfinished(accounting, accounting.cluster()));
  std::erase_if(rows, [&](const auto& row) {
    return std::ranges::none_of(again, [&](const auto& other) {
      return other.job().job() == row.job().job() && other.job().submitted_us() == row.job().submitted_us() &&
             other.job().epoch() == row.job().epoch();
    });
  });
  return rows;
}

// Seconds of a reservation that is over in which nothing ran; a job counts by its part of the CPUs.
double unused_seconds(Context& context, Accounting& accounting, const v1::AcctReservationRow& row) {
  if (from_micros(row.ended_us()) > context.now()) return 0;
  double cpus = 0;
  for (const auto& tres : row.reservation().tres())
    if (tres.name() == "cpu") cpus = static_cast<double>(tres.count());
  double left = static_cast<double>(row.ended_us() - row.started_us()) / 1e6;
  if (cpus == 0 || left <= 0) return 0;
  v1::AcctJobQuery query;
  query.add_clusters(row.cluster());
  query.add_reservations(row.reservation().name());
  query.set_from_us(row.started_us());
  query.set_until_us(row.ended_us());
  query.set_duplicates(true);
  (void)accounting.jobs(query, [&](const v1::AcctJobRow& found) {
    const auto& job = found.job();
    if (!job.started_us()) return;
    const auto until = std::min(job.ended_us() ? job.ended_us() : row.ended_us(), row.ended_us());
    left -= static_cast<double>(std::max<std::int64_t>(until - std::max(job.started_us(), row.started_us()), 0)) / 1e6 *
            job.cpus_allocated() / cpus;
  });
  return std::max(left, 0.0);
}

void add_key(const v1::AcctJob& job, v1::AcctJobEdit* edit) {
  auto* key = edit->add_jobs();
  key->set_job(job.job());
  key->set_submitted_us(job.submitted_us());
  key->set_epoch(job.epoch());
}

Status make_edit(Accounting& accounting, const v1::AcctJobEdit& edit) {
  AccountingBooks* books = books_of(accounting);
  if (!books) return fail(ErrorCode::NotSupported, "this accounting service changes no jobs");
  v1::AcctJobEditReply reply;
  return books->edit_jobs(edit, &reply);
}

// The latest runs of the jobs that the conditions mean.
struct JobConditions {
  v1::AcctJobQuery query;
  bool given = false;
};
bool take_condition(const Word& w, JobConditions* out) {
  const auto list = [&](const auto& add) {
    for (const auto word : text::split(w.value, ','))
      if (!word.empty()) add(std::string(word));
    out->given = true;
    return true;
  };
  if (w.is("JobIDs", 1) || !w.has_key)
    return list([&](const std::string& word) {
      out->query.add_jobs()->set_job(text::parse_decimal32(word).value_or(0xffffffff));
    });
  if (w.is("Clusters", 1)) return list([&](const std::string& word) { out->query.add_clusters(word); });
  if (w.is("Accounts", 1)) return list([&](const std::string& word) { out->query.add_accounts(word); });
  if (w.is("Partitions", 1)) return list([&](const std::string& word) { out->query.add_partitions(word); });
  return false;
}

bool take_setting(const Word& w, v1::AcctJobEdit* edit) {
  if (w.is("DerivedExitCode", 12)) {
    const auto code = text::parse_decimal32(w.value);
    if (!code) return false;
    // As Slurm has it: a status as wait() gives it.
    edit->set_derived_code(*code >> 8 & 0xff);
    edit->set_derived_signal(*code & 0x7f);
  } else if (w.is("Comment", 1) || w.is("DerivedExitString", 12)) {
    edit->set_comment(w.value);
  } else if (w.is("AdminComment", 1)) {
    edit->set_admin_comment(w.value);
  } else if (w.is("SystemComment", 1)) {
    edit->set_system_comment(w.value);
  } else if (w.is("NewWCKey", 1)) {
    edit->set_wckey(w.value);
  } else {
    return false;
  }
  return true;
}

}  // namespace

void show_reservations(Sacctmgr& s, std::span<const std::string> words) {
  v1::AcctReservationQuery query;
  std::string format;
  bool all_clusters = false;
  for (const Word& w : read_words(words)) {
    if (!w.has_key && matches(w.text, "where", 5)) continue;
    if (w.is("Format", 1)) {
      format += (format.empty() ? "" : ",") + w.value;
    } else if (w.is("Names", 1) || !w.has_key) {
      for (const auto word : text::split(w.value, ','))
        if (!word.empty()) query.add_names(std::string(word));
    } else if (w.is("Clusters", 1)) {
      all_clusters = true;
      for (const auto& name : names_in(w.value)) query.add_clusters(name);
    } else if (w.is("Start", 1) || w.is("End", 1)) {
      const auto at = text::parse_date(w.value, s.context.now(), text::DateSense::Past);
      if (!at) return s.plain("{}", at.error().message), void(s.failed());
      w.is("Start", 1) ? query.set_from_us(to_micros(*at)) : query.set_until_us(to_micros(*at));
    } else {
      s.plain(" Unknown condition: {}\n Use keyword 'set' to modify value", w.text);
      return void(s.failed());
    }
  }
  auto accounting = s.context.connect_accounting();
  if (!accounting) return s.fail_with(accounting.error());
  if (!all_clusters) query.add_clusters((*accounting)->cluster());
  auto table = Table::make(s, format.empty() ? "Cluster,Name%15,TRES%30,TimeStart,TimeEnd,UnusedWall" : format);
  if (!table) return;
  std::vector<v1::AcctReservationRow> rows;
  AccountingBooks* books = books_of(**accounting);
  if (!books) return s.fail_with({ErrorCode::NotSupported, "this accounting service keeps no reservations"});
  const Status asked = books->reservations(query, [&](v1::AcctReservationRow row) { rows.push_back(std::move(row)); });
  if (!asked) return s.fail_with(asked.error());
  table->header();
  for (const auto& row : rows)
    table->row([&](std::string_view field) -> Cell {
      const auto& r = row.reservation();
      if (field == "Cluster") return {row.cluster()};
      if (field == "Name") return {r.name()};
      if (field == "TRES") return {tres_of(r.tres())};
      if (field == "Start" || field == "TimeStart") return {text::format_date(from_micros(row.started_us()))};
      if (field == "End" || field == "TimeEnd") return {text::format_date(from_micros(row.ended_us()))};
      if (field == "UnusedWall") return {fmt::format("{:.6f}", unused_seconds(s.context, **accounting, row))};
      if (field == "NodeNames") return {r.nodes()};
      if (field == "Flags") return {r.flags()};
      if (field == "Assoc") return {r.accounts().empty() ? r.users() : r.accounts()};
      return {};
    });
}

void show_runaway_jobs(Sacctmgr& s, std::span<const std::string> words) {
  auto accounting = s.context.connect_accounting();
  if (!accounting) return s.fail_with(accounting.error());
  std::string cluster = (*accounting)->cluster(), format = "ID,Name,Partition,Cluster,State,TimeStart,TimeEnd";
  for (const Word& w : read_words(words)) {
    if (!w.has_key && matches(w.text, "where", 5)) continue;
    if (w.is("Clusters", 1)) {
      cluster = text::lower(w.value);
    } else if (w.is("Format", 1)) {
      format = w.value;
    } else {
      s.plain(" Unknown condition: {}", w.text);
      return void(s.failed());
    }
  }
  const auto rows = cluster == (*accounting)->cluster() ? find_runaways(s.context, **accounting)
                                                        : Result<std::vector<v1::AcctJobRow>>(std::vector<v1::AcctJobRow>{});
  if (!rows) return s.fail_with(rows.error());
  if (rows->empty()) return s.context.out.print("Runaway Jobs: No runaway jobs found on cluster {}\n", cluster);
  s.context.out.write(
      "NOTE: Runaway jobs are jobs that don't exist in the controller but have a start time and no end time in the "
      "database\n");
  auto table = Table::make(s, format);
  if (!table) return;
  table->header();
  v1::AcctJobEdit edit;
  edit.set_cluster(cluster);
  edit.set_end(true);
  for (const auto& row : *rows) {
    const auto& job = row.job();
    add_key(job, &edit);
    table->row([&](std::string_view field) -> Cell {
      if (field == "ID") return {fmt::format("{}", job.job())};
      if (field == "Name") return {job.name()};
      if (field == "Partition") return {job.partition()};
      if (field == "Cluster") return {row.cluster()};
      if (field == "State") return {std::string(model::base_name(static_cast<model::JobState>(job.state())))};
      if (field == "Start" || field == "TimeStart") return {moment(from_micros(job.started_us()), "Unknown")};
      if (field == "End" || field == "TimeEnd") return {"Unknown"};
      return {};
    });
  }
  if (!s.ask("\nWould you like to fix these runaway jobs?\n(Each is set to completed, and its end to the latest out of its "
             "start, eligible and submit times.)\n"))
    return;
  if (const Status done = make_edit(**accounting, edit); !done) return s.fail_with(done.error());
}

void modify_job(Sacctmgr& s, std::span<const std::string> words) {
  JobConditions conditions;
  v1::AcctJobEdit edit;
  bool setting = false, any = false;
  std::vector<std::string> unknown;
  for (const Word& w : read_words(words)) {
    if (!w.has_key && matches(w.text, "where", 5)) {
      setting = false;
    } else if (!w.has_key && matches(w.text, "set", 3)) {
      setting = true;
    } else if (!setting && !take_condition(w, &conditions)) {
      s.plain(" Unknown condition: {}\n Use keyword 'set' to modify value", w.text);
      return void(s.failed());
    } else if (setting) {
      take_setting(w, &edit) ? void(any = true) : unknown.push_back(w.text);
    }
  }
  for (const auto& word : unknown)
    s.context.out.print(" Unknown option: {}\n Use keyword 'where' to modify condition\n", text::printable(word));
  if (!any) s.plain(" You didn't give me anything to set");
  if (!any || !unknown.empty()) return void(s.failed());
  auto accounting = s.context.connect_accounting();
  if (!accounting) return s.fail_with(accounting.error());
  if (conditions.query.clusters().empty()) conditions.query.add_clusters((*accounting)->cluster());
  std::vector<v1::AcctJobRow> rows;
  const Status asked = (*accounting)->jobs(conditions.query, [&](v1::AcctJobRow row) { rows.push_back(std::move(row)); });
  if (!asked) return s.fail_with(asked.error());
  if (rows.empty()) {
    s.context.info(
        "accounting_storage/slurmdbd: acct_storage_p_modify_job: Request didn't affect anything or your user doesn't have "
        "privilege to perform this action");
    s.context.out.write(" Nothing modified\n");
    return void(s.failed());
  }
  if (!s.ask("Would you like to commit changes?")) return s.context.out.write(" Changes Discarded\n");
  edit.set_cluster(rows.front().cluster());
  for (const auto& row : rows) add_key(row.job(), &edit);
  if (const Status done = make_edit(**accounting, edit); !done) return s.fail_with(done.error());
  s.context.out.write(" Modified jobs...\n");
  for (const auto& row : rows)
    s.context.out.print("  {} submitted at {}\n", row.job().job(), moment(from_micros(row.job().submitted_us()), "Unknown"));
}

}  // namespace spur::cli
