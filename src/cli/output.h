// SPDX-License-Identifier: Apache-2.0
// Where a command writes. Output to a file descriptor is gathered and written in large pieces; with descriptor -1 it
// stays in memory, which is how tests read it. No iostream: its start-up would be a good part of a whole squeue.
#pragma once

#include <fmt/core.h>

#include <iterator>
#include <string>
#include <string_view>
#include <utility>

namespace spur::cli {

class Output {
 public:
  explicit Output(int descriptor, bool immediate = false) : descriptor_(descriptor), immediate_(immediate) {}
  ~Output() { flush(); }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  void write(std::string_view text) {
    buffer_.append(text);
    if (immediate_ || buffer_.size() >= kEnough) flush();
  }
  template <class... Args>
  void print(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(buffer_), format, std::forward<Args>(args)...);
    if (immediate_ || buffer_.size() >= kEnough) flush();
  }
  // Writes what was gathered. A reader that went away is not an error worth a message: the rest is dropped.
  void flush();
  // What a test reads; empty for a real descriptor once flushed.
  const std::string& text() const { return buffer_; }
  int descriptor() const { return descriptor_; }

 private:
  static constexpr std::size_t kEnough = 64 * 1024;
  int descriptor_;
  bool immediate_;
  std::string buffer_;
};

}  // namespace spur::cli
