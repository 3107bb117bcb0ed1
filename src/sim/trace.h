// SPDX-License-Identifier: Apache-2.0
// The story of a simulated run, one line an event. Its digest tells whether two runs were the same.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>

#include "base/time.h"
#include "sim/event_queue.h"

namespace spur::sim {

class Trace {
 public:
  Trace(const EventQueue& events, std::FILE* file) : events_(events), file_(file) {}
  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    text_.clear();
    fmt::format_to(std::back_inserter(text_), "{:>13.6f} ", static_cast<double>(events_.now().count()) / 1e6);
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
    text_ += '\n';
    for (const char c : text_) digest_ = (digest_ ^ static_cast<unsigned char>(c)) * 0x100000001b3u;  // FNV-1a
    if (file_) std::fwrite(text_.data(), 1, text_.size(), file_);
  }
  std::uint64_t digest() const { return digest_; }

 private:
  const EventQueue& events_;
  std::FILE* file_;
  std::string text_;
  std::uint64_t digest_ = 0xcbf29ce484222325u;
};

}  // namespace spur::sim
