// SPDX-License-Identifier: Apache-2.0
// What accounts and QOS have in force, and what usage is counted in.
#include <algorithm>

#include "config/setter_parts.h"
#include "config/setters.h"
#include "text/decimal.h"
#include "text/private_data.h"
#include "text/words.h"

namespace spur::config {

// As in Slurm each level implies those below it: limits and safe that there are associations, qos the same.
Status set_accounting_enforce(Target& target, const Value& value) {
  model::AccountingConfig next = target.draft.cluster.accounting;
  next.associations = next.limits = next.qos = next.wckeys = next.safe = next.no_jobs = next.no_steps = false;
  for (const std::string& item : value.list) {
    const std::string word = text::lower(item);
    if (word == "none" || word == "0") {
      continue;
    } else if (word == "1" || word == "associations") {
      next.associations = true;
    } else if (word == "2" || word == "limits") {
      next.associations = next.limits = true;
    } else if (word == "safe") {
      next.associations = next.limits = next.safe = true;
    } else if (word == "qos") {
      next.associations = next.qos = true;
    } else if (word == "all") {
      next.associations = next.limits = next.safe = next.qos = next.wckeys = true;
    } else if (word == "wckeys") {
      next.associations = next.wckeys = true;
    } else if (word == "nojobs") {
      next.no_jobs = next.no_steps = true;
    } else if (word == "nosteps") {
      next.no_steps = true;
    } else {
      return bad(fmt::format("\"{}\" is none of associations, limits, qos, safe, wckeys, nojobs, nosteps, all",
                             text::shown(item, 60)));
    }
  }
  target.draft.cluster.accounting = std::move(next);
  keep(target, "AccountingStorageEnforce", value);
  return {};
}

// The controller looks at what `scontrol show config` says.
Status set_private_data(Target& target, const Value& value) {
  keep(target, "PrivateData", value);
  warn_of_options(target, "PrivateData", value);
  return {};
}
Status set_accounting_private(Target& target, const Value& value) {
  target.draft.daemon.accounting_private = text::parse_private_data(fmt::format("{}", fmt::join(value.list, ",")));
  warn_of_options(target, "PrivateData", value);
  return {};
}

Status set_track_wckeys(Target& target, const Value& value) {
  target.draft.cluster.accounting.track_wckeys = value.flag;
  return {};
}

Status set_accounting_tres(Target& target, const Value& value) {
  std::vector<std::string> list;
  for (const std::string& item : value.list) {
    const std::size_t slash = item.find('/');
    const std::string type = text::lower(item.substr(0, slash));
    static constexpr std::string_view kPlain[] = {"cpu", "mem", "energy", "node", "billing", "vmem", "pages"};
    static constexpr std::string_view kNamed[] = {"gres", "license", "bb", "fs", "ic"};
    const bool known = slash == std::string::npos
                           ? std::ranges::find(kPlain, type) != std::end(kPlain)
                           : std::ranges::find(kNamed, type) != std::end(kNamed) && slash + 1 < item.size();
    if (!known) return bad(fmt::format("\"{}\" is no resource that can be counted", text::shown(item, 60)));
    list.push_back(slash == std::string::npos ? type : type + item.substr(slash));
  }
  target.draft.cluster.accounting.tres = std::move(list);
  return {};
}

// ---- slurmdbd.conf

Status set_dbd_port(Target& target, const Value& value) {
  target.draft.daemon.accounting_port = static_cast<std::uint16_t>(value.number);
  target.draft.daemon.accounting_listen.clear();  // everywhere, on that port
  return {};
}

Status set_dbd_log_level(Target& target, const Value& value) {
  SPUR_ASSIGN(target.draft.daemon.accounting_log.level, parse_log_level(value.text));
  return {};
}

Status set_dbd_syslog_level(Target& target, const Value& value) {
  SPUR_ASSIGN(target.draft.daemon.accounting_log.syslog_level, parse_log_level(value.text));
  return {};
}
Status set_dbd_log_time(Target& target, const Value& value) {
  return set_log_time_of({&target.draft.daemon.accounting_log}, target, value);
}

Status set_max_query(Target& target, const Value& value) {
  target.draft.daemon.accounting_max_query = value.time.is_finite() ? seconds(60) * value.time.minutes_value() : seconds(0);
  return {};
}

Status set_storage_type(Target& target, const Value& value) {
  using enum StorageConfig::Kind;
  const std::string type = text::lower(value.text);
  auto& storage = target.draft.daemon.storage;
  if (type == "accounting_storage/pgsql") {
    storage.kind = Postgres;
  } else if (type == "accounting_storage/sqlite") {
    storage.kind = Sqlite;
  } else if (type == "accounting_storage/mysql") {
    storage.kind = Sqlite;
    storage.location.clear();
    target.draft.warn(target.at,
                      "StorageType: there is no MySQL here: a SQLite file below StateSaveLocation is used, and what is in "
                      "the MySQL database stays there; accounting_storage/pgsql uses PostgreSQL");
  } else {
    return bad(fmt::format(
        "\"{}\" is none of accounting_storage/pgsql, accounting_storage/sqlite, accounting_storage/mysql",
        text::shown(value.text, 60)));
  }
  return {};
}

// "12", "12months", "365days", "8760hours"; months of 30 days.
static Status set_purge(std::uint32_t StorageConfig::* keep, Target& target, const Value& value) {
  std::string_view text = value.text;
  const std::size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto number = text::parse_decimal(text.substr(0, end), 100'000);
  std::string unit = text::lower(text.substr(end));
  if (!unit.ends_with('s')) unit += 's';
  const std::uint64_t hours = unit == "s" || unit == "months" ? 30 * 24
                              : unit == "days"                ? 24
                              : unit == "hours"               ? 1
                                                              : 0;
  if (!number || hours == 0)
    return bad(fmt::format("\"{}\" is no number of hours, days or months", text::shown(value.text, 40)));
  target.draft.daemon.storage.*keep = static_cast<std::uint32_t>(*number * hours);
  return {};
}
Status set_purge_jobs(Target& target, const Value& value) {
  return set_purge(&StorageConfig::keep_jobs, target, value);
}
Status set_purge_steps(Target& target, const Value& value) {
  return set_purge(&StorageConfig::keep_steps, target, value);
}
Status set_purge_events(Target& target, const Value& value) {
  return set_purge(&StorageConfig::keep_events, target, value);
}
Status set_purge_reservations(Target& target, const Value& value) {
  return set_purge(&StorageConfig::keep_reservations, target, value);
}
Status set_purge_transactions(Target& target, const Value& value) {
  return set_purge(&StorageConfig::keep_transactions, target, value);
}

Status set_dbd_parameters(Target& target, const Value& value) {
  std::vector<std::string> rest;
  target.draft.daemon.accounting_keeps_case = false;
  for (const std::string& word : value.list) {
    if (text::equal_ignoring_case(word, "PreserveCaseUser"))
      target.draft.daemon.accounting_keeps_case = true;
    else
      rest.push_back(word);
  }
  warn_rest(target, "Parameters", rest);
  return {};
}

Status set_accounting_prices(Target& target, const Value& value) {
  for (const std::string& item : value.list) {
    const std::size_t equals = item.find('=');
    const std::string amount = equals == std::string::npos ? "" : item.substr(equals + 1);
    const bool number = !amount.empty() && amount.find_first_not_of("0123456789.") == std::string::npos &&
                        std::ranges::count(amount, '.') <= 1 && amount != ".";
    if (equals == 0 || !number)
      return bad(fmt::format("\"{}\" is no price: give RESOURCE=AMOUNT, as in gres/gpu=2.50", text::shown(item, 60)));
  }
  target.draft.daemon.accounting_prices = value.list;
  return {};
}

}  // namespace spur::config
