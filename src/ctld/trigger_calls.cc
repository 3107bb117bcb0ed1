// SPDX-License-Identifier: Apache-2.0
// The calls about triggers of strigger of controller_calls.h.
#include <utility>

#include "ctld/controller_calls.h"
#include "wire/trigger_codec.h"

namespace spur::ctld {

void ControllerCalls::set_trigger(const Caller& caller, const v1::SetTriggerRequest& request, Answer<v1::Done> answer) {
  model::Trigger trigger;
  if (auto ok = wire::from_proto(request.trigger(), &trigger); !ok)
    return answer(std::unexpected(std::move(ok.error())));
  change(caller, std::move(answer), [trigger = std::move(trigger)](Controller& c, const Caller& who, auto reply) {
    c.set_trigger(who, trigger, std::move(reply));
  });
}

void ControllerCalls::clear_triggers(const Caller& caller, const v1::ClearTriggersRequest& request,
                                     Answer<v1::Done> answer) {
  state::ClearTriggers which;
  which.id = request.id();
  which.job = JobId{request.job()};
  if (request.has_user()) which.user = Uid{request.user()};
  if (which.id == 0 && !which.job && !which.user)
    return answer(fail(ErrorCode::InvalidArgument, "no trigger is named"));
  change(caller, std::move(answer), [which](Controller& c, const Caller& who, auto reply) {
    c.clear_triggers(who, which, std::move(reply));
  });
}

void ControllerCalls::get_triggers(const Caller&, const v1::GetTriggersRequest&, Answer<v1::GetTriggersReply> answer) {
  core_.post([answer = std::move(answer)](Controller& controller) {
    v1::GetTriggersReply reply;
    for (const auto& [id, trigger] : controller.cluster().triggers()) wire::to_proto(trigger, reply.add_triggers());
    answer(std::move(reply));
  });
}

}  // namespace spur::ctld
