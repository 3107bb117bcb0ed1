// SPDX-License-Identifier: Apache-2.0
// The call about tokens of controller_calls.h: scontrol token. AuthAltTypes and AuthAltParameters say whether there
// are any, and with which key they are signed. Nothing here takes one in place of a credential.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "ctld/controller_calls.h"
#include "ctld/core_thread.h"
#include "text/decimal.h"
#include "text/words.h"

namespace spur::ctld {
namespace {

constexpr seconds kUsualLifespan{1800};

struct TokenRules {
  bool enabled = false, for_admins_only = false;
  std::string key_file;
  std::optional<seconds> longest;
};

TokenRules token_rules(const model::ClusterConfig& config) {
  TokenRules rules;
  for (const std::string_view word : text::split(model::shown_value(config, "AuthAltTypes"), ','))
    rules.enabled |= text::equal_ignoring_case(text::trim(word), "auth/jwt");
  rules.key_file = fmt::format("{}/jwt_hs256.key", model::shown_value(config, "StateSaveLocation"));
  for (std::string_view word : text::split(model::shown_value(config, "AuthAltParameters"), ',')) {
    word = text::trim(word);
    const std::string_view value = word.substr(std::min(word.find('=') + 1, word.size()));
    if (text::equal_ignoring_case(word, "disable_token_creation")) rules.for_admins_only = true;
    if (text::starts_with_ignoring_case(word, "jwt_key=")) rules.key_file = std::string(value);
    if (text::starts_with_ignoring_case(word, "max_token_lifespan="))
      if (const auto number = text::parse_decimal32(value)) rules.longest = seconds(*number);
  }
  return rules;
}

}  // namespace

void ControllerCalls::get_token(const Caller& caller, const v1::GetTokenRequest& request,
                                Answer<v1::GetTokenReply> answer) {
  const auto picture = core_.picture();
  const TokenRules rules = token_rules(*picture->view.config);
  if (!rules.enabled || !options_.sign_token || !options_.name_of)
    return answer(fail(ErrorCode::RequestDisabled, "AuthAltTypes does not name auth/jwt"));
  if (!caller.is_admin() && (rules.for_admins_only || !request.user().empty()))
    return answer(fail(ErrorCode::PermissionDenied, "Access/permission denied"));
  seconds lifespan = request.lifespan_seconds() == 0 ? kUsualLifespan : seconds(request.lifespan_seconds());
  if (lifespan < seconds(0)) return answer(fail(ErrorCode::InvalidArgument, "a token cannot end before it begins"));
  if (!caller.is_admin() && rules.longest && lifespan > *rules.longest)
    return answer(fail(ErrorCode::PermissionDenied,
                       fmt::format("a token is good for at most {} s here", rules.longest->count())));
  std::string user = request.user();
  if (user.empty()) user = options_.name_of(caller.uid);
  auto token = options_.sign_token(rules.key_file, user, now(picture->view), lifespan);
  if (!token) return answer(std::unexpected(std::move(token.error())));
  v1::GetTokenReply reply;
  reply.set_token(std::move(*token));
  answer(std::move(reply));
}

}  // namespace spur::ctld
