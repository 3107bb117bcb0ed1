// SPDX-License-Identifier: Apache-2.0
// The questions of AccountingDatabase.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "os/accounting_database.h"

namespace spur::os {
namespace {

constexpr std::int64_t kNotYet = std::numeric_limits<std::int64_t>::max();

Time end_from(std::int64_t value) {
  return value == kNotYet ? Time{} : from_micros(value);
}

// A statement that grows: conditions and their parameters.
class Question {
 public:
  explicit Question(std::string text) : text_(std::move(text)) {}
  std::string place(SqlValue value) {
    values_.push_back(value);
    return fmt::format("${}", values_.size());
  }
  void add(const std::string& text) { text_ += text; }
  // "AND column IN (...)", or nothing without values.
  template <class T>
  std::string in(std::string_view column, const std::vector<T>& list) {
    std::string places;
    for (const auto& value : list) {
      if constexpr (std::is_integral_v<T>)
        places += (places.empty() ? "" : ",") + place(std::int64_t{value});
      else
        places += (places.empty() ? "" : ",") + place(std::string_view(value));
    }
    return fmt::format("{} IN ({})", column, places);
  }
  const std::string& text() const { return text_; }
  std::span<const SqlValue> values() const { return values_; }

 private:
  std::string text_;
  std::vector<SqlValue> values_;
};

constexpr const char* kJobColumns =
    "SELECT job, epoch, submitted, array_job, het_job, uid, account, state, started, ended, record FROM job ";

io::AcctJobRow job_from(const SqlRow& row) {
  io::AcctJobRow out;
  out.job = static_cast<std::uint32_t>(row.number(0));
  out.epoch = static_cast<std::uint32_t>(row.number(1));
  out.submitted = from_micros(row.number(2));
  out.array_job = static_cast<std::uint32_t>(row.number(3));
  out.het_job = static_cast<std::uint32_t>(row.number(4));
  out.uid = static_cast<std::uint32_t>(row.number(5));
  out.account = row.bytes(6);
  out.state = static_cast<std::uint32_t>(row.number(7));
  out.started = from_micros(row.number(8));
  out.ended = end_from(row.number(9));
  out.record = row.bytes(10);
  return out;
}

// `number`: which of a job's numbers the list of jobs is compared with.
Question job_question(const io::AcctJobWish& wish, std::int64_t cluster, const std::string& number) {
  Question question(kJobColumns);
  question.add("WHERE cluster = " + question.place(cluster));
  if (!wish.jobs.empty()) {
    question.add(" AND " + question.in(number, wish.jobs));
    // Lets the partial index be used.
    if (number != "job") question.add(" AND " + number + " <> 0");
  }
  if (!wish.uids.empty()) question.add(" AND " + question.in("uid", wish.uids));
  if (!wish.accounts.empty()) question.add(" AND " + question.in("account", wish.accounts));
  if (is_set(wish.from)) question.add(" AND ended >= " + question.place(to_micros(wish.from)));
  if (is_set(wish.until)) question.add(" AND submitted <= " + question.place(to_micros(wish.until)));
  return question;
}

std::tuple<std::uint32_t, Time, std::uint32_t> key_of(const io::AcctJobRow& row) {
  return {row.job, row.submitted, row.epoch};
}

}  // namespace

Status AccountingDatabase::jobs(const io::AcctJobWish& wish, const std::function<bool(const io::AcctJobRow&)>& each) {
  return read([&](SqlConnection& connection) -> Status {
    SPUR_ASSIGN(const std::int64_t cluster, cluster_id(connection, wish.cluster));
    if (cluster == 0) return {};
    if (wish.jobs.empty()) {
      Question question = job_question(wish, cluster, "job");
      // The sign keeps SQLite from reading all jobs just because they lie in this order.
      question.add(" ORDER BY +job, +submitted, +epoch");
      return connection.query(question.text(), question.values(),
                              [&](const SqlRow& row) { return each(job_from(row)); });
    }
    // A job is asked for by any of its three numbers, each of which has an index: one question for each.
    std::vector<io::AcctJobRow> rows;
    for (const char* number : {"job", "array_job", "het_job"}) {
      const Question question = job_question(wish, cluster, number);
      SPUR_TRY(connection.query(question.text(), question.values(), [&](const SqlRow& row) {
        rows.push_back(job_from(row));
        return true;
      }));
    }
    std::ranges::stable_sort(rows, {}, key_of);
    for (std::size_t i = 0; i < rows.size(); ++i)
      if ((i == 0 || key_of(rows[i - 1]) != key_of(rows[i])) && !each(rows[i])) break;
    return {};
  });
}

Status AccountingDatabase::steps(const std::string& cluster_name, std::span<const io::AcctJobRow> jobs,
                                 const std::function<bool(const io::AcctStepRow&)>& each) {
  if (jobs.empty()) return {};
  std::vector<std::uint32_t> ids;
  std::set<std::tuple<std::uint32_t, Time, std::uint32_t>> wanted;
  Time first = jobs.front().submitted, last = first;
  for (const auto& job : jobs) {
    if (ids.empty() || ids.back() != job.job) ids.push_back(job.job);
    wanted.emplace(job.job, job.submitted, job.epoch);
    first = std::min(first, job.submitted);
    last = std::max(last, job.submitted);
  }
  return read([&](SqlConnection& connection) -> Status {
    SPUR_ASSIGN(const std::int64_t cluster, cluster_id(connection, cluster_name));
    Question question("SELECT job, submitted, epoch, step, record FROM step WHERE cluster = ");
    question.add(question.place(cluster));
    question.add(" AND " + question.in("job", ids));
    // Leaves out months on PostgreSQL.
    question.add(" AND submitted >= " + question.place(to_micros(first)));
    question.add(" AND submitted <= " + question.place(to_micros(last)) + " ORDER BY 1, 2, 3, 4");
    return connection.query(question.text(), question.values(), [&](const SqlRow& row) {
      io::AcctStepRow out{static_cast<std::uint32_t>(row.number(0)), static_cast<std::uint32_t>(row.number(2)),
                          from_micros(row.number(1)), static_cast<std::uint32_t>(row.number(3)),
                          std::string(row.bytes(4))};
      return !wanted.contains({out.job, out.submitted, out.epoch}) || each(out);
    });
  });
}

Status AccountingDatabase::events(const std::string& cluster_name, Time from, Time until,
                                  const std::function<bool(const io::AcctEventRow&)>& each) {
  return read([&](SqlConnection& connection) -> Status {
    SPUR_ASSIGN(const std::int64_t cluster, cluster_id(connection, cluster_name));
    const SqlValue values[] = {cluster, to_micros(from), is_set(until) ? to_micros(until) : kNotYet};
    return connection.query(
        "SELECT node, started, ended, record FROM event WHERE cluster = $1 AND ended >= $2 AND started < $3 "
        "ORDER BY started, node",
        values, [&](const SqlRow& row) {
          return each({std::string(row.bytes(0)), from_micros(row.number(1)), end_from(row.number(2)), false,
                       std::string(row.bytes(3))});
        });
  });
}

Status AccountingDatabase::reservations(const std::string& cluster_name, Time from, Time until,
                                        const std::function<bool(const io::AcctReservationRow&)>& each) {
  return read([&](SqlConnection& connection) -> Status {
    SPUR_ASSIGN(const std::int64_t cluster, cluster_id(connection, cluster_name));
    const SqlValue values[] = {cluster, to_micros(from), is_set(until) ? to_micros(until) : kNotYet};
    return connection.query(
        "SELECT name, started, ended, record FROM reservation WHERE cluster = $1 AND ended >= $2 AND started < $3 "
        "ORDER BY started, name",
        values, [&](const SqlRow& row) {
          return each({std::string(row.bytes(0)), from_micros(row.number(1)), end_from(row.number(2)),
                       std::string(row.bytes(3))});
        });
  });
}

Result<std::vector<io::AcctEntity>> AccountingDatabase::entities() {
  std::vector<io::AcctEntity> out;
  SPUR_TRY(read([&](SqlConnection& connection) {
    out.clear();
    return connection.query(
        "SELECT kind, key, body, created, deleted FROM entity ORDER BY kind, key", {}, [&](const SqlRow& row) {
          out.push_back({std::string(row.bytes(0)), std::string(row.bytes(1)), std::string(row.bytes(2)),
                         from_micros(row.number(3)), from_micros(row.number(4))});
          return true;
        });
  }));
  return out;
}

Status AccountingDatabase::transactions(Time from, Time until,
                                        const std::function<bool(const io::AcctTransaction&)>& each) {
  return read([&](SqlConnection& connection) -> Status {
    const SqlValue values[] = {to_micros(from), is_set(until) ? to_micros(until) : kNotYet};
    return connection.query(
        "SELECT id, at, action, actor, cluster, target, info FROM transactions WHERE at >= $1 AND at < $2 ORDER BY "
        "id",
        values, [&](const SqlRow& row) {
          return each({row.number(0), from_micros(row.number(1)), static_cast<std::uint32_t>(row.number(2)),
                       std::string(row.bytes(3)), std::string(row.bytes(4)), std::string(row.bytes(5)),
                       std::string(row.bytes(6))});
        });
  });
}

// The oldest ones that ended before `ended_before`, up to `limit`.
Result<std::vector<io::AcctJobRow>> AccountingDatabase::oldest_jobs(const std::string& cluster_name,
                                                                    Time ended_before, std::size_t limit) {
  std::vector<io::AcctJobRow> rows;
  const Status status = read([&](SqlConnection& connection) -> Status {
    SPUR_ASSIGN(const std::int64_t cluster, cluster_id(connection, cluster_name));
    const SqlValue values[] = {cluster, to_micros(ended_before), static_cast<std::int64_t>(limit)};
    rows.clear();
    return connection.query(fmt::format("{} WHERE cluster = $1 AND ended < $2 ORDER BY ended LIMIT $3", kJobColumns),
                            values, [&](const SqlRow& row) {
                              rows.push_back(job_from(row));
                              return true;
                            });
  });
  if (!status) return std::unexpected(status.error());
  return rows;
}

Status AccountingDatabase::erase_jobs(const std::string& cluster_name, const std::vector<io::AcctJobRow>& rows) {
  return write([&](SqlConnection& connection) -> Status {
    SPUR_ASSIGN(const std::int64_t cluster, cluster_id(connection, cluster_name));
    for (const auto& job : rows) {
      const SqlValue key[] = {cluster, std::int64_t{job.job}, to_micros(job.submitted), std::int64_t{job.epoch}};
      for (const char* table : {"step", "job"})
        SPUR_TRY(connection.run(
            fmt::format("DELETE FROM {} WHERE cluster = $1 AND job = $2 AND submitted = $3 AND epoch = $4", table),
            key));
    }
    return {};
  });
}

Result<std::uint64_t> AccountingDatabase::purge_jobs(const std::string& cluster_name, Time ended_before,
                                                     const std::function<Status(const std::vector<Old>&)>& archive) {
  constexpr std::size_t kAtOnce = 500;
  std::uint64_t gone = 0;
  while (true) {
    SPUR_ASSIGN(const auto rows, oldest_jobs(cluster_name, ended_before, kAtOnce));
    if (rows.empty()) return gone;
    std::map<std::tuple<std::uint32_t, Time, std::uint32_t>, std::size_t> places;
    std::vector<Old> old;
    for (const auto& row : rows) {
      places[{row.job, row.submitted, row.epoch}] = old.size();
      old.push_back({row, {}});
    }
    SPUR_TRY(steps(cluster_name, rows, [&](const io::AcctStepRow& step) {
      old[places.at({step.job, step.submitted, step.epoch})].steps.push_back(step);
      return true;
    }));
    SPUR_TRY(archive(old));
    SPUR_TRY(erase_jobs(cluster_name, rows));
    gone += rows.size();
  }
}

}  // namespace spur::os
