// SPDX-License-Identifier: Apache-2.0
// Calls about the set of controllers. What they ask for takes its time, so it is done where it holds nothing up.
#include <utility>

#include "ctld/controller_calls.h"

namespace spur::ctld {
namespace {

constexpr const char* kAlone =
    "there is one controller and no etcd here; \"spur controllers convert\" moves its state into etcd";

Error busy() {
  return {ErrorCode::Busy, "too many ask at once; try again"};
}

}  // namespace

void ControllerCalls::list_controllers(const Caller&, const v1::ListControllersRequest&,
                                       Answer<v1::ListControllersReply> answer) {
  const bool taken = core_.ponder([this, answer] {
    v1::ListControllersReply reply;
    reply.set_cluster_name(core_.picture()->view.config->cluster_name);
    if (!options_.group.list) {
      auto* member = reply.add_members();
      member->set_name(options_.host);
      return answer(std::move(reply));
    }
    auto known = options_.group.list();
    if (!known) return answer(std::unexpected(std::move(known.error())));
    reply.set_cluster_id(known->cluster_id);
    for (const auto& one : known->members) {
      auto* member = reply.add_members();
      member->set_name(one.name);
      member->set_address(one.address);
      member->set_peer(one.peer);
      member->set_started(one.started);
      member->set_learner(one.learner);
    }
    answer(std::move(reply));
  });
  if (!taken) answer(std::unexpected(busy()));
}

void ControllerCalls::add_controller(const Caller&, const v1::AddControllerRequest& request,
                                     Answer<v1::Done> answer) {
  if (!options_.group.add) return answer(fail(ErrorCode::NotSupported, kAlone));
  const bool taken = core_.ponder([this, answer, name = request.name(), address = request.address()] {
    const Status done = options_.group.add(name, address);
    done ? answer(v1::Done{}) : answer(std::unexpected(done.error()));
  });
  if (!taken) answer(std::unexpected(busy()));
}

void ControllerCalls::takeover(const Caller&, const v1::TakeoverRequest& request, Answer<v1::Done> answer) {
  if (!options_.group.hand_over) return answer(fail(ErrorCode::NotSupported, kAlone));
  const bool taken = core_.ponder([this, answer, successor = request.successor()] {
    const Status done = options_.group.hand_over(successor);
    done ? answer(v1::Done{}) : answer(std::unexpected(done.error()));
  });
  if (!taken) answer(std::unexpected(busy()));
}

void ControllerCalls::remove_controller(const Caller&, const v1::RemoveControllerRequest& request,
                                        Answer<v1::Done> answer) {
  if (!options_.group.remove) return answer(fail(ErrorCode::NotSupported, kAlone));
  const bool taken = core_.ponder([this, answer, name = request.name()] {
    const Status done = options_.group.remove(name);
    done ? answer(v1::Done{}) : answer(std::unexpected(done.error()));
  });
  if (!taken) answer(std::unexpected(busy()));
}

}  // namespace spur::ctld
