// SPDX-License-Identifier: Apache-2.0
#include "text/dependency.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include <fmt/format.h>

#include "text/array_spec.h"
#include "text/decimal.h"
#include "text/printable.h"
#include "text/words.h"

namespace spur::text {
namespace {

using Kind = DependencyTerm::Kind;

struct KindName {
  Kind kind;
  std::string_view name;
};
constexpr KindName kKinds[] = {
    {Kind::After, "after"},           {Kind::AfterAny, "afterany"},   {Kind::AfterOk, "afterok"},
    {Kind::AfterNotOk, "afternotok"}, {Kind::AfterCorr, "aftercorr"}, {Kind::AfterBurstBuffer, "afterburstbuffer"},
    {Kind::Expand, "expand"},         {Kind::Singleton, "singleton"},
};

std::optional<Kind> parse_kind(std::string_view word) {
  for (const auto& [kind, name] : kKinds)
    if (equal_ignoring_case(word, name)) return kind;
  return std::nullopt;
}

// "12", "12_3", "12_*", and for After "12+5".
std::optional<DependencyTerm> parse_job(Kind kind, std::string_view text, std::uint32_t max_job_id) {
  DependencyTerm term{.kind = kind, .job = 0, .array_task = {}, .whole_array = false, .delay_minutes = 0};
  if (const auto plus = text.find('+'); plus != std::string_view::npos) {
    const auto delay = parse_decimal32(text.substr(plus + 1));
    if (kind != Kind::After || !delay) return std::nullopt;
    term.delay_minutes = *delay;
    text = text.substr(0, plus);
  }
  if (const auto underscore = text.find('_'); underscore != std::string_view::npos) {
    const std::string_view task = text.substr(underscore + 1);
    if (task == "*") {
      term.whole_array = true;
    } else if (!(term.array_task = parse_decimal32(task))) {
      return std::nullopt;
    }
    text = text.substr(0, underscore);
  }
  const auto job = parse_decimal32(text);
  if (!job || *job == 0 || *job > max_job_id) return std::nullopt;
  term.job = *job;
  return term;
}

// "5_[1-3,7]" stands for each of these tasks. False if malformed.
bool append_jobs(Kind kind, std::string_view text, std::uint32_t max_job_id, std::vector<DependencyTerm>& terms) {
  constexpr std::size_t kMostTasks = 10'000;
  const auto open = text.find("_["), close = text.find(']');
  if (open == std::string_view::npos) {
    const auto term = parse_job(kind, text, max_job_id);
    if (term) terms.push_back(*term);
    return term.has_value();
  }
  if (close == std::string_view::npos || close < open) return false;
  const auto tasks = parse_array_spec(text.substr(open + 2, close - open - 2));
  if (!tasks || tasks->max_running != 0 || tasks->tasks.size() > kMostTasks) return false;
  for (auto task = tasks->tasks.lowest(); task; task = tasks->tasks.next_after(*task)) {
    const auto term = parse_job(kind, fmt::format("{}_{}{}", text.substr(0, open), *task, text.substr(close + 1)), max_job_id);
    if (!term) return false;
    terms.push_back(*term);
  }
  return true;
}

// As split(), but what stands in brackets stays together.
std::vector<std::string_view> split_outside(std::string_view text, char separator) {
  std::vector<std::string_view> out;
  std::size_t from = 0;
  bool inside = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '[') inside = true;
    if (text[i] == ']') inside = false;
    if (text[i] != separator || inside) continue;
    out.push_back(text.substr(from, i - from));
    from = i + 1;
  }
  out.push_back(text.substr(from));
  return out;
}

// One part between separators, which may name several jobs. False if malformed.
bool append_terms(std::string_view part, std::uint32_t max_job_id, std::vector<DependencyTerm>& terms) {
  const auto fields = split_outside(part, ':');
  const auto kind = parse_kind(fields[0]);
  if (!kind) {
    return fields.size() == 1 && append_jobs(Kind::AfterAny, part, max_job_id, terms);
  }
  if (*kind == Kind::Singleton) {
    terms.push_back({.kind = Kind::Singleton, .job = 0, .array_task = {}, .whole_array = false, .delay_minutes = 0});
    return fields.size() == 1;
  }
  if (fields.size() < 2 || (*kind == Kind::Expand && fields.size() > 2)) return false;
  for (std::size_t i = 1; i < fields.size(); ++i)
    if (!append_jobs(*kind, fields[i], max_job_id, terms)) return false;
  return true;
}

// Keeps the first of equal terms, in order. By a sorted index, for a list may name thousands of jobs.
void drop_repetitions(std::vector<DependencyTerm>& terms) {
  const auto key = [&](std::size_t i) {
    const DependencyTerm& t = terms[i];
    return std::tuple(t.job, t.kind, t.array_task, t.whole_array, t.delay_minutes, i);
  };
  std::vector<std::size_t> order(terms.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
  std::vector<bool> again(terms.size());
  for (std::size_t i = 1; i < order.size(); ++i) again[order[i]] = terms[order[i]] == terms[order[i - 1]];
  std::size_t kept = 0;
  for (std::size_t i = 0; i < terms.size(); ++i)
    if (!again[i]) terms[kept++] = terms[i];
  terms.resize(kept);
}

}  // namespace

Result<DependencySpec> parse_dependency(std::string_view text, std::uint32_t max_job_id) {
  DependencySpec spec;
  if (text.empty() || text == "0") return spec;
  spec.any = text.find('?') != std::string_view::npos;
  const bool mixed = spec.any && split_outside(text, ',').size() > 1;
  bool good = !mixed;
  for (const auto part : split_outside(text, spec.any ? '?' : ',')) good = good && append_terms(part, max_job_id, spec.terms);
  if (!good)
    return fail(ErrorCode::InvalidDependency, fmt::format("Invalid dependency specification \"{}\"", shown(text)));
  drop_repetitions(spec.terms);
  return spec;
}

std::string_view dependency_kind_name(Kind kind) {
  for (const auto& row : kKinds)
    if (row.kind == kind) return row.name;
  return {};
}

std::string format_dependency(const DependencyTerm& term) {
  std::string out(dependency_kind_name(term.kind));
  if (term.kind == Kind::Singleton) return out;
  out += fmt::format(":{}", term.job);
  if (term.array_task) out += fmt::format("_{}", *term.array_task);
  if (term.whole_array) out += "_*";
  if (term.delay_minutes != 0) out += fmt::format("+{}", term.delay_minutes);
  return out;
}

std::string format_dependency(const DependencySpec& spec) {
  std::string out;
  for (const DependencyTerm& term : spec.terms) {
    if (!out.empty()) out += spec.any ? '?' : ',';
    out += format_dependency(term);
  }
  return out;
}

}  // namespace spur::text
