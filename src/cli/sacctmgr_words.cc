// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "cli/sacctmgr.h"
#include "text/decimal.h"
#include "text/words.h"

namespace spur::cli {

bool Word::is(std::string_view name, std::size_t least) const {
  return has_key && matches(key, name, least);
}

std::vector<Word> read_words(std::span<const std::string> words) {
  std::vector<Word> out;
  for (const std::string& text : words) {
    Word word;
    word.text = text;
    const std::size_t at = text.find('=');
    if (at == std::string::npos) {
      word.value = text;
    } else {
      word.has_key = true;
      std::size_t end = at;
      if (end > 0 && (text[end - 1] == '+' || text[end - 1] == '-')) word.how = text[--end];
      word.key = text.substr(0, end);
      word.value = text.substr(at + 1);
      // Quotes around the value are for the shell that interactive mode is not.
      if (word.value.size() >= 2 && (word.value.front() == '"' || word.value.front() == '\'') &&
          word.value.back() == word.value.front())
        word.value = word.value.substr(1, word.value.size() - 2);
    }
    out.push_back(std::move(word));
  }
  return out;
}

static std::vector<std::string> listed_in(std::string_view value, bool keeps_case) {
  std::vector<std::string> out;
  for (const std::string_view word : text::split(value, ',')) {
    std::string name(text::trim(word));
    if (!keeps_case) name = text::lower(name);
    for (char& c : name)
      if (c == '\'' || c == '"') c = '`';
    if (std::ranges::find(out, name) == out.end()) out.push_back(std::move(name));
  }
  if (out.size() > 1) std::erase(out, "");
  return out;
}

std::vector<std::string> names_in(std::string_view value) {
  return listed_in(value, false);
}
std::vector<std::string> users_in(Sacctmgr& s, std::string_view value) {
  return listed_in(value, s.records().keeps_case);
}

std::vector<std::uint32_t> numbers_in(std::string_view value) {
  std::vector<std::uint32_t> out;
  for (const std::string_view word : text::split(value, ','))
    if (const auto number = text::parse_decimal32(word)) out.push_back(*number);
  return out;
}
bool has_number(const std::vector<std::uint32_t>& list, std::uint32_t number) {
  return list.empty() || std::ranges::find(list, number) != list.end();
}

bool is_in(const std::vector<std::string>& list, std::string_view name) {
  return std::ranges::find(list, name) != list.end();
}
bool is_in_or_empty(const std::vector<std::string>& list, std::string_view name) {
  return list.empty() || is_in(list, name);
}

bool AssociationFilter::takes(const model::AssociationRecord& record, const model::Association& resolved) const {
  if (!is_in_or_empty(clusters, record.cluster)) return false;
  if (!is_in_or_empty(accounts, record.row.account)) return false;
  if (!users.empty() && (!record.row.is_user() || !is_in(users, record.row.user))) return false;
  if (!partitions.empty() && !is_in(partitions, record.row.partition)) return false;
  if (!parents.empty() && (record.row.is_user() || !is_in(parents, record.parent))) return false;
  if (!ids.empty() && std::ranges::find(ids, record.row.id) == ids.end()) return false;
  if (only_defaults && !record.row.is_default) return false;
  if (!qos.empty() && std::ranges::none_of(qos, [&](const std::string& q) { return is_in(resolved.qos, q); }))
    return false;
  return true;
}

std::vector<PlacedRow> placed_rows(const model::AccountRecords& records) {
  std::vector<PlacedRow> out;
  std::vector<std::string> clusters;
  for (const auto& c : records.clusters) clusters.push_back(c.name);
  std::ranges::sort(clusters);
  for (const std::string& cluster : clusters) {
    const auto tree = model::tree_of(records.associations, cluster);
    const auto resolved = model::resolve(records.associations, cluster);
    for (std::size_t i = 0; i < tree.size(); ++i) out.push_back({tree[i].record, resolved[i], tree[i]});
  }
  return out;
}

std::set<std::string> accounts_below(const model::AccountRecords& records, const std::string& cluster,
                                     const std::vector<std::string>& accounts) {
  std::set<std::string> out(accounts.begin(), accounts.end());
  for (const auto& row : model::tree_of(records.associations, cluster))  // parents come first
    if (!row.record->row.is_user() && out.contains(row.record->parent)) out.insert(row.record->row.account);
  return out;
}

bool asks_for_deleted(std::span<const std::string> words) {
  return std::ranges::any_of(read_words(words),
                             [](const Word& w) { return !w.has_key && matches(w.text, "WithDeleted", 5); });
}

void run_entity(Sacctmgr& s, std::string_view command, std::span<const EntityVerb> verbs,
                std::span<const std::string> words, std::string_view entities) {
  if (s.read_only) return s.plain("Can't run this command in readonly mode."), void(s.failed());
  const std::string entity = words.empty() ? "" : words.front();
  const auto verb = std::ranges::find_if(
      verbs, [&](const EntityVerb& one) { return !entity.empty() && matches(entity, one.entity, one.least); });
  if (verb == verbs.end()) {
    s.plain("{}", fmt::format("No valid entity in {} command\nInput line must include {}", command, entities));
    return void(s.failed());
  }
  if (!verb->run) return s.context.error("{} {} is not supported yet", command, entity), void(s.failed());
  if (s.load()) verb->run(s, words.subspan(1));
}

}  // namespace spur::cli
