// SPDX-License-Identifier: Apache-2.0
// The screen of spur top as text: what is known of the cluster and its jobs, and what the user wants to see of it.
// Decides nothing and touches nothing, so that a test can look at a screen.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/context.h"
#include "cli/terminal.h"

namespace spur::cli {

enum class TopSort : unsigned char { State, Id, User, Partition, Name, Time, Cpus };
inline constexpr int kTopSorts = 7;

struct TopState {
  wire::JobTable jobs;
  std::optional<wire::ClusterTable> cluster;
  bool known = false;               // the list of jobs has come
  std::optional<std::string> lost;  // the controller is away
  Time now;

  TopSort sort = TopSort::State;
  bool backwards = false;
  std::string filter;           // part of id, user, partition, name or state
  std::optional<Uid> user;      // only his
  std::optional<bool> waiting;  // only those that wait, or only those that do not
  std::size_t marked = 0, first = 0;  // the marked line, and the first on the screen

  std::string question;  // at the bottom, instead of the keys
  bool help = false;
};

// The jobs that are shown, in order.
std::vector<std::size_t> top_lines(const TopState& state);
// Keeps the mark inside the list and on the screen.
void keep_mark(TopState& state, std::size_t lines, ScreenSize size);
std::string top_screen(const TopState& state, ScreenSize size, Style style);
// How many lines of jobs fit.
int top_room(const TopState& state, ScreenSize size);

// "[#####.....]"; `part` of `whole` filled.
std::string bar(std::uint64_t part, std::uint64_t whole, int width);

}  // namespace spur::cli
