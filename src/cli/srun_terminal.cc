// SPDX-License-Identifier: Apache-2.0
#include "cli/srun_terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

namespace spur::cli {

std::optional<WindowSize> window_size(int descriptor) {
  winsize size{};
  if (::ioctl(descriptor, TIOCGWINSZ, &size) != 0) return std::nullopt;
  return WindowSize{size.ws_row, size.ws_col};
}

RawTerminal::RawTerminal(int descriptor) : descriptor_(descriptor) {
  if (::tcgetattr(descriptor, &before_) != 0) return;
  termios raw = before_;
  ::cfmakeraw(&raw);
  changed_ = ::tcsetattr(descriptor, TCSANOW, &raw) == 0;
}

RawTerminal::~RawTerminal() {
  if (changed_) ::tcsetattr(descriptor_, TCSADRAIN, &before_);
}

}  // namespace spur::cli
