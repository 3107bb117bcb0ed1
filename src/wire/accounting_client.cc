// SPDX-License-Identifier: Apache-2.0
#include "wire/accounting_client.h"

#include <fmt/format.h>

#include <algorithm>

#include "wire/credential_client.h"
#include "wire/error_map.h"
#include "wire/lean_channel.h"

namespace spur::wire {
namespace {

constexpr std::uint16_t kAccountingPort = 6819;
constexpr Duration kCredentialTimeout = std::chrono::seconds(10);

}  // namespace

struct AccountingClient::Channel {
  explicit Channel(AccountingOptions given) : options(std::move(given)), lean(options.addresses, kAccountingPort) {
    lean.interrupted = options.interrupted;
  }
  AccountingOptions options;
  LeanChannel lean;
};

AccountingClient::AccountingClient(AccountingOptions options)
    : channel_(std::make_unique<Channel>(std::move(options))) {}
AccountingClient::~AccountingClient() = default;

Status AccountingClient::stream(std::string_view method, std::string_view request,
                                const std::function<Status(std::string_view)>& on_message) {
  const auto& options = channel_->options;
  CallOptions call;
  call.timeout = options.timeout;
  if (!options.auth_socket.empty()) {
    SPUR_ASSIGN(std::string credential,
                ask_credential(options.auth_socket, "accounting", std::min(options.timeout, kCredentialTimeout)));
    call.metadata.emplace_back(kCredentialMetadata, std::move(credential));
  }
  return channel_->lean.stream(fmt::format("/spur.v1.{}", method), request, call, on_message);
}

}  // namespace spur::wire
