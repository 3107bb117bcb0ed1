// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "text/printable.h"

namespace spur::cli {
namespace {

constexpr std::string_view kEnter = "\x1b[?1049h\x1b[?25l", kLeave = "\x1b[0m\x1b[?25h\x1b[?1049l";

// What a signal handler must know to put the terminal back.
struct Saved {
  volatile sig_atomic_t active = 0, redraw = 0;
  int output = -1, input = -1;
  bool has_mode = false;
  termios mode{};  // as it was
  termios raw{};
};
Saved saved;

constexpr int kEnding[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGSEGV, SIGABRT, SIGBUS, SIGFPE};

void put_back() {
  if (!saved.active) return;
  saved.active = 0;
  static_cast<void>(!::write(saved.output, kLeave.data(), kLeave.size()));
  if (saved.has_mode) ::tcsetattr(saved.input, TCSAFLUSH, &saved.mode);
}

void take_over() {
  if (saved.has_mode) ::tcsetattr(saved.input, TCSAFLUSH, &saved.raw);
  static_cast<void>(!::write(saved.output, kEnter.data(), kEnter.size()));
  saved.active = 1;
  saved.redraw = 1;
}

void on_ending(int signal) {
  put_back();
  struct sigaction standard = {};
  standard.sa_handler = SIG_DFL;
  ::sigaction(signal, &standard, nullptr);
  ::raise(signal);
}

void on_stop(int) {
  const int error = errno;
  put_back();
  ::raise(SIGSTOP);  // until somebody says go on
  take_over();
  errno = error;
}

void on_resize(int) {
  saved.redraw = 1;
}

void handle(int signal, void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  action.sa_flags = handler == on_resize ? 0 : SA_RESTART;
  ::sigaction(signal, &action, nullptr);
}

// How many bytes of the text are one character; 1 where it is no UTF-8.
std::size_t character(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1;
  return std::min(length, text.size());
}

// Past an escape sequence at the beginning, or 0.
std::size_t escape(std::string_view text) {
  if (!text.starts_with("\x1b[")) return 0;
  const std::size_t end = text.find_first_not_of("0123456789;?", 2);
  return end == std::string_view::npos ? text.size() : end + 1;
}

}  // namespace

std::optional<ColorWish> parse_color_wish(std::string_view word) {
  if (word.empty() || word == "always") return ColorWish::Always;
  if (word == "auto") return ColorWish::Auto;
  if (word == "never") return ColorWish::Never;
  return std::nullopt;
}

bool is_terminal(const Output& output) {
  return output.descriptor() >= 0 && ::isatty(output.descriptor()) == 1;
}

bool wants_color(const Context& context, ColorWish wish) {
  if (wish != ColorWish::Auto) return wish == ColorWish::Always;
  if (!context.env("NO_COLOR").value_or("").empty() || context.env("TERM").value_or("") == "dumb") return false;
  return is_terminal(context.out);
}

std::string colored(std::string_view text, Color color) {
  static constexpr const char* kCodes[] = {"", "1", "2", "31", "32", "33", "34", "36", "7"};
  if (color == Color::Plain || text.empty()) return std::string(text);
  return fmt::format("\x1b[{}m{}\x1b[0m", kCodes[static_cast<std::size_t>(color)], text);
}

ScreenSize screen_size(const Output& output) {
  winsize size{};
  if (output.descriptor() < 0 || ::ioctl(output.descriptor(), TIOCGWINSZ, &size) != 0 || size.ws_row == 0 ||
      size.ws_col == 0)
    return {};
  return {size.ws_row, size.ws_col};
}

int columns_of(std::string_view text) {
  int columns = 0;
  while (!text.empty()) {
    if (const std::size_t skip = escape(text)) {
      text.remove_prefix(skip);
      continue;
    }
    text.remove_prefix(character(text));
    ++columns;
  }
  return columns;
}

std::string cut_to_columns(std::string_view text, int columns) {
  std::string out;
  int used = 0;
  while (!text.empty()) {
    if (const std::size_t skip = escape(text)) {  // colours go on: they are ended behind the cut, too
      out += text.substr(0, skip);
      text.remove_prefix(skip);
      continue;
    }
    const std::size_t length = character(text);
    if (used < columns) out += text.substr(0, length);
    ++used;
    text.remove_prefix(length);
  }
  return out;
}

FullScreen::FullScreen(Output& output, int input) : output_(output), input_(input) {
  output_.flush();
  saved.output = output.descriptor();
  saved.input = input;
  saved.has_mode = ::tcgetattr(input, &saved.mode) == 0;
  saved.raw = saved.mode;
  saved.raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  saved.raw.c_cc[VMIN] = 0;
  saved.raw.c_cc[VTIME] = 0;
  for (const int signal : kEnding) handle(signal, on_ending);
  handle(SIGTSTP, on_stop);
  handle(SIGWINCH, on_resize);
  take_over();
}

FullScreen::~FullScreen() {
  output_.flush();
  put_back();
  for (const int signal : kEnding) handle(signal, SIG_DFL);
  handle(SIGTSTP, SIG_DFL);
  handle(SIGWINCH, SIG_DFL);
}

int FullScreen::key() {
  const auto next = [this](int wait) {
    pollfd watched{.fd = input_, .events = POLLIN, .revents = 0};
    char c = 0;
    if (::poll(&watched, 1, wait) <= 0) return 0;
    return ::read(input_, &c, 1) == 1 ? static_cast<int>(static_cast<unsigned char>(c)) : -1;
  };
  const int first = next(0);
  if (first != 0x1b) return first;
  constexpr int kRestOfKey = 30;  // milliseconds in which the rest of an arrow arrives
  const int second = next(kRestOfKey);
  if (second != '[' && second != 'O') return kEscape;
  const int third = next(kRestOfKey);
  switch (third) {
    case 'A':
      return kUp;
    case 'B':
      return kDown;
    case 'H':
      return kHome;
    case 'F':
      return kEnd;
    default:
      break;
  }
  if (third >= '0' && third <= '9') {
    int last = third;
    while (last > 0 && last != '~') last = next(kRestOfKey);
    return third == '5' ? kPageUp : third == '6' ? kPageDown : third == '1' || third == '7' ? kHome
           : third == '4' || third == '8' ? kEnd : kEscape;
  }
  return kEscape;
}

bool FullScreen::take_redraw() {
  const bool wanted = saved.redraw != 0;
  saved.redraw = 0;
  return wanted;
}

void FullScreen::draw(const std::string& text) {
  output_.write("\x1b[H");
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    output_.write(rest.substr(0, end));
    output_.write("\x1b[K");
    if (end == std::string_view::npos) break;
    output_.write("\r\n");
    rest.remove_prefix(end + 1);
  }
  output_.write("\x1b[J");
  output_.flush();
}

}  // namespace spur::cli
