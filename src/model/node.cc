// SPDX-License-Identifier: Apache-2.0
// How a node stands, in the words of sinfo and scontrol. The order of the rules below is Slurm's: what stands first
// hides the rest.
#include "model/node.h"

#include <array>

namespace spur::model {
namespace {

struct Words {
  std::string_view full, brief;
};

bool is_working(NodeState base) {
  return base == NodeState::Allocated || base == NodeState::Mixed;
}

// Nothing works there that would have to be named first.
bool will_reboot(const Node& node) {
  return (node.flags & (kNodeRebootRequested | kNodeRebootIssued)) && !is_working(base_state(node));
}

Words words_of(const Node& node) {
  const NodeState base = base_state(node);
  const bool completing = node.jobs_completing > 0;
  if (node.flags & kNodeInvalidRegistration) return {"inval", "inval"};
  if ((node.flags & kNodeMaintenance) && !(node.flags & kNodeDrain) && !is_working(base) && base != NodeState::Down)
    return {"maint", "maint"};
  if ((node.flags & kNodeDrain) && (node.flags & kNodeMaintenance)) {
    if (completing || is_working(base)) return {"draining$", "drng$"};
    return {"drained$", "drain$"};
  }
  if (will_reboot(node)) return {"reboot", "boot"};
  if (node.flags & kNodeDrain) {
    if (completing || is_working(base)) return {"draining", "drng"};
    return {"drained", "drain"};
  }
  if (node.flags & kNodeFail) {
    if (completing || is_working(base)) return {"failing", "failg"};
    return {"fail", "fail"};
  }
  if (base == NodeState::Down) return {"down", "down"};
  if (base == NodeState::Allocated) return completing ? Words{"allocated+", "alloc+"} : Words{"allocated", "alloc"};
  if (completing) return {"completing", "comp"};
  if (base == NodeState::Idle && (node.flags & kNodeReserved)) return {"reserved", "resv"};
  if (base == NodeState::Idle) return {"idle", "idle"};
  if (base == NodeState::Mixed) return {"mixed", "mix"};
  if (base == NodeState::Future) return {"future", "futr"};
  return {"unknown", "unk"};
}

// What stands behind the word, the first that holds; 0: nothing.
char mark_of(std::uint32_t flags) {
  if (flags & kNodePoweringUp) return '#';
  if (flags & kNodePoweringDown) return '%';
  if (flags & kNodePoweredDown) return '~';
  if (flags & kNodePowerDown) return '!';
  return flags & kNodeNoResponse ? '*' : '\0';
}

std::string_view base_word(NodeState base) {
  switch (base) {
    case NodeState::Down:
      return "DOWN";
    case NodeState::Idle:
      return "IDLE";
    case NodeState::Allocated:
      return "ALLOCATED";
    case NodeState::Mixed:
      return "MIXED";
    case NodeState::Future:
      return "FUTURE";
    case NodeState::Unknown:
      break;
  }
  return "UNKNOWN";
}

}  // namespace

NodeState base_state(const Node& node) {
  if (node.flags & kNodeFuture) return NodeState::Future;
  if (node.down) return NodeState::Down;
  if (!node.registered && !node.is_away()) return NodeState::Unknown;
  // A job that is only being cleaned up does not make a node busy, nor does a suspended one, which holds no CPUs.
  if (node.jobs.size() <= node.jobs_completing) return NodeState::Idle;
  if (node.exclusive || node.cpus_allocated >= node.hardware.cpus) return NodeState::Allocated;
  return node.cpus_allocated > 0 ? NodeState::Mixed : NodeState::Idle;
}

std::string state_text(const Node& node, bool compact) {
  const Words words = words_of(node);
  std::string out(compact ? words.brief : words.full);
  const bool issued = node.flags & kNodeRebootIssued;
  if (will_reboot(node)) return issued ? out + '^' : out;
  if ((node.flags & kNodeRebootRequested) && out.back() != '$') {
    if (out.back() == '+') out.pop_back();
    return out + '@';
  }
  const char mark = mark_of(node.flags);
  if (mark == 0 || out.back() == '$') return out;
  if (out.back() == '+') out.pop_back();
  return out + mark;
}

std::string state_text_full(const Node& node) {
  struct FlagWord {
    std::uint32_t flag;
    std::string_view word;
  };
  // Slurm's order.
  constexpr std::array<FlagWord, 17> kWords{{{kNodeCloud, "+CLOUD"},
                                             {kNodeCompleting, "+COMPLETING"},
                                             {kNodeDrain, "+DRAIN"},
                                             {kNodeDynamicFuture, "+DYNAMIC_FUTURE"},
                                             {kNodeDynamicNorm, "+DYNAMIC_NORM"},
                                             {kNodeInvalidRegistration, "+INVALID_REG"},
                                             {kNodeFail, "+FAIL"},
                                             {kNodeMaintenance, "+MAINTENANCE"},
                                             {kNodePowerDown, "+POWER_DOWN"},
                                             {kNodePowerUp, "+POWER_UP"},
                                             {kNodePoweredDown, "+POWERED_DOWN"},
                                             {kNodeRebootRequested, "+REBOOT_REQUESTED"},
                                             {kNodeRebootIssued, "+REBOOT_ISSUED"},
                                             {kNodeReserved, "+RESERVED"},
                                             {kNodeNoResponse, "+NOT_RESPONDING"},
                                             {kNodePoweringDown, "+POWERING_DOWN"},
                                             {kNodePoweringUp, "+POWERING_UP"}}};
  const std::uint32_t flags = node.flags | (node.jobs_completing ? std::uint32_t{kNodeCompleting} : 0u);
  std::string out(base_word(base_state(node)));
  for (const FlagWord& row : kWords)
    if (flags & row.flag) out.append(row.word);
  return out;
}

}  // namespace spur::model
