// SPDX-License-Identifier: Apache-2.0
// Ranges stay sorted, disjoint and non-adjacent after every call; size_ is the sum of their lengths.
#include "base/index_set.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include <fmt/format.h>

#include "base/check.h"

namespace spur {
namespace {

constexpr std::uint32_t kMax = std::numeric_limits<std::uint32_t>::max();

std::uint64_t length(const IndexSet::Range& r) {
  return std::uint64_t{r.last} - r.first + 1;
}

// The first range that ends at or after `index`.
template <class Ranges>
auto first_reaching(Ranges& ranges, std::uint32_t index) {
  return std::lower_bound(ranges.begin(), ranges.end(), index,
                          [](const IndexSet::Range& r, std::uint32_t i) { return r.last < i; });
}

// The distance between neighbours if every range is a single member and all distances are equal, else 0.
std::uint32_t stride_of(const std::vector<IndexSet::Range>& ranges) {
  if (ranges.size() < 2) return 0;
  const std::uint32_t stride = ranges[1].first - ranges[0].first;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    if (ranges[i].first != ranges[i].last) return 0;
    if (i > 0 && ranges[i].first - ranges[i - 1].first != stride) return 0;
  }
  return stride;
}

}  // namespace

bool IndexSet::contains(std::uint32_t index) const {
  const auto it = first_reaching(ranges_, index);
  return it != ranges_.end() && it->first <= index;
}

std::optional<std::uint32_t> IndexSet::lowest() const {
  if (empty()) return std::nullopt;
  return ranges_.front().first;
}

std::optional<std::uint32_t> IndexSet::highest() const {
  if (empty()) return std::nullopt;
  return ranges_.back().last;
}

std::optional<std::uint32_t> IndexSet::next_after(std::uint32_t index) const {
  if (index == kMax) return std::nullopt;
  const auto it = first_reaching(ranges_, index + 1);
  if (it == ranges_.end()) return std::nullopt;
  return std::max(it->first, index + 1);
}

void IndexSet::insert_range(std::uint32_t first, std::uint32_t last) {
  SPUR_CHECK(first <= last);
  // Everything from the range that touches `first` on the left to the one that touches `last` on the right melts
  // into one. Appending in ascending order, the common case, finds `from` at the end at once.
  auto from = first_reaching(ranges_, first == 0 ? 0 : first - 1);
  auto to = from;
  while (to != ranges_.end() && (last == kMax || to->first <= last + 1)) {
    first = std::min(first, to->first);
    last = std::max(last, to->last);
    size_ -= length(*to);
    ++to;
  }
  const Range merged{first, last};
  if (from == to) {
    ranges_.insert(from, merged);
  } else {
    *from = merged;
    ranges_.erase(std::next(from), to);
  }
  size_ += length(merged);
}

bool IndexSet::erase(std::uint32_t index) {
  const auto it = first_reaching(ranges_, index);
  if (it == ranges_.end() || it->first > index) return false;
  if (it->first == it->last) {
    ranges_.erase(it);
  } else if (index == it->first) {
    ++it->first;
  } else if (index == it->last) {
    --it->last;
  } else {
    const Range right{index + 1, it->last};
    it->last = index - 1;
    ranges_.insert(std::next(it), right);
  }
  --size_;
  return true;
}

IndexSet IndexSet::intersect(const IndexSet& other) const {
  IndexSet both;
  auto a = ranges_.begin();
  auto b = other.ranges_.begin();
  while (a != ranges_.end() && b != other.ranges_.end()) {
    const Range common{std::max(a->first, b->first), std::min(a->last, b->last)};
    if (common.first <= common.last) {
      both.ranges_.push_back(common);
      both.size_ += length(common);
    }
    if (a->last < b->last) {
      ++a;
    } else {
      ++b;
    }
  }
  return both;
}

void IndexSet::erase_all(const IndexSet& other) {
  std::vector<Range> left;
  size_ = 0;
  auto keep = [&](std::uint32_t first, std::uint32_t last) {
    left.push_back({first, last});
    size_ += length(left.back());
  };
  auto cut = other.ranges_.begin();
  for (const Range& range : ranges_) {
    std::uint64_t first = range.first;  // 64 bits: one past the highest index is a valid "nothing left"
    while (cut != other.ranges_.end() && cut->last < first) ++cut;
    for (auto it = cut; it != other.ranges_.end() && it->first <= range.last; ++it) {
      if (it->first > first) keep(static_cast<std::uint32_t>(first), it->first - 1);
      first = std::max(first, std::uint64_t{it->last} + 1);
    }
    if (first <= range.last) keep(static_cast<std::uint32_t>(first), range.last);
  }
  ranges_ = std::move(left);
}

std::string IndexSet::to_string() const {
  // Slurm's threshold for the short form: more than five members that span more than ten.
  if (size_ > 5 && ranges_.back().last - ranges_.front().first > 10) {
    if (const std::uint32_t stride = stride_of(ranges_); stride > 1)
      return fmt::format("{}-{}:{}", ranges_.front().first, ranges_.back().last, stride);
  }
  std::string text;
  auto out = std::back_inserter(text);
  for (const Range& range : ranges_) {
    if (!text.empty()) text += ',';
    if (range.first == range.last) {
      fmt::format_to(out, "{}", range.first);
    } else {
      fmt::format_to(out, "{}-{}", range.first, range.last);
    }
  }
  return text;
}

}  // namespace spur
