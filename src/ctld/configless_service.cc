// SPDX-License-Identifier: Apache-2.0
#include "ctld/configless_service.h"

#include "ctld/authorization.h"
#include "ctld/equal_secret.h"
#include "ctld/rpc_status.h"

namespace spur::ctld {

Status ConfiglessService::may_have(std::string_view credential, std::string_view token) const {
  if (!options_.join_token.empty() && equal_secret(token, options_.join_token)) return {};
  SPUR_ASSIGN(const auto caller, identify_.user(credential, core_.picture()->view));
  SPUR_TRY(authorize("FetchConfig", caller));
  if (caller.role == model::Role::User || caller.role == model::Role::Admin) return {};
  return fail(ErrorCode::Unauthenticated, "the configuration is for users and for those who show the join token");
}

grpc::ServerUnaryReactor* ConfiglessService::FetchConfig(grpc::CallbackServerContext* context,
                                                         const v1::FetchConfigRequest* request,
                                                         v1::FetchConfigReply* reply) {
  auto* reactor = context->DefaultReactor();
  const auto& metadata = context->client_metadata();
  const auto it = metadata.find("spur-credential-bin");
  const std::string_view credential =
      it == metadata.end() ? std::string_view{} : std::string_view(it->second.data(), it->second.size());
  if (auto allowed = may_have(credential, request->join_token()); !allowed)
    return reactor->Finish(rpc_status(context, allowed.error())), reactor;
  auto files = options_.files();
  if (!files) return reactor->Finish(rpc_status(context, files.error())), reactor;
  for (auto& [name, text] : *files) {
    auto* file = reply->add_files();
    file->set_name(std::move(name));
    file->set_text(std::move(text));
  }
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

}  // namespace spur::ctld
