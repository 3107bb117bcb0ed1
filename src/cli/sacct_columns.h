// SPDX-License-Identifier: Apache-2.0
// The fields of sacct: names, widths and what they show of a job or of one of its steps. Those of Slurm 22.05, and
// behind them some of later versions that clients ask for.
#pragma once

#include <cstdint>
#include <expected>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/time.h"
#include "spur/v1/accounting.pb.h"

namespace spur::cli {

// Numbers of the catalogue by name.
struct SacctIds {
  std::map<std::tuple<std::string, std::string, std::string>, std::uint32_t> associations;  // account, user, partition
  std::map<std::string, std::uint32_t> qos;
  std::map<std::pair<std::string, std::string>, std::uint32_t> wckeys;  // name, user
  std::uint32_t association(const v1::AcctJob& job) const;              // 0: none
};

// How values are shown.
struct SacctStyle {
  Time now;
  bool no_convert = false;
  char unit = 0;               // --units: K, M, G, T, P
  bool allocations = false;    // -X: without steps, and so without what they used
  Time cut_from, cut_until;    // -T: times are cut to the window
  std::string_view cluster{};  // of the row
  const SacctIds* ids = nullptr;  // null: nobody asks for numbers
};

struct SacctLine {
  const v1::AcctJob& job;
  const v1::AcctStep* step;  // null: the job itself
  const SacctStyle& style;
};

struct SacctColumn {
  std::string_view name;
  int width;  // negative: to the left
  std::string (*value)(const SacctLine&);
};
std::span<const SacctColumn> sacct_columns();

struct ChosenSacctColumn {
  const SacctColumn* column;
  int width;
};
// "jobid,state%20"; "ALL". The error is the word that names no field.
std::expected<std::vector<ChosenSacctColumn>, std::string> choose_sacct_columns(std::string_view format);

// "8_3", "8+1", "8_[1-5%2]"; with the step behind it ("8.batch").
std::string sacct_job_id(const v1::AcctJob& job);
std::string sacct_step_name(std::uint32_t step);  // "batch", "extern", "0"
std::string sacct_state(const v1::AcctJob& job);  // "COMPLETED", "CANCELLED by 1000"
std::string sacct_flags(const v1::AcctJob& job);  // "SchedMain,StartReceived"
std::string sacct_tres(const google::protobuf::RepeatedPtrField<v1::AcctTres>& list, const SacctStyle& style);
seconds sacct_elapsed(const SacctLine& line);

}  // namespace spur::cli
