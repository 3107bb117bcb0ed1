// SPDX-License-Identifier: Apache-2.0
#include "cli/sacct_completion.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "base/time.h"
#include "config/load.h"
#include "model/shown_config.h"
#include "text/date.h"
#include "text/decimal.h"
#include "text/time_limit.h"
#include "text/words.h"

namespace spur::cli {
namespace {

// In the order in which they stand there; some are only there for some jobs.
constexpr std::string_view kKeys[] = {"JobId",     "UserId",  "GroupId",    "Name",         "JobState",    "Partition",
                                      "TimeLimit", "StartTime", "EndTime",  "NodeList",     "NodeCnt",     "ProcCnt",
                                      "WorkDir",   "ReservationName", "Tres", "Account",    "QOS",         "WcKey",
                                      "Cluster",   "SubmitTime", "EligibleTime", "HetJobId", "HetJobOffset", "ArrayJobId",
                                      "ArrayTaskId", "DerivedExitCode", "ExitCode"};

std::string_view value_of(const CompletedJob& job, std::string_view key) {
  const auto found = job.find(key);
  return found == job.end() ? std::string_view{} : std::string_view(found->second);
}

// "games(60)".
std::string_view name_in(std::string_view text) {
  return text.substr(0, text.find('('));
}
std::string_view number_in(std::string_view text) {
  const auto open = text.find('(');
  return open == std::string_view::npos ? std::string_view{} : text.substr(open + 1, text.rfind(')') - open - 1);
}

// Of what says when.
seconds elapsed(const CompletedJob& job) {
  const auto at = [&](std::string_view key) { return text::parse_date(value_of(job, key), Time{}, text::DateSense::Past); };
  const auto from = at("StartTime"), until = at("EndTime");
  if (!from || !until || *until < *from) return seconds(0);
  return std::chrono::duration_cast<seconds>(*until - *from);
}

struct Field {
  std::string_view name, key;
};
constexpr Field kFields[] = {{"Account", "Account"},    {"AllocCPUS", "ProcCnt"},  {"Cluster", "Cluster"},
                             {"DerivedExitCode", "DerivedExitCode"}, {"Eligible", "EligibleTime"}, {"End", "EndTime"},
                             {"ExitCode", "ExitCode"},  {"JobID", "JobId"},        {"JobIDRaw", "JobId"},
                             {"JobName", "Name"},       {"NCPUS", "ProcCnt"},      {"NNodes", "NodeCnt"},
                             {"NodeList", "NodeList"},  {"Partition", "Partition"}, {"QOS", "QOS"},
                             {"ReqNodes", "NodeCnt"},   {"Reservation", "ReservationName"}, {"Start", "StartTime"},
                             {"State", "JobState"},     {"Submit", "SubmitTime"},  {"Timelimit", "TimeLimit"},
                             {"TimelimitRaw", "TimeLimit"}, {"AllocTRES", "Tres"}, {"User", "UserId"},
                             {"WCKey", "WcKey"},        {"WorkDir", "WorkDir"}};

}  // namespace

CompletedJob parse_completion(std::string_view line) {
  if (!line.starts_with("JobId=")) return {};
  struct Place {
    std::string_view key;
    std::size_t at;  // of the value
  };
  std::vector<Place> places;
  std::size_t from = 0;
  for (const std::string_view key : kKeys) {
    const std::string mark = fmt::format("{}{}=", places.empty() ? "" : " ", key);
    std::size_t found = line.find(mark, from);
    // Of a name that looks like what follows it, the last one is meant.
    if (key == "JobState")
      if (const auto last = line.rfind(mark, line.find(" WorkDir=", from)); last != std::string_view::npos && last >= from)
        found = last;
    if (found == std::string_view::npos) continue;
    from = found + mark.size();
    places.push_back({key, from});
  }
  CompletedJob job;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const std::size_t end = i + 1 < places.size() ? places[i + 1].at - places[i + 1].key.size() - 2 : line.size();
    std::string_view value = line.substr(places[i].at, end - places[i].at);
    while (value.ends_with(' ')) value.remove_suffix(1);
    job.emplace(places[i].key, value);
  }
  return job;
}

std::string completion_field(const CompletedJob& job, std::string_view field) {
  if (field == "UID") return std::string(number_in(value_of(job, "UserId")));
  if (field == "GID") return std::string(number_in(value_of(job, "GroupId")));
  if (field == "Group") return std::string(name_in(value_of(job, "GroupId")));
  if (field == "Elapsed") return text::format_clock(elapsed(job));
  if (field == "ElapsedRaw") return fmt::format("{}", elapsed(job).count());
  const auto known = std::ranges::find(kFields, field, &Field::name);
  return known == std::end(kFields) ? std::string() : std::string(value_of(job, known->key));
}

Result<std::vector<CompletedJob>> read_completions(const std::string& path, const std::vector<std::uint32_t>& jobs,
                                                   const std::vector<std::string>& partitions) {
  std::ifstream file(path);
  if (!file) return fail(ErrorCode::NotFound, fmt::format("open {}: {}", path, std::strerror(errno)));
  std::vector<CompletedJob> out;
  for (std::string line; std::getline(file, line);) {
    CompletedJob job = parse_completion(line);
    if (job.empty()) continue;
    const auto id = text::parse_decimal32(value_of(job, "JobId"));
    if (!jobs.empty() && (!id || std::ranges::find(jobs, *id) == jobs.end())) continue;
    if (!partitions.empty() && std::ranges::find(partitions, value_of(job, "Partition")) == partitions.end()) continue;
    out.push_back(std::move(job));
  }
  return out;
}

Result<std::string> completion_log() {
  SPUR_ASSIGN(const auto loaded, config::load({}, config::Want::All));
  if (!text::equal_ignoring_case(model::given_value(loaded.cluster, "JobCompType"), "jobcomp/filetxt")) return std::string();
  const std::string_view file = model::given_value(loaded.cluster, "JobCompLoc");
  return std::string(file.empty() ? "/var/log/slurm_jobcomp.log" : file);
}

}  // namespace spur::cli
