// SPDX-License-Identifier: Apache-2.0
#include "state/interner.h"

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>

namespace spur::state {
namespace {

std::uint64_t hash_of(std::string_view text) {
  return std::hash<std::string_view>{}(text);
}

// Only a filter in front of ==, so the fields that usually tell specifications apart are enough. The texts are
// interned by then: their addresses stand for their contents.
std::uint64_t hash_of(const model::JobSpec& spec) {
  std::uint64_t h = spec.uid.value;
  const auto add = [&h](std::uint64_t n) { h = (h ^ n) * 0x9e3779b97f4a7c15u, h ^= h >> 29; };
  for (const std::string* text : {&spec.name, &spec.work_dir, &spec.command, &spec.submit_line, &spec.std_out,
                                  &spec.comment, &spec.account, &spec.required_nodes})
    add(hash_of(*text));
  add(reinterpret_cast<std::uintptr_t>(spec.script.get()));
  add(reinterpret_cast<std::uintptr_t>(spec.environment.get()));
  for (const std::string& argument : spec.arguments) add(hash_of(argument));
  for (const model::Dependency& term : spec.dependencies) add(term.job.value);
  add(spec.time_limit.raw());
  add(spec.min_nodes);
  add(spec.tasks.value_or(0));
  add(spec.session_id);
  add(static_cast<std::uint64_t>(to_micros(spec.begin)));
  return h;
}

}  // namespace

template <class T>
std::shared_ptr<const T> Interner::Table<T>::find(std::uint64_t hash, const T& value) {
  auto [at, end] = entries.equal_range(hash);
  while (at != end) {
    auto kept = at->second.lock();
    if (!kept) {
      at = entries.erase(at);
    } else if (*kept == value) {
      return kept;
    } else {
      ++at;
    }
  }
  return nullptr;
}

template <class T>
void Interner::Table<T>::add(std::uint64_t hash, const std::shared_ptr<const T>& value) {
  if (entries.size() >= sweep_at) {
    std::erase_if(entries, [](const auto& entry) { return entry.second.expired(); });
    sweep_at = std::max<std::size_t>(1024, entries.size() * 2);
  }
  entries.emplace(hash, value);
}

model::Blob Interner::intern(const model::Blob& blob) {
  if (!blob || blob->empty()) return nullptr;
  const std::uint64_t hash = hash_of(*blob);
  if (auto kept = blobs_.find(hash, *blob)) return kept;
  blobs_.add(hash, blob);
  return blob;
}

SpecPtr Interner::intern(const SpecPtr& spec) {
  if (!spec) return nullptr;
  SpecPtr mine = spec;
  auto script = intern(spec->script);
  auto environment = intern(spec->environment);
  if (script != spec->script || environment != spec->environment) {
    auto copy = std::make_shared<model::JobSpec>(*spec);
    copy->script = std::move(script);
    copy->environment = std::move(environment);
    mine = std::move(copy);
  }
  const std::uint64_t hash = hash_of(*mine);
  if (auto kept = specs_.find(hash, *mine)) return kept;
  specs_.add(hash, mine);
  return mine;
}

}  // namespace spur::state
