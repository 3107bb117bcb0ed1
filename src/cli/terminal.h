// SPDX-License-Identifier: Apache-2.0
// Terminals: whether there is one, colours, its size, and a whole screen that is given back however the command ends.
#pragma once

#include <termios.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cli/context.h"

namespace spur::cli {

enum class ColorWish : std::uint8_t { Auto, Always, Never };
std::optional<ColorWish> parse_color_wish(std::string_view word);
// Auto: on a terminal, unless NO_COLOR or TERM=dumb say otherwise.
bool wants_color(const Context& context, ColorWish wish);
bool is_terminal(const Output& output);

enum class Color : std::uint8_t { Plain, Bold, Dim, Red, Green, Yellow, Blue, Cyan, Reverse };
// The text in a colour; as it is with Plain.
std::string colored(std::string_view text, Color color);

struct ScreenSize {
  int rows = 24, columns = 80;
};
ScreenSize screen_size(const Output& output);

// Cuts the text behind so many columns of a terminal; a character counts as one column, whatever it is made of.
std::string cut_to_columns(std::string_view text, int columns);
int columns_of(std::string_view text);

// The whole screen: the alternate buffer, no cursor, keys as they are typed. Everything is put back when it is
// destroyed, when the process is ended by a signal, and while it is stopped (Ctrl-Z).
class FullScreen {
 public:
  FullScreen(Output& output, int input);
  ~FullScreen();
  FullScreen(const FullScreen&) = delete;
  FullScreen& operator=(const FullScreen&) = delete;

  // The next key that was typed: a character, or one of these. 0: none is waiting; -1: the terminal is gone.
  enum Key : int { kUp = 1000, kDown, kPageUp, kPageDown, kHome, kEnd, kEscape };
  int key();
  // Whether the screen must be drawn anew: another size, or back from having been stopped.
  bool take_redraw();
  // Writes lines from the top; the rest of the screen is cleared.
  void draw(const std::string& text);

 private:
  Output& output_;
  int input_;
};

}  // namespace spur::cli
