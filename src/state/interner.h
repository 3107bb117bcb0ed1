// SPDX-License-Identifier: Apache-2.0
// Keeps equal texts (scripts, environments) and equal job specifications once: a hundred thousand submissions of one
// loop share one specification. Holds weak references only; what no job uses any more goes away, and the tables are
// swept when they have doubled, so they never grow far beyond what is alive. Never iterated into a result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include "model/job_spec.h"

namespace spur::state {

using SpecPtr = std::shared_ptr<const model::JobSpec>;

class Interner {
 public:
  // The one kept text that equals `blob`; null stays null, and so does the empty text.
  model::Blob intern(const model::Blob& blob);
  // The one kept specification that equals `spec`, its texts interned too. Never null for a non-null argument.
  SpecPtr intern(const SpecPtr& spec);

  std::size_t blobs() const { return blobs_.entries.size(); }
  std::size_t specs() const { return specs_.entries.size(); }

 private:
  template <class T>
  struct Table {
    std::unordered_multimap<std::uint64_t, std::weak_ptr<const T>> entries;
    std::size_t sweep_at = 1024;

    std::shared_ptr<const T> find(std::uint64_t hash, const T& value);
    void add(std::uint64_t hash, const std::shared_ptr<const T>& value);
  };
  Table<std::string> blobs_;
  Table<model::JobSpec> specs_;
};

}  // namespace spur::state
