// SPDX-License-Identifier: Apache-2.0
// A set of unsigned numbers kept as sorted, disjoint, non-adjacent ranges: the tasks of a job array. A million
// consecutive tasks are one range, and taking the lowest of a range is O(1); membership is O(log ranges).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace spur {

class IndexSet {
 public:
  struct Range {
    std::uint32_t first, last;  // both included
    friend bool operator==(const Range&, const Range&) = default;
  };

  IndexSet() = default;
  bool empty() const { return ranges_.empty(); }
  std::uint64_t size() const { return size_; }
  bool contains(std::uint32_t index) const;
  std::optional<std::uint32_t> lowest() const;
  std::optional<std::uint32_t> highest() const;
  // The lowest member that is greater than `index`.
  std::optional<std::uint32_t> next_after(std::uint32_t index) const;
  void insert(std::uint32_t index) { insert_range(index, index); }
  void insert_range(std::uint32_t first, std::uint32_t last);
  bool erase(std::uint32_t index);  // false if it was not there
  void clear() { ranges_.clear(), size_ = 0; }
  const std::vector<Range>& ranges() const { return ranges_; }

  // The members in both.
  IndexSet intersect(const IndexSet& other) const;
  void erase_all(const IndexSet& other);

  // "0-5,7,9-11". A set with one stride, of more than five members that span more than ten, is written as Slurm
  // writes it: "1-13:2".
  std::string to_string() const;

  friend bool operator==(const IndexSet&, const IndexSet&) = default;

 private:
  std::vector<Range> ranges_;
  std::uint64_t size_ = 0;
};

}  // namespace spur
