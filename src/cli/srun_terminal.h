// SPDX-License-Identifier: Apache-2.0
// srun --pty: this end of the terminal. While it lives the terminal hands on every key as it is typed, Ctrl-C
// included.
#pragma once

#include <termios.h>

#include <cstdint>
#include <memory>
#include <optional>

namespace spur::cli {

struct WindowSize {
  std::uint32_t rows = 0, columns = 0;
};
// Nothing if the descriptor is no terminal.
std::optional<WindowSize> window_size(int descriptor);

class RawTerminal {
 public:
  explicit RawTerminal(int descriptor);
  ~RawTerminal();  // as it was
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;

 private:
  int descriptor_;
  bool changed_ = false;
  termios before_{};
};

}  // namespace spur::cli
