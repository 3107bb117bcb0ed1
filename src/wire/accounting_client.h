// SPDX-License-Identifier: Apache-2.0
// What a command can ask of spurdbd: the lean channel underneath, the caller's credential with every call. Messages
// are those of accounting.proto and accounts.proto, as they are.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace spur::wire {

struct AccountingOptions {
  std::vector<std::string> addresses;  // "unix:/path", "host:port"; tried in order
  std::string auth_socket;             // where a credential is had
  Duration timeout{std::chrono::seconds(60)};
  std::function<bool()> interrupted = {};
};

class AccountingClient {
 public:
  explicit AccountingClient(AccountingOptions options);
  ~AccountingClient();
  AccountingClient(const AccountingClient&) = delete;
  AccountingClient& operator=(const AccountingClient&) = delete;

  // `method` with its service: "Accounting/QueryJobs". Requests and answers are messages as bytes. Many answers:
  Status stream(std::string_view method, std::string_view request,
                const std::function<Status(std::string_view)>& on_message);
  // One answer.
  template <class Request, class Reply>
  Status ask(std::string_view method, const Request& request, Reply* reply) {
    return stream(method, request.SerializeAsString(), [&](std::string_view bytes) -> Status {
      if (!reply->ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
        return fail(ErrorCode::Corrupt, "The accounting service's answer cannot be read");
      return {};
    });
  }

 private:
  struct Channel;
  std::unique_ptr<Channel> channel_;
};

}  // namespace spur::wire
