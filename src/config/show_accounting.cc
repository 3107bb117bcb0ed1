// SPDX-License-Identifier: Apache-2.0
#include "config/show_accounting.h"

#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include "text/date.h"
#include "text/private_data.h"
#include "text/time_limit.h"
#include "text/words.h"

namespace spur::config {
namespace {

std::string yes_no(bool flag) {
  return flag ? "Yes" : "No";
}
std::string or_null(const std::string& text) {
  return text.empty() ? "(null)" : text;
}

// What is counted in hours here, in the largest unit that fits; a star: it goes into the archive.
std::string kept_for(std::uint32_t hours, bool archived) {
  if (hours == 0) return "NONE";
  const char* star = archived ? "*" : "";
  if (hours % (30 * 24) == 0) return fmt::format("{} months{}", hours / (30 * 24), star);
  if (hours % 24 == 0) return fmt::format("{} days{}", hours / 24, star);
  return fmt::format("{} hours{}", hours, star);
}

std::string private_text(std::uint32_t hidden) {
  static constexpr std::pair<std::uint32_t, const char*> kWords[] = {
      {text::kPrivateAccounts, "accounts"}, {text::kPrivateEvents, "events"},           {text::kPrivateJobs, "jobs"},
      {text::kPrivateReservations, "reservations"}, {text::kPrivateUsage, "usage"}, {text::kPrivateUsers, "users"}};
  std::string out;
  for (const auto& [bit, word] : kWords)
    if ((hidden & bit) != 0) out += (out.empty() ? "" : ",") + std::string(word);
  return out.empty() ? "none" : out;
}

std::string user_text(const std::string& user) {
  const passwd* entry = user.empty() ? ::getpwuid(::geteuid()) : ::getpwnam(user.c_str());
  return entry ? fmt::format("{}({})", entry->pw_name, entry->pw_uid) : user;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> shown_accounting_config(const Loaded& loaded, std::string_view version,
                                                                         Time booted) {
  const DaemonConfig& daemon = loaded.daemon;
  const StorageConfig& storage = daemon.storage;
  const auto given = [&](std::string_view key, const char* otherwise = "(null)") {
    const std::string* text = daemon.find_kept(fmt::format("slurmdbd.conf {}", key));
    return text ? *text : std::string(otherwise);
  };
  const auto days = [](std::uint32_t in_hours, std::uint32_t in_days) { return in_hours > 0 ? in_hours : in_days * 24; };
  const bool postgres = storage.kind == StorageConfig::Kind::Postgres || daemon.accounting_url.starts_with("postgres");
  const auto syslog = daemon.accounting_log.syslog_level;
  return {
      {"AllowNoDefAcct", yes_no(daemon.accounting_no_default)},
      {"ArchiveDir", storage.archive_dir},
      {"ArchiveEvents", yes_no(storage.archive_events)},
      {"ArchiveJobs", yes_no(storage.archive_jobs)},
      {"ArchiveResvs", yes_no(storage.archive_reservations)},
      {"ArchiveScript", given("ArchiveScript")},
      {"ArchiveSteps", yes_no(storage.archive_steps)},
      {"ArchiveSuspend", "No"},
      {"ArchiveTXN", yes_no(storage.archive_transactions)},
      {"ArchiveUsage", "No"},
      {"AuthAltTypes", given("AuthAltTypes")},
      {"AuthAltParameters", given("AuthAltParameters")},
      {"AuthInfo", given("AuthInfo")},
      {"AuthType", given("AuthType", "auth/spur")},
      {"BOOT_TIME", text::format_date(booted)},
      {"CommitDelay", given("CommitDelay", "No")},
      {"CommunicationParameters", given("CommunicationParameters")},
      {"DbdAddr", given("DbdAddr", daemon.accounting_host.c_str())},
      {"DbdBackupHost", given("DbdBackupHost")},
      {"DbdHost", daemon.accounting_host.empty() ? "localhost" : daemon.accounting_host},
      {"DbdPort", fmt::format("{}", daemon.accounting_port)},
      {"DebugFlags", given("DebugFlags")},
      {"DebugLevel", std::string(name_of(daemon.accounting_log.level))},
      {"DebugLevelSyslog", syslog ? std::string(name_of(*syslog)) : "(null)"},
      {"DefaultQOS", or_null(daemon.accounting_default_qos)},
      {"DisableArchiveCommands", yes_no(daemon.accounting_no_archives)},
      {"DisableCoordDBD", yes_no(daemon.accounting_no_coordinators)},
      {"LogFile", or_null(daemon.accounting_log.file)},
      {"MaxQueryTimeRange", daemon.accounting_max_query == seconds(0) ? "UNLIMITED"
                                                                       : text::format_clock(daemon.accounting_max_query)},
      {"MessageTimeout", fmt::format("{} secs", given("MessageTimeout", "10"))},
      {"Parameters", daemon.accounting_keeps_case ? "PreserveCaseUser" : "(null)"},
      {"PidFile", accounting_pid_file(daemon)},
      {"PluginDir", given("PluginDir")},
      {"PrivateData", private_text(daemon.accounting_private)},
      {"PurgeEventAfter", kept_for(days(storage.keep_events, daemon.accounting_keep_event_days), storage.archive_events)},
      {"PurgeJobAfter", kept_for(days(storage.keep_jobs, daemon.accounting_keep_days), storage.archive_jobs)},
      {"PurgeResvAfter",
       kept_for(days(storage.keep_reservations, daemon.accounting_keep_reservation_days), storage.archive_reservations)},
      {"PurgeStepAfter", kept_for(days(storage.keep_steps, daemon.accounting_keep_step_days), storage.archive_steps)},
      {"PurgeSuspendAfter", "NONE"},
      {"PurgeTXNAfter",
       kept_for(days(storage.keep_transactions, daemon.accounting_keep_transaction_days), storage.archive_transactions)},
      {"PurgeUsageAfter", "NONE"},
      {"SLURMDBD_CONF", or_null(loaded.accounting_path)},
      {"SLURMDBD_VERSION", std::string(version)},
      {"SlurmUser", user_text(daemon.slurm_user)},
      {"StorageBackupHost", given("StorageBackupHost")},
      {"StorageHost", storage.host.empty() ? "localhost" : storage.host},
      {"StorageLoc", storage.location.empty() ? "slurm_acct_db" : storage.location},
      {"StorageParameters", given("StorageParameters")},
      {"StoragePort", fmt::format("{}", storage.port)},
      {"StorageType", postgres ? "accounting_storage/pgsql" : "accounting_storage/sqlite"},
      {"StorageUser", storage.user.empty() ? user_text(daemon.slurm_user).substr(0, user_text(daemon.slurm_user).find('('))
                                           : storage.user},
      {"TCPTimeout", fmt::format("{} secs", given("TCPTimeout", "2"))},
      {"TrackWCKey", yes_no(loaded.cluster.accounting.track_wckeys)},
      {"TrackSlurmctldDown", "No"},
  };
}

}  // namespace spur::config
