// SPDX-License-Identifier: Apache-2.0
#include "replay/picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <queue>

#include "replay/lanes.h"
#include "replay/metrics.h"
#include "text/date.h"
#include "text/time_limit.h"

namespace spur::replay {
namespace {

constexpr double kLeft = 80, kWidth = 1100, kRight = 20;
constexpr std::size_t kMostBoxes = 20'000;  // a browser bears these; the smallest jobs are left out

struct Panel {
  double top, height;
};
constexpr Panel kJobs{50, 420}, kBusy{510, 130}, kWaiting{680, 100};
constexpr double kHeight = 830;

// Text of unknown origin inside XML.
std::string xml(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    if (c == '&')
      safe += "&amp;";
    else if (c == '<')
      safe += "&lt;";
    else if (c == '>')
      safe += "&gt;";
    else
      safe += c;
  }
  return safe;
}

class Svg {
 public:
  explicit Svg(double height) {
    fmt::format_to(
        std::back_inserter(text_),
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:.0f} {:.0f}\" font-family=\"sans-serif\" "
        "font-size=\"12\" fill=\"#222\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
        kLeft + kWidth + kRight, height);
  }
  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
  }
  void label(double x, double y, std::string_view anchor, std::string_view words) {
    add("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor, xml(words));
  }
  void frame(const Panel& panel, std::string_view title, std::string_view most) {
    add("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"none\" stroke=\"#999\"/>\n", kLeft, panel.top,
        kWidth, panel.height);
    label(kLeft, panel.top - 6, "start", title);
    label(kLeft - 6, panel.top + 10, "end", most);
    label(kLeft - 6, panel.top + panel.height, "end", "0");
  }
  // A filled curve; values between 0 and 1, one per pixel column.
  void area(const Panel& panel, const std::vector<double>& values, std::string_view color) {
    add("<path fill=\"{}\" d=\"M{:.0f},{:.1f}", color, kLeft, panel.top + panel.height);
    for (std::size_t x = 0; x < values.size(); ++x)
      add("L{:.0f},{:.1f}", kLeft + static_cast<double>(x), panel.top + panel.height * (1 - values[x]));
    add("L{:.0f},{:.1f}Z\"/>\n", kLeft + static_cast<double>(values.size() - 1), panel.top + panel.height);
  }
  std::string finish() && {
    text_ += "</svg>\n";
    return std::move(text_);
  }

 private:
  std::string text_;
};

struct Axis {
  Time from;
  double seconds = 1;
  double x(Time when) const { return kLeft + kWidth * std::chrono::duration<double>(when - from).count() / seconds; }
};

void draw_axis(Svg& svg, const Axis& axis, double bottom) {
  constexpr int kMarks = 6;
  for (int i = 0; i <= kMarks; ++i) {
    const double share = static_cast<double>(i) / kMarks, x = kLeft + kWidth * share;
    const Time when = axis.from + std::chrono::round<Duration>(std::chrono::duration<double>(axis.seconds * share));
    svg.add("<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\" stroke=\"#ddd\"/>\n", x, kJobs.top, bottom);
    const char* anchor = i == 0 ? "start" : i == kMarks ? "end" : "middle";
    svg.label(x, bottom + 18, anchor, text::format_date(when).substr(0, axis.seconds > 3e5 ? 10 : 16));
  }
}

std::string color_of(const ReplayJob& job) {
  // Neighbouring numbers get distant hues.
  const std::int64_t number = job.user >= 0 ? job.user : job.processors;
  return fmt::format("hsl({},60%,{}%)", number * 137 % 360, 45 + number * 7 % 20);
}

struct Box {
  std::size_t job;
  Piece piece;
  double size;
};

// Where each job is drawn: the lowest processors that were free when it started.
std::vector<Box> lay_out(const Workload& workload, const Outcome& outcome, Time end) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < outcome.jobs.size(); ++i)
    if (is_set(outcome.jobs[i].start)) order.push_back(i);
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return outcome.jobs[i].start; });
  Lanes lanes(workload.machine.processors);
  using Running = std::pair<Time, std::size_t>;
  std::priority_queue<Running, std::vector<Running>, std::greater<>> running;
  std::vector<std::vector<Piece>> pieces(outcome.jobs.size());
  std::vector<Box> boxes;
  for (const std::size_t job : order) {
    const JobOutcome& got = outcome.jobs[job];
    for (; !running.empty() && running.top().first <= got.start; running.pop()) {
      lanes.give_back(pieces[running.top().second]);
      pieces[running.top().second] = {};
    }
    pieces[job] = lanes.take(workload.jobs[job].processors);
    running.push({got.end, job});
    const double length = std::chrono::duration<double>(std::min(got.end, end) - got.start).count();
    for (const Piece& piece : pieces[job]) boxes.push_back({job, piece, length * piece.count});
  }
  if (boxes.size() > kMostBoxes) {
    const auto last = boxes.begin() + kMostBoxes;
    std::ranges::nth_element(boxes, last, std::greater<>(), &Box::size);
    boxes.resize(kMostBoxes);
    std::ranges::sort(boxes, {}, [](const Box& box) { return std::pair(box.job, box.piece.first); });
  }
  return boxes;
}

