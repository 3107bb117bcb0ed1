// SPDX-License-Identifier: Apache-2.0
#include "sim/story.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "sim/random.h"

namespace spur::sim {
namespace {

struct KindRow {
  FaultKind kind;
  std::string_view name;
  unsigned one, three;  // how often, with one controller and with three
};
constexpr KindRow kKinds[] = {
    {FaultKind::CrashController, "crash-controller", 36, 14},
    {FaultKind::CrashHost, "crash-host", 0, 6},
    {FaultKind::StopController, "stop-controller", 0, 8},
    {FaultKind::PauseController, "pause-controller", 6, 26},
    {FaultKind::WipeController, "wipe-controller", 0, 3},
    {FaultKind::DiskFull, "disk-full", 0, 3},
    {FaultKind::CutControllers, "cut-controllers", 0, 5},
    {FaultKind::IsolateController, "isolate-controller", 0, 10},
    {FaultKind::CutMember, "cut-member", 0, 10},
    {FaultKind::CutClients, "cut-clients", 2, 4},
    {FaultKind::SlowMember, "slow-member", 0, 10},
    {FaultKind::StallStore, "stall-store", 0, 5},
    {FaultKind::FullStore, "full-store", 0, 3},
    {FaultKind::CrashAgent, "crash-agent", 18, 8},
    {FaultKind::RebootNode, "reboot-node", 5, 3},
    {FaultKind::PauseAgent, "pause-agent", 6, 6},
    {FaultKind::CutNode, "cut-node", 26, 8},
    {FaultKind::CutWay, "cut-way", 4, 8},
    {FaultKind::JumpClock, "jump-clock", 5, 5},
    {FaultKind::EditConfig, "edit-config", 4, 4},
};

struct NumberRow {
  std::string_view name;
  std::uint64_t Story::*value;
};
constexpr NumberRow kNumbers[] = {
    {"seed", &Story::seed},
    {"steps", &Story::steps},
    {"controllers", &Story::controllers},
    {"nodes", &Story::nodes},
    {"preempts", &Story::preempts},
    {"shares", &Story::shares},
    {"looks", &Story::looks},
    {"lost", &Story::lost},
    {"repeated", &Story::repeated},
    {"late", &Story::late},
    {"lost_answers", &Story::lost_answers},
    {"late_requests", &Story::late_requests},
    {"failover_us", &Story::failover_us},
    {"piece_bytes", &Story::piece_bytes},
    {"snapshot_bytes", &Story::snapshot_bytes},
};

// Clients do something every second; no fault comes much later than they are through.
constexpr std::uint64_t kFaultsPerStep = 3'000'000;

FaultKind draw_kind(Random& random, bool three) {
  unsigned all = 0;
  for (const KindRow& row : kKinds) all += three ? row.three : row.one;
  auto dice = static_cast<unsigned>(random.between(0, all - 1));
  for (const KindRow& row : kKinds) {
    const unsigned share = three ? row.three : row.one;
    if (dice < share) return row.kind;
    dice -= share;
  }
  return FaultKind::CrashController;
}

Fault draw_fault(Random& random, const Story& story, Duration at) {
  Fault fault{.at = at, .kind = draw_kind(random, story.controllers > 1)};
  // Mostly short, sometimes longer than any lease.
  fault.lasts =
      Duration(random.chance(700) ? random.between(1'000, 3'000'000) : random.between(3'000'000, 70'000'000));
  const std::uint64_t controller = random.between(0, story.controllers - 1);
  const std::uint64_t node = random.between(0, story.nodes - 1);
  const auto amount = static_cast<std::int64_t>(random.next() >> 2);
  switch (fault.kind) {
    case FaultKind::PauseAgent:
      fault.a = node;
      // What it finds in its socket is only of interest when its node was given up meanwhile.
      if (amount % 2 == 0) fault.lasts = std::max<Duration>(fault.lasts, seconds(5 + amount / 2 % 65));
      break;
    case FaultKind::CrashAgent:
    case FaultKind::RebootNode:
    case FaultKind::CutNode: fault.a = node; break;
    case FaultKind::CutWay: fault.a = node, fault.b = controller, fault.amount = 1 + amount % 3; break;
    case FaultKind::CutControllers:
      fault.a = controller;
      fault.b = (controller + 1) % story.controllers;
      break;
    case FaultKind::JumpClock: {
      const std::int64_t furthest = amount % 5 == 0 ? 3'600'000'000 : 90'000'000;
      fault.a = controller;
      fault.amount = amount / 5 % (2 * furthest) - furthest;
      break;
    }
    case FaultKind::SlowMember:
      fault.a = controller;
      fault.amount = amount % static_cast<std::int64_t>(story.failover_us);
      break;
    case FaultKind::StallStore:
    case FaultKind::FullStore: fault.lasts = std::min<Duration>(fault.lasts, seconds(20)); break;
    case FaultKind::EditConfig: fault.amount = amount % 1000; break;
    default: fault.a = controller; break;
  }
  return fault;
}

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t out = 0;
  const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (bad != std::errc{} || end != text.data() + text.size()) return {};
  return out;
}

std::vector<std::string_view> words(std::string_view line) {
  std::vector<std::string_view> out;
  while (!line.empty()) {
    const std::size_t space = std::min(line.find(' '), line.size());
    if (space > 0) out.push_back(line.substr(0, space));
    line.remove_prefix(std::min(space + 1, line.size()));
  }
  return out;
}

// "at MICROSECONDS KIND A B lasts MICROSECONDS amount NUMBER"
std::optional<Fault> parse_fault(const std::vector<std::string_view>& line) {
  if (line.size() != 9 || line[5] != "lasts" || line[7] != "amount") return {};
  const auto* row = std::ranges::find(kKinds, line[2], &KindRow::name);
  const bool negative = line[8].starts_with('-');
  const auto at = number(line[1]), a = number(line[3]), b = number(line[4]), lasts = number(line[6]),
             amount = number(line[8].substr(negative ? 1 : 0));
  if (row == std::end(kKinds) || !at || !a || !b || !lasts || !amount) return {};
  const auto signed_amount = static_cast<std::int64_t>(*amount);
  return Fault{Duration(static_cast<std::int64_t>(*at)), row->kind, *a, *b, Duration(static_cast<std::int64_t>(*lasts)),
               negative ? -signed_amount : signed_amount};
}

bool possible(const Story& story) {
  if (story.controllers != 1 && story.controllers != 3) return false;
  if (story.nodes < 1 || story.nodes > 100 || story.steps < 1) return false;
  if (story.failover_us < 1000 || story.piece_bytes < 1) return false;
  return std::ranges::all_of(story.faults, [&](const Fault& fault) {
    const bool of_node = fault.kind == FaultKind::CrashAgent || fault.kind == FaultKind::RebootNode ||
                         fault.kind == FaultKind::PauseAgent || fault.kind == FaultKind::CutNode ||
                         fault.kind == FaultKind::CutWay;
    return fault.a < (of_node ? story.nodes : story.controllers) && fault.b < story.controllers;
  });
}

}  // namespace

Story make_story(std::uint64_t seed, std::uint64_t steps) {
  Random random(seed * 0x9e3779b97f4a7c15u + 7);
  Story story;
  story.seed = seed;
  // Small worlds find most bugs, sooner; a few are large enough for queues and snapshots to grow.
  const std::uint64_t size = random.chance(30) ? 150 : random.between(10, 45);
  story.steps = steps > 0 ? steps : size;
  story.controllers = random.chance(650) ? 3 : 1;
  story.nodes = random.between(1, 6);
  story.preempts = random.chance(250);
  if (random.chance(150)) story.lost = story.repeated = story.late = 0;  // a perfect network
  if (random.chance(200)) story.lost = story.repeated = 60, story.late = 150;
  if (story.controllers > 1 && random.chance(700)) {
    story.lost_answers = random.between(1, 40);
    story.late_requests = random.between(0, 15);
  }
  if (story.controllers > 1 && random.chance(500)) story.looks = 500;
  story.failover_us = random.between(1'500'000, 6'000'000);
  if (random.chance(400)) story.piece_bytes = random.between(100, 2'000);
  if (random.chance(700)) story.snapshot_bytes = random.between(300, 6'000);
  const std::uint64_t pace = random.chance(300) ? 20'000'000 : random.chance(300) ? 2'000'000 : 7'000'000;
  const std::uint64_t end = kFaultsPerStep * story.steps;
  for (std::uint64_t at = random.between(1'000, pace); at < end; at += random.between(1'000, pace))
    story.faults.push_back(draw_fault(random, story, Duration(static_cast<std::int64_t>(at))));
  if (random.chance(250)) story.shares = random.between(2, 4);
  return story;
}

std::string print_story(const Story& story) {
  std::string out;
  for (const NumberRow& row : kNumbers) out += fmt::format("{} {}\n", row.name, story.*row.value);
  for (const Fault& fault : story.faults)
    out += fmt::format("at {} {} {} {} lasts {} amount {}\n", fault.at.count(),
                       std::ranges::find(kKinds, fault.kind, &KindRow::kind)->name, fault.a, fault.b,
                       fault.lasts.count(), fault.amount);
  return out;
}

Result<Story> parse_story(std::string_view text) {
  Story story;
  for (std::size_t line_number = 1; !text.empty(); ++line_number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.starts_with('#')) continue;
    const auto bad = [&] {
      return fail(ErrorCode::InvalidArgument, fmt::format("line {} of the story: \"{}\"", line_number, line));
    };
    const auto parts = words(line);
    if (!parts.empty() && parts[0] == "at") {
      const auto fault = parse_fault(parts);
      if (!fault) return bad();
      story.faults.push_back(*fault);
      continue;
    }
    const auto* row = parts.size() == 2 ? std::ranges::find(kNumbers, parts[0], &NumberRow::name) : std::end(kNumbers);
    const auto value = parts.size() == 2 ? number(parts[1]) : std::nullopt;
    if (row == std::end(kNumbers) || !value) return bad();
    story.*row->value = *value;
  }
  if (!possible(story)) return fail(ErrorCode::InvalidArgument, "the story names what is not in its world");
  return story;
}

}  // namespace spur::sim
