// SPDX-License-Identifier: Apache-2.0
#include "cli/squeue_report.h"

#include <algorithm>
#include <set>

#include "cli/squeue_alike.h"
#include "cli/terminal.h"

namespace spur::cli {
namespace {

Color color_of(const model::Job& job) {
  using enum model::JobState;
  if (job.flags & model::kCompleting) return Color::Cyan;
  if (job.state == Running) return Color::Green;
  if (job.state == Pending) return job.priority == 0 ? Color::Dim : Color::Yellow;
  if (job.state == Suspended) return Color::Blue;
  return job.state == Completed ? Color::Plain : Color::Red;
}

void append_cell(const text::FormatPiece& piece, std::string_view value, const JobLine& job, Style style,
                 std::string& text) {
  const std::size_t start = text.size();
  const JobColumn* column = piece.column == text::FormatPiece::kText ? nullptr : &job_columns()[piece.column];
  const Cut cut = column ? column->cut : Cut::Both;
  text.append(value);
  text::finish_cell(text, start, piece, cut == Cut::Both || cut == Cut::Value);
  if (style.colors && column && column->letter == 'T')
    text.replace(start, std::string::npos, colored(std::string_view(text).substr(start), color_of(*job.job)));
}

std::string cell_value(const text::FormatPiece& piece, const JobLine& job) {
  return piece.column == text::FormatPiece::kText ? std::string() : job_columns()[piece.column].value(job);
}

}  // namespace

std::string header_text(const text::Format& format) {
  std::string line;
  for (const text::FormatPiece& piece : format.pieces) {
    const std::size_t start = line.size();
    Cut cut = Cut::Both;
    if (piece.column != text::FormatPiece::kText) {
      line.append(job_columns()[piece.column].title);
      cut = job_columns()[piece.column].cut;
    }
    text::finish_cell(line, start, piece, cut == Cut::Both || cut == Cut::Title);
  }
  return line;
}

void append_line(const text::Format& format, const JobLine& job, Style style, std::string& text) {
  for (const text::FormatPiece& piece : format.pieces) append_cell(piece, cell_value(piece, job), job, style, text);
}

std::map<std::uint32_t, ArrayProgress> progress_of(const wire::JobTable& table) {
  std::map<std::uint32_t, ArrayProgress> arrays;
  for (const model::JobPtr& job : table.jobs) {
    if (!job->array_job || !job->spec->array) continue;
    ArrayProgress& array = arrays[job->array_job.value];
    array.total = job->spec->array->tasks.size();
    if (job->is_array_rest()) array.waiting += job->array_pending->size();
    else if (job->state == model::JobState::Pending) ++array.waiting;
    else if (!model::is_final(job->state)) ++array.running;
  }
  return arrays;
}

void show_progress(std::vector<JobLine>& lines, const std::map<std::uint32_t, ArrayProgress>& arrays) {
  std::set<std::uint32_t> shown;
  for (JobLine& line : lines) {
    const auto array = arrays.find(line.job->array_job.value);
    if (array != arrays.end() && shown.insert(array->first).second) line.progress = &array->second;
  }
}

// Most cells say what the one above says.
void QueueReport::append(const JobLine& line, const wire::JobFields& in_common) {
  if (style_.colors) return append_line(format_, line, style_, line_);
  if (above_.empty())
    for (const text::FormatPiece& piece : format_.pieces)
      above_.push_back({piece.column == text::FormatPiece::kText ? nullptr : &job_columns()[piece.column], {}, {}});
  for (std::size_t i = 0; i < above_.size(); ++i) {
    const text::FormatPiece& piece = format_.pieces[i];
    Cell& above = above_[i];
    const bool alike = above.column && is_alike(*above.column, in_common);
    if (std::string value; !alike && ((value = cell_value(piece, line)) != above.value || above.text.empty())) {
      above.text.clear();
      append_cell(piece, value, line, style_, above.text);
      above.value = std::move(value);
    }
    line_ += above.text;
  }
}

void QueueReport::take(const std::vector<JobLine>& lines) {
  if (order_ == nullptr) return;
  const JobLine* above = nullptr;
  for (const JobLine& line : lines) {
    const wire::JobFields in_common = above ? fields_in_common(*above, line) : wire::JobFields{};
    above = &line;
    order_->add(line, in_common);
    line_.clear();
    append(line, in_common);
    line_.push_back('\n');
    if (blocks_.empty() || blocks_.back().size() + line_.size() > blocks_.back().capacity())
      blocks_.emplace_back().reserve(std::max(kBlock, line_.size()));
    std::string& block = blocks_.back();
    lines_.emplace_back(block.data() + block.size(), line_.size());
    block += line_;
  }
}

void QueueReport::write(Output& out) {
  if (order_ == nullptr) return;
  for (const std::size_t line : order_->order()) out.write(lines_[line]);
}

}  // namespace spur::cli
