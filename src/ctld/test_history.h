// SPDX-License-Identifier: Apache-2.0
// For tests: a history store in memory that can be told to be full, and to lose what a crash would take.
#pragma once

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "io/history_store.h"

namespace spur::ctld {

struct TestHistory final : io::HistoryStore {
  std::mutex mutex;
  std::map<std::uint64_t, Entry> entries;
  std::map<std::uint64_t, Image> images;
  std::vector<Event> told;
  std::map<JobId, Record> known;
  bool full = false;
  int syncs = 0;

  // The newest `count` entries, and what was noted with them, were never written.
  void lose(std::size_t count) {
    const std::lock_guard lock(mutex);
    for (; count > 0 && !entries.empty(); --count) entries.erase(std::prev(entries.end()));
    const std::uint64_t last = entries.empty() ? 0 : entries.rbegin()->first;
    std::erase_if(told, [&](const Event& event) { return event.index > last; });
    std::erase_if(images, [&](const auto& image) { return image.first > last; });  // written behind them
  }

  Status append(const Part& part) override {
    const std::lock_guard lock(mutex);
    if (full) return fail(ErrorCode::OutOfSpace, "no space");
    for (const Entry& entry : part.entries) entries.emplace(entry.index, entry);
    told.insert(told.end(), part.events.begin(), part.events.end());
    for (const Record& record : part.records) known.insert_or_assign(record.job, record);
    return {};
  }
  Status save(const Image& image) override {
    const std::lock_guard lock(mutex);
    if (full) return fail(ErrorCode::OutOfSpace, "no space");
    images.emplace(image.index, image);
    return {};
  }
  Status sync() override {
    const std::lock_guard lock(mutex);
    ++syncs;
    return {};
  }
  Result<Held> held() override {
    const std::lock_guard lock(mutex);
    Held out;
    if (images.empty()) return out;
    out.since = images.begin()->second.shown;
    out.newest_image = images.rbegin()->second.shown;
    out.last = std::max(images.rbegin()->first, entries.empty() ? 0 : entries.rbegin()->first);
    return out;
  }
  Result<std::optional<Image>> image_before(Time then) override {
    const std::lock_guard lock(mutex);
    std::optional<Image> out;
    for (const auto& [index, image] : images)
      if (image.shown <= then) out = image;
    return out;
  }
  Result<Time> next_image(std::uint64_t index) override {
    const std::lock_guard lock(mutex);
    const auto next = images.upper_bound(index);
    return next == images.end() ? Time{} : next->second.shown;
  }
  Result<std::vector<Entry>> read(std::uint64_t after, std::size_t max_bytes) override {
    const std::lock_guard lock(mutex);
    std::vector<Entry> out;
    std::size_t bytes = 0;
    for (auto it = entries.upper_bound(after); it != entries.end() && (out.empty() || bytes < max_bytes); ++it) {
      out.push_back(it->second);
      bytes += it->second.bytes.size();
    }
    return out;
  }
  Result<std::vector<Record>> records(JobId job) override {
    const std::lock_guard lock(mutex);
    std::vector<Record> out;
    for (const auto& [id, record] : known)
      if (id == job || record.group == job) out.push_back(record);
    return out;
  }
  Result<std::vector<Event>> events(std::span<const JobId> jobs, std::size_t most) override {
    const std::lock_guard lock(mutex);
    std::vector<Event> out;
    for (const Event& event : told)
      if (out.size() < most && std::ranges::find(jobs, event.job) != jobs.end()) out.push_back(event);
    return out;
  }
  Result<bool> trim(Time then, std::uint64_t) override {
    const std::lock_guard lock(mutex);
    while (images.size() > 1 && std::next(images.begin())->second.shown <= then) images.erase(images.begin());
    if (!images.empty()) std::erase_if(entries, [&](const auto& e) { return e.first <= images.begin()->first; });
    return true;
  }
  Status clear() override {
    const std::lock_guard lock(mutex);
    entries.clear(), images.clear(), told.clear(), known.clear();
    return {};
  }
};

}  // namespace spur::ctld
