// SPDX-License-Identifier: Apache-2.0
// spur top: cluster and jobs on the whole screen, kept up to date by the controller. Jobs come as they change; nodes
// are asked for every few seconds. top_screen.h says how it looks.
#include <unistd.h>

#include "cli/commands.h"
#include "cli/job_target.h"
#include "cli/live_jobs.h"
#include "cli/options.h"
#include "cli/top_screen.h"
#include "text/printable.h"

namespace spur::cli {
namespace {

constexpr Duration kNodesEvery = seconds(2);

struct Top {
  bool help = false, version = false;
};
template <bool Top::* Field>
OptionStatus flag(Top& t, std::string_view) {
  t.*Field = true;
  return {};
}
constexpr Option<Top> kOptions[] = {
    {{"version", 'V', Takes::Nothing, nullptr, "print the version"}, flag<&Top::version>},
    {{"help", 'h', Takes::Nothing, nullptr, "show this help message"}, flag<&Top::help>},
};

class TopView {
 public:
  TopView(Context& context, Controller& asked, LiveJobs& jobs, FullScreen& screen)
      : context_(context), asked_(asked), jobs_(jobs), screen_(screen) {}

  // Until the user quits; what went wrong otherwise.
  std::optional<Error> run() {
    for (;;) {
      LiveJobs::Look look = jobs_.look();
      if (look.failed) return look.failed;
      state_.jobs = std::move(look.table);
      state_.known = look.known;
      state_.lost = look.lost;
      state_.now = std::max(context_.now(), state_.jobs.as_of);
      if (!state_.lost && state_.now - nodes_at_ >= kNodesEvery) ask_nodes();
      draw();
      const Readable ready = wait_readable(context_.input, jobs_.fd(), 1000);
      screen_.take_redraw();
      if (!ready.first) continue;
      for (int key = screen_.key(); key != 0; key = screen_.key())
        if (key == -1 || !on_key(key)) return std::nullopt;
    }
  }

 private:
  void draw() {
    const ScreenSize size = screen_size(context_.out);
    keep_mark(state_, top_lines(state_).size(), size);
    screen_.draw(top_screen(state_, size, context_.style));
  }

  void ask_nodes() {
    nodes_at_ = state_.now;
    if (auto cluster = asked_.cluster()) state_.cluster = *std::move(cluster);
    // Nothing is known of what they do.
    if (state_.cluster && state_.cluster->nodes_denied) state_.cluster->nodes.clear();
  }

  // False: quit.
  bool on_key(int key) {
    if (mode_ == Mode::Filter) return on_filter_key(key), true;
    if (mode_ == Mode::Cancel) return on_answer(key), true;
    if (!state_.question.empty()) state_.question.clear();
    const std::size_t lines = top_lines(state_).size();
    const auto page = static_cast<std::size_t>(top_room(state_, screen_size(context_.out)));
    std::size_t& marked = state_.marked;
    switch (key) {
      case 'q':
      case 'Q':
      case 4:
        return false;
      case FullScreen::kUp:
      case 'k':
        marked -= marked > 0 ? 1 : 0;
        break;
      case FullScreen::kDown:
      case 'j':
        marked += 1;
        break;
      case FullScreen::kPageUp:
        marked -= std::min(marked, page);
        break;
      case FullScreen::kPageDown:
        marked += page;
        break;
      case FullScreen::kHome:
        marked = 0;
        break;
      case FullScreen::kEnd:
        marked = lines;
        break;
      default:
        on_command(key);
    }
    return true;
  }

  void on_command(int key) {
    switch (key) {
      case 's':
        state_.sort = static_cast<TopSort>((static_cast<int>(state_.sort) + 1) % kTopSorts);
        break;
      case 'S':
        state_.backwards = !state_.backwards;
        break;
      case '/':
        mode_ = Mode::Filter;
        state_.question = "filter: " + text::printable(state_.filter);
        break;
      case 'u':
        state_.user = state_.user ? std::nullopt : std::optional(Uid(::geteuid()));
        break;
      case 'p':
        state_.waiting = true;
        break;
      case 'r':
        state_.waiting = false;
        break;
      case 'a':
        state_.waiting.reset();
        state_.user.reset();
        state_.filter.clear();
        break;
      case 'h':
      case '?':
        state_.help = !state_.help;
        break;
      case FullScreen::kEscape:
        state_.help = false;
        break;
      case 'c':
        ask_to_cancel();
        break;
      default:
        break;
    }
  }

  void on_filter_key(int key) {
    if (key == '\n' || key == '\r' || key == FullScreen::kEscape) {
      if (key == FullScreen::kEscape) state_.filter.clear();
      mode_ = Mode::List;
      state_.question.clear();
      return;
    }
    if ((key == 127 || key == 8) && !state_.filter.empty()) state_.filter.pop_back();
    if (key >= ' ' && key < 127) state_.filter.push_back(static_cast<char>(key));
    state_.question = "filter: " + text::printable(state_.filter);
  }

  void ask_to_cancel() {
    const auto lines = top_lines(state_);
    if (state_.marked >= lines.size()) return;
    const model::Job& job = *state_.jobs.jobs[lines[state_.marked]];
    to_cancel_ = {job.id, std::nullopt};
    if (job.array_task) to_cancel_ = *parse_job_target(model::display_id(job));
    mode_ = Mode::Cancel;
    state_.question = fmt::format("cancel job {} ({})? y/n", model::display_id(job), text::printable(job.spec->name));
  }

  void on_answer(int key) {
    mode_ = Mode::List;
    state_.question.clear();
    if (key != 'y' && key != 'Y') return;
    if (const Status done = asked_.cancel(to_cancel_, 0, false, false); !done)
      state_.question = "not cancelled: " + text::printable(words(done.error()));
  }

  enum class Mode : unsigned char { List, Filter, Cancel };
  Context& context_;
  Controller& asked_;
  LiveJobs& jobs_;
  FullScreen& screen_;
  TopState state_;
  Time nodes_at_;
  Mode mode_ = Mode::List;
  state::JobTarget to_cancel_;
};

}  // namespace

int cmd_top(Context& context) {
  Top options;
  const auto rest = read_line<Top>(context, kOptions, options, Order::Anywhere, 1);
  if (!rest) return rest.error();
  if (options.version) return print_version(context);
  if (options.help || !rest->empty()) {
    (options.help ? context.out : context.err)
        .write("Usage: spur top [OPTIONS]\n" + help_text(rows_of<Top>(kOptions)));
    return options.help ? 0 : 1;
  }
  if (!is_terminal(context.out) || ::isatty(context.input) != 1) {
    context.error("this needs a terminal; squeue --watch writes changes as lines");
    return 1;
  }
  const auto watched = context.controller();
  auto asked = context.connect();  // of its own: the other one is busy
  if (!watched || !asked) {
    context.error("{}", words(watched ? asked.error() : watched.error()));
    return 1;
  }
  std::optional<Error> failed;
  {
    LiveJobs jobs(**watched, {}, true);
    FullScreen screen(context.out, context.input);
    failed = TopView(context, **asked, jobs, screen).run();
  }
  if (!failed) return 0;
  context.error("{}", words(*failed));
  return 1;
}

}  // namespace spur::cli
