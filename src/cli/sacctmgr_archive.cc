// SPDX-License-Identifier: Apache-2.0
// sacctmgr archive, show stats, clear stats, ping, reconfigure and shutdown: what is asked of spurdbd itself.
#include "cli/sacctmgr_archive.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "cli/accounting_books.h"
#include "cli/display.h"
#include "cli/users.h"
#include "spur/v1/accounting.pb.h"
#include "text/decimal.h"
#include "text/words.h"

namespace spur::cli {
namespace {

AccountingBooks* books(Sacctmgr& s, std::unique_ptr<Accounting>& keep) {
  auto accounting = s.context.connect_accounting();
  if (!accounting) {
    s.context.error("{}", words(accounting.error()));
    s.failed();
    return nullptr;
  }
  keep = *std::move(accounting);
  AccountingBooks* out = books_of(*keep);
  if (!out) s.context.error("this accounting service has no books"), s.failed();
  return out;
}

// "12", "12months", "3days", "36hours": hours. Slurm counts months of 30 days.
std::optional<std::uint32_t> parse_age(std::string_view value) {
  const std::size_t digits = std::min(value.find_first_not_of("0123456789"), value.size());
  const auto number = text::parse_decimal32(value.substr(0, digits));
  const std::string unit = text::lower(std::string(value.substr(digits)));
  if (!number || *number == 0) return std::nullopt;
  const auto is = [&](std::string_view name) { return !unit.empty() && name.starts_with(unit); };
  const std::uint64_t hours = unit.empty() || is("months") ? std::uint64_t{*number} * 30 * 24
                              : is("days")                 ? std::uint64_t{*number} * 24
                              : is("hours")                ? *number
                                                           : 0;
  return hours == 0 || hours > 1'000'000'000 ? std::nullopt : std::optional(static_cast<std::uint32_t>(hours));
}

struct KindWord {
  std::string_view word;  // of archive dump: which are meant
  std::size_t least;
  std::string_view purge;  // and how old they must be
  std::string_view name;   // as spurdbd has it; empty: it keeps none
};
constexpr KindWord kKinds[] = {
    {"Events", 1, "PurgeEventAfter", "events"},   {"Jobs", 1, "PurgeJobAfter", "jobs"},
    {"Reservations", 1, "PurgeResvAfter", "reservations"}, {"Steps", 2, "PurgeStepAfter", "steps"},
    {"TXN", 1, "PurgeTXNAfter", "transactions"},  {"Suspend", 2, "PurgeSuspendAfter", ""},
    {"Usage", 1, "PurgeUsageAfter", ""},
};

// False after a complaint.
bool read_kind(Sacctmgr& s, const Word& w, v1::AcctArchiveRequest* request) {
  for (const KindWord& kind : kKinds) {
    const bool age = w.has_key && w.is(kind.purge, 7);
    if (!age && (w.has_key || !matches(w.text, kind.word, kind.least))) continue;
    if (kind.name.empty()) {
      s.context.error("there is no {} of its own in the database: it goes with the jobs", text::lower(std::string(kind.word)));
      return s.failed(), false;
    }
    v1::AcctArchiveRequest::Kind* row = nullptr;
    for (auto& known : *request->mutable_kinds())
      if (known.name() == kind.name) row = &known;
    if (!row) row = request->add_kinds(), row->set_name(std::string(kind.name));
    if (!age) return true;
    const auto hours = parse_age(w.value);
    if (!hours) return s.plain(" Bad value {} for {}", w.value, kind.purge), s.failed(), false;
    row->set_hours(*hours);
    return true;
  }
  s.plain(" Unknown condition: {}", w.text);
  return s.failed(), false;
}

void dump(Sacctmgr& s, std::span<const std::string> words_given) {
  v1::AcctArchiveRequest request;
  for (const Word& w : read_words(words_given)) {
    if (w.has_key && w.is("Directory", 1)) {
      request.set_directory(w.value);
    } else if (w.has_key && w.is("Script", 2)) {
      return s.context.error("an archive script is not supported yet"), void(s.failed());
    } else if (!read_kind(s, w, &request)) {
      return;
    }
  }
  std::error_code error;
  if (!request.directory().empty() && !std::filesystem::exists(request.directory(), error)) {
    s.plain(" dump: Failed to stat {}: {}\n Note: For archive dump, the directory must be on the calling host.",
            request.directory(), std::strerror(ENOENT));
    return void(s.failed());
  }
  if (!s.immediate) {
    s.context.out.write("This may result in loss of accounting database records (if Purge* options enabled).\n");
    if (!s.ask("Are you sure you want to continue?")) return s.context.out.write(" Changes Discarded\n");
  }
  std::unique_ptr<Accounting> keep;
  AccountingBooks* to = books(s, keep);
  if (!to) return;
  v1::AcctArchiveReply reply;
  if (const Status done = to->archive(request, &reply); !done)
    return s.plain(" Problem dumping archive: {}", words(done.error())), void(s.failed());
  if (s.context.verbosity > 0)
    for (const auto& kind : reply.kinds()) s.context.info("{} {} are in the archive now", kind.count(), kind.name());
  s.context.info("accounting_storage/slurmdbd: jobacct_storage_p_archive: SUCCESS");
}

void load(Sacctmgr& s, std::span<const std::string> words_given) {
  v1::AcctArchiveRequest request;
  for (const Word& w : read_words(words_given)) {
    if (!w.has_key || w.is("File", 1))
      request.set_load_file(w.value);
    else if (w.is("Insert", 2))
      return s.context.error("an SQL statement to be inserted is not supported"), void(s.failed());
    else
      return s.plain(" Unknown option: {}", w.text), void(s.failed());
  }
  std::unique_ptr<Accounting> keep;
  AccountingBooks* to = books(s, keep);
  if (!to) return;
  if (request.load_file().empty()) {
    s.context.error("Error with request.");
    return s.plain(" Problem loading archive file: Unspecified error"), void(s.failed());
  }
  v1::AcctArchiveReply reply;
  if (const Status done = to->archive(request, &reply); !done) {
    const bool missing = done.error().message.find(std::strerror(ENOENT)) != std::string::npos;
    if (missing) s.context.error("No archive file given to recover.");
    s.plain(" Problem loading archive file: {}", missing ? std::strerror(ENOENT) : words(done.error()));
    if (missing) s.plain(" Note: For archive load, the file must be accessible on the slurmdbd host.");
    return void(s.failed());
  }
  s.context.out.write("SUCCESS\n");
}

std::string call_line(std::string_view name, std::uint64_t number, std::size_t digits, std::uint64_t count,
                      std::uint64_t total, std::size_t width) {
  return fmt::format("\t{:<{}}({:>{}}) count:{:<6} ave_time:{:<6} total_time:{}\n", name, width, number, digits, count,
                     count ? total / count : 0, total);
}

}  // namespace

void sacctmgr_archive(Sacctmgr& s, std::span<const std::string> words_given) {
  if (s.read_only) return s.plain("Can't run this command in readonly mode."), void(s.failed());
  if (!words_given.empty() && matches(words_given[0], "Dump", 1)) return dump(s, words_given.subspan(1));
  if (!words_given.empty() && matches(words_given[0], "Load", 1)) return load(s, words_given.subspan(1));
  s.plain("No valid entity in archive command\nInput line must include, \"Dump\", or \"load\"");
  s.failed();
}

void show_statistics(Sacctmgr& s, bool reset) {
  std::unique_ptr<Accounting> keep;
  AccountingBooks* to = books(s, keep);
  if (!to) return;
  v1::AcctStatisticsRequest request;
  request.set_reset(reset);
  v1::AcctStatisticsReply reply;
  if (const Status done = to->statistics(request, &reply); !done)
    return s.context.error("{}", words(done.error())), void(s.failed());
  if (reset) return;
  const auto dated = [](std::int64_t us) {
    const Time at = from_micros(us);
    return fmt::format("{} ({})", date_line(at), to_unix_seconds(at));
  };
  const std::string stars(67, '*');
  std::string text = fmt::format(
      "{}\nsacctmgr show stats output at {}\nData since                    {}\nAll statistics are in microseconds\n{}\n\n"
      "Remote Procedure Call statistics by message type\n",
      stars, dated(reply.as_of_us()), dated(reply.since_us()), stars);
  auto* methods = reply.mutable_by_method();
  std::stable_sort(methods->begin(), methods->end(), [](const auto& a, const auto& b) { return a.count() > b.count(); });
  std::uint64_t number = 0;
  for (const auto& row : *methods) text += call_line(row.method(), ++number, 5, row.count(), row.total_us(), 25);
  text += "\nRemote Procedure Call statistics by user\n";
  for (const auto& row : reply.by_user())
    text += call_line(user_name(Uid{row.uid()}), row.uid(), 10, row.count(), row.total_us(), 20);
  s.context.out.write(text);
}

void sacctmgr_clear(Sacctmgr& s, std::span<const std::string> words_given) {
  if (!words_given.empty() && matches(words_given[0], "Stats", 1)) return show_statistics(s, true);
  s.plain("No valid entity in list command\nInput line must include \"Stats\"");
  s.failed();
}

void sacctmgr_ping(Sacctmgr& s) {
  auto accounting = s.context.connect_accounting();
  if (!accounting) return s.context.error("{}", words(accounting.error())), void(s.failed());
  v1::AcctPingReply reply;
  const bool up = (*accounting)->ping(&reply).has_value();
  s.context.out.print("slurmdbd(primary) at {} is {}\n", (*accounting)->host(), up ? "UP" : "DOWN");
  if (!up) s.failed();
}

void sacctmgr_reconfigure(Sacctmgr& s) {
  std::unique_ptr<Accounting> keep;
  AccountingBooks* to = books(s, keep);
  if (!to) return;
  if (const Status done = to->reconfigure(); !done)
    s.plain(" Problem reconfiguring server: {}",
            done.error().message.empty() ? words(done.error()) : done.error().message),
        s.failed();
}

void sacctmgr_shutdown(Sacctmgr& s) {
  std::unique_ptr<Accounting> keep;
  AccountingBooks* to = books(s, keep);
  if (!to) return;
  if (const Status done = to->shutdown(); !done)
    s.plain(" Problem shutting down server: {}", words(done.error())), s.failed();
}

}  // namespace spur::cli
