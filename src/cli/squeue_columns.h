// SPDX-License-Identifier: Apache-2.0
// The columns squeue can show, in one table: letter for -o, name for -O, title, the value's text, and what that is made
// from. Adding a column is adding a row; one that says too little about what it reads is found by squeue_fields_test.
// Titles and values are Slurm's, letter for letter.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cli/display.h"
#include "wire/controller_client.h"

namespace spur::cli {

// How far an array is, as far as its jobs are in the list.
struct ArrayProgress {
  std::uint64_t total = 0, waiting = 0, running = 0;  // the rest has ended
};
// "#####>>>..... 40%": what has ended, runs and waits.
std::string progress_bar(const ArrayProgress& progress, std::size_t width);

// One line of squeue: a job record, or one task of an array's rest (-r).
struct JobLine {
  const model::Job* job = nullptr;
  const wire::JobTable* table = nullptr;
  Time expected_start;
  Time preemptable{};                          // from when on it may be preempted; not set: not known
  const std::string* planned_nodes = nullptr;  // where it is expected to start; null: not known
  std::optional<std::uint32_t> task;           // set where the line stands for one task of an array's rest
  const std::string* partition = nullptr;      // -P: the one of several that the line is about; null: all
  bool convert = true;                         // units of memory may change (not with --noconvert)
  std::size_t longest_array = 64;              // SLURM_BITSTR_LEN
  const ArrayProgress* progress = nullptr;     // on one line of each array, where it is wanted
};

// What is shortened to the width that a format gives. Slurm cuts all but spans of time, and some titles.
enum class Cut : unsigned char { Both, Title, Value, Neither };

struct JobColumn {
  char letter;       // 0: only by name
  const char* name;  // for -O, any case; null: only by letter
  const char* title;
  std::string (*value)(const JobLine& line);
  wire::JobFields reads;  // what `value` looks at, besides kLineFields: the controller sends nothing else
  Cut cut = Cut::Both;
};
// What a list's lines and their order are made of, whatever the columns.
inline constexpr wire::JobFields kLineFields{wire::JobField::id,         wire::JobField::array_job,
                                             wire::JobField::array_task, wire::JobField::array_pending,
                                             wire::JobField::hold,       wire::SpecField::array};

std::span<const JobColumn> job_columns();
const JobColumn* find_job_column(char letter);
const JobColumn* find_job_column(std::string_view name);

// "8_[1-5%2]", "8_3", "8", with the line's own task where it has one.
std::string line_id(const JobLine& line);

}  // namespace spur::cli
