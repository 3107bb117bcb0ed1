// SPDX-License-Identifier: Apache-2.0
// For tests: doors that do nothing by themselves. Time passes when told, the journal completes when told, and what
// goes to agents is kept to be looked at.
#pragma once

#include <deque>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "io/agent_port.h"
#include "io/clock.h"
#include "io/journal.h"

namespace spur::ctld {

struct TestClock final : io::Clock {
  Time wall = from_unix_seconds(1'800'000'000);
  Duration mono{0};
  Time now() override { return wall; }
  Duration monotonic() override { return mono; }
  void pass(Duration by) { wall += by, mono += by; }
};

struct TestJournal final : io::Journal {
  struct Append {
    std::uint64_t index;
    std::string entry;
    Done done;
  };
  Recovery recovery;
  std::deque<Append> open;  // not durable yet
  std::vector<std::string> durable;
  Result<Recovery> recover() override { return recovery; }
  void append(std::uint64_t index, std::string entry, Done done) override {
    open.push_back({index, std::move(entry), std::move(done)});
  }
  void save_snapshot(std::uint64_t, std::string, Done done) override { done({}); }
  void complete(Status status = {}) {
    Append first = std::move(open.front());
    open.pop_front();
    if (status) durable.push_back(std::move(first.entry));
    first.done(std::move(status));
  }
  void complete_all() {
    while (!open.empty()) complete();
  }
};

struct TestAgents final : io::AgentPort {
  std::vector<std::pair<std::string, model::ControllerMessage>> sent;
  void send(std::string_view node, model::ControllerMessage message) override {
    sent.emplace_back(node, std::move(message));
  }
  std::vector<std::string> hung_up;
  void hang_up(std::string_view node) override { hung_up.emplace_back(node); }
  // Messages of one kind since the last call for any kind; forgets the others, too.
  template <class T>
  std::vector<std::pair<std::string, T>> take() {
    std::vector<std::pair<std::string, T>> out;
    for (auto& [node, message] : std::exchange(sent, {}))
      if (auto* wanted = std::get_if<T>(&message)) out.emplace_back(node, std::move(*wanted));
    return out;
  }
};

}  // namespace spur::ctld