void draw_jobs(Svg& svg, const Workload& workload, const Outcome& outcome, const Axis& axis) {
  const double per_processor = kJobs.height / workload.machine.processors;
  svg.add("<g stroke=\"white\" stroke-width=\"0.2\">\n");
  for (const Box& box : lay_out(workload, outcome, outcome.ended)) {
    const ReplayJob& job = workload.jobs[box.job];
    const JobOutcome& got = outcome.jobs[box.job];
    const double x = axis.x(got.start), right = axis.x(std::min(got.end, outcome.ended));
    const double height = per_processor * box.piece.count;
    svg.add("<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"{}\">", x,
            kJobs.top + kJobs.height - per_processor * (box.piece.first + box.piece.count), std::max(0.3, right - x),
            std::max(0.3, height), color_of(job));
    svg.add("<title>job {}, {} processors, waited {}, ran {}</title></rect>\n", job.trace_id, job.processors,
            text::format_elapsed(std::chrono::floor<seconds>(got.start - job.submit)),
            text::format_elapsed(std::chrono::floor<seconds>(got.end - got.start)));
  }
  svg.add("</g>\n");
}

// The mean of a step curve over each pixel column, as a share of `most`.
template <class Value>
std::vector<double> columns(const std::vector<Load>& curve, const Axis& axis, double most, Value value) {
  std::vector<double> sums(static_cast<std::size_t>(kWidth), 0.0);
  for (std::size_t i = 0; i + 1 < curve.size(); ++i) {
    double from = axis.x(curve[i].from) - kLeft;
    const double to = std::min(axis.x(curve[i + 1].from) - kLeft, kWidth);
    while (from < to) {
      const auto column = static_cast<std::size_t>(from);
      if (column >= sums.size()) break;
      const double next = std::min(to, std::floor(from) + 1);
      sums[column] += (next - from) * value(curve[i]) / most;
      from = next;
    }
  }
  return sums;
}

}  // namespace

std::string draw(const Workload& workload, const Outcome& outcome) {
  Svg svg(kHeight);
  const std::vector<Load> curve = load_curve(workload, outcome);
  if (curve.size() < 2) return std::move(svg).finish();
  Axis axis{curve.front().from, std::chrono::duration<double>(curve.back().from - curve.front().from).count()};
  axis.seconds = std::max(axis.seconds, 1.0);
  std::uint32_t most_waiting = 1;
  for (const Load& load : curve) most_waiting = std::max(most_waiting, load.waiting);
  svg.add("<text x=\"{}\" y=\"22\" font-size=\"16\">{}</text>\n", kLeft,
          xml(workload.name.empty() ? "Schedule" : workload.name));
  draw_axis(svg, axis, kWaiting.top + kWaiting.height);
  draw_jobs(svg, workload, outcome, axis);
  svg.area(kBusy, columns(curve, axis, workload.machine.processors, [](const Load& load) { return load.processors; }),
           "#3b7dd8");
  svg.area(kWaiting, columns(curve, axis, most_waiting, [](const Load& load) { return load.waiting; }), "#d8873b");
  svg.frame(kJobs, "jobs", fmt::format("{}", workload.machine.processors));
  svg.frame(kBusy, "processors in use", "100 %");
  svg.frame(kWaiting, "jobs waiting", fmt::format("{}", most_waiting));
  return std::move(svg).finish();
}

std::string draw(const GpuFill& fill) {
  constexpr Panel kPanel{50, 420};
  Svg svg(kPanel.top + kPanel.height + 50);
  svg.add("<text x=\"{}\" y=\"22\" font-size=\"16\">GPUs allocated as requests arrive</text>\n", kLeft);
  const double most = std::max(fill.requested, 1.0), capacity = std::max(fill.capacity, 1.0);
  std::vector<double> values(static_cast<std::size_t>(kWidth), 0.0);
  std::size_t at = 0;
  for (std::size_t x = 0; x < values.size(); ++x) {
    while (at + 1 < fill.curve.size() && fill.curve[at].requested < most * static_cast<double>(x) / kWidth) ++at;
    if (!fill.curve.empty()) values[x] = fill.curve[at].allocated / capacity;
  }
  svg.area(kPanel, values, "#3b7dd8");
  // What nobody was turned away for.
  svg.add("<line x1=\"{}\" y1=\"{}\" x2=\"{:.1f}\" y2=\"{}\" stroke=\"#222\" stroke-dasharray=\"4\"/>\n", kLeft,
          kPanel.top + kPanel.height, kLeft + kWidth * capacity / std::max(most, capacity), kPanel.top);
  svg.frame(kPanel, fmt::format("{:.2f} % of {:.0f} GPUs at the end", fill.allocated_percent(), fill.capacity),
            "100 %");
  svg.label(kLeft + kWidth, kPanel.top + kPanel.height + 18, "end",
            fmt::format("{:.0f} GPUs asked for", fill.requested));
  return std::move(svg).finish();
}

}  // namespace spur::replay
