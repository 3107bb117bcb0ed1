// SPDX-License-Identifier: Apache-2.0
// What accounts and QOS have in force, and what usage is counted in.
#include <algorithm>

#include "config/setter_parts.h"
#include "config/setters.h"
#include "text/words.h"

namespace spur::config {

// As in Slurm each level implies those below it: limits and safe that there are associations, qos the same.
Status set_accounting_enforce(Target& target, const Value& value) {
  model::AccountingConfig next = target.draft.cluster.accounting;
  next.associations = next.limits = next.qos = next.wckeys = next.safe = false;
  std::vector<std::string> rest;
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
      next.associations = next.limits = next.safe = next.qos = true;
    } else if (word == "wckeys" || word == "nojobs" || word == "nosteps") {
      rest.push_back(item);
    } else {
      return bad(fmt::format("\"{}\" is none of associations, limits, qos, safe, wckeys, nojobs, nosteps, all",
                             text::shown(item, 60)));
    }
  }
  target.draft.cluster.accounting = std::move(next);
  keep(target, "AccountingStorageEnforce", value);
  warn_rest(target, "AccountingStorageEnforce", rest);
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
