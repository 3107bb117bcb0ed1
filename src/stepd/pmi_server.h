// SPDX-License-Identifier: Apache-2.0
// The process manager's side of PMI-1 and PMI-2 on one node of a step: who the tasks are, and the pairs that they
// exchange. Pairs put on one node become visible on the others at a fence (a barrier, in PMI-1): when all tasks of
// the node have come to it, the node's new pairs go up; when those of all nodes have come back, the tasks go on.
// Pure: the caller moves the bytes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "stepd/pmi_wire.h"

namespace spur::stepd {

// What all tasks of the step have in common.
struct PmiStep {
  std::string name;  // of its key space: unique in the cluster
  std::uint32_t size = 0;
  std::string mapping;  // pmi_process_mapping
};

class PmiServer {
 public:
  // `ranks`: those of this node, by their number on the node.
  PmiServer(PmiStep step, std::vector<std::uint32_t> ranks);

  // What a task wrote. An error: it does not speak PMI, or used it beyond all measure; the step should end.
  Status receive(std::size_t task, std::string_view bytes);
  // Answers in order: which task, and what to write to it.
  struct Answer {
    std::size_t task;
    std::string bytes;
  };
  std::vector<Answer> take_answers() { return std::exchange(answers_, {}); }

  // Once all tasks of the node stand at the fence: the pairs to send up. Once per fence.
  std::optional<std::string> take_fence();
  // The pairs of all nodes, one take_fence() after the other, in any order. The tasks go on.
  Status pass_fence(std::string_view pairs);

  // The exit code with which a task asked to end the step; it may be set only once.
  struct Abort {
    std::uint32_t rank;
    std::int32_t code;
    std::string message;
  };
  const std::optional<Abort>& aborted() const { return aborted_; }

 private:
  struct Task {
    std::uint32_t rank = 0;
    PmiReader reader{};
    bool finished = false, at_fence = false;
    std::string fence_thread{};  // to be told back
  };
  // Who waits for an attribute of the node that nobody has put yet.
  struct Waiting {
    std::size_t task;
    std::string key, thread;
  };

  Status handle(std::size_t task, const PmiCommand& command);
  Status handle_1(std::size_t task, const PmiCommand& command);
  Status handle_2(std::size_t task, const PmiCommand& command);
  Status init(std::size_t task, const PmiCommand& command);
  Status put(std::string_view key, std::string_view value);
  Status put_node_attribute(std::size_t task, const PmiCommand& command);
  void get_node_attribute(std::size_t task, const PmiCommand& command);
  std::optional<std::string> job_attribute(std::string_view key) const;
  void abort(std::size_t task, std::string_view code, std::string_view message);
  void reply(std::size_t task, PmiCommand command);
  using Items = std::vector<std::pair<std::string, std::string>>;
  void reply_2(std::size_t task, const std::string& name, std::string_view thread, Items items);

  PmiStep step_;
  std::vector<Task> tasks_;
  std::map<std::string, std::string, std::less<>> pairs_, new_pairs_, node_attributes_;
  std::size_t bytes_ = 0;
  bool fence_sent_ = false;
  std::vector<Waiting> waiting_;
  std::vector<Answer> answers_;
  std::optional<Abort> aborted_;
};

}  // namespace spur::stepd
