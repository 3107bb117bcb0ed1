// SPDX-License-Identifier: Apache-2.0
// How a ControllerClient reaches its controllers: the local socket first, then one address after the other, with a
// credential where one is needed. Only for controller_client.cc and controller_watch.cc.
#pragma once

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <utility>

#include "spur/v1/credential.pb.h"
#include "wire/controller_client.h"
#include "wire/credential_client.h"
#include "wire/error_map.h"
#include "wire/follower_note.h"
#include "wire/lean_channel.h"
#include "wire/local_channel.h"

namespace spur::wire {

inline constexpr std::uint16_t kControllerPort = 6817;
inline constexpr Duration kCredentialTimeout = std::chrono::seconds(10);
inline constexpr Duration kPingTimeout = std::chrono::seconds(10);
inline constexpr Duration kCredentialLife = std::chrono::seconds(60);  // where it does not say when it expires
inline constexpr Duration kCredentialMargin = std::chrono::seconds(5);
// With several controllers: how long one may take to begin its answer before the next is asked, and how long to wait
// between rounds while none leads.
inline constexpr Duration kPatience = std::chrono::milliseconds(450);
inline constexpr Duration kFirstRound = std::chrono::milliseconds(20), kLastRound = std::chrono::milliseconds(50);
inline constexpr Duration kStale = std::chrono::seconds(1);  // without a word of a leader

inline std::string path_of(std::string_view method) {
  return fmt::format("/spur.v1.Controller/{}", method);
}

struct ControllerClient::Channel {
  explicit Channel(ClientOptions given)
      : options(std::move(given)), local(options.local_socket), lean(options.controllers, kControllerPort) {
    local.interrupted = lean.interrupted = options.interrupted;
  }

  // Whether there is a choice of controllers; a socket is another way to one of them.
  bool several() const {
    return lean.has_learned() ||
           std::ranges::count_if(options.controllers, [](const auto& c) { return !c.starts_with("unix:"); }) > 1;
  }

  // Of several sockets the first that gives one: a daemon may be away where another is not.
  Result<std::string> first_credential() const {
    const Duration timeout = std::min(options.timeout, kCredentialTimeout);
    const std::string& all = options.auth_socket;
    for (std::size_t from = 0;;) {
      const std::size_t end = std::min(all.find(':', from), all.size());
      const bool last = end == all.size();
      auto got =
          ask_credential(all.substr(from, end - from), "controller", last ? timeout : std::min(timeout, kPatience));
      if (got || last) return got;
      from = end + 1;
    }
  }

  // Asked for at the first call, and again only when it is about to expire (a long wait). A refusal is remembered:
  // asking once more would not help.
  Status renew_credential() {
    const Time now = std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
    if (credential && (*credential ? now < renew_at : credential->error().code == ErrorCode::Unauthenticated))
      return {};
    credential = first_credential();
    if (!*credential) return std::unexpected(credential->error());
    v1::Credential whole;
    v1::CredentialPayload payload;
    renew_at = now + kCredentialLife;
    if (whole.ParseFromString(**credential) && payload.ParseFromString(whole.payload()) && payload.expires_us() != 0)
      renew_at = from_micros(payload.expires_us()) - kCredentialMargin;
    return {};
  }

  Result<CallOptions> call_options(Duration timeout) {
    CallOptions call;
    call.timeout = timeout;
    if (!options.auth_socket.empty()) {
      SPUR_TRY(renew_credential());
      if (!*credential) return std::unexpected(credential->error());
      call.metadata.emplace_back(kCredentialMetadata, **credential);
    }
    return call;
  }

  // While the controllers are choosing a leader, again and again; likewise while one of them may only be slow. A
  // request may so reach two of them; what must happen once carries a token.
  template <class Request>
  Status stream(std::string_view method, const Request& request, Duration timeout,
                const std::function<Status(std::string_view)>& on_message, Duration silence = Duration{0}) {
    const std::string bytes = request.SerializeAsString();
    bool choice = several();
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    Duration patience = choice && method != "WaitJob" ? kPatience : Duration{0};
    for (Duration pause = kFirstRound;; pause = std::min(2 * pause, kLastRound)) {
      const auto left = std::chrono::duration_cast<Duration>(deadline - std::chrono::steady_clock::now());
      const Status status = round(method, bytes, left, patience, on_message, silence);
      choice = several();
      if (choice && patience.count() == 0 && method != "WaitJob") patience = kPatience;
      const auto lasts = [&](ErrorCode code) {
        return code != ErrorCode::NotLeader && !(code == ErrorCode::Unreachable && lean.someone_is_silent());
      };
      const bool again = choice && !status && !lasts(status.error().code) &&
                         std::chrono::steady_clock::now() + pause < deadline;
      if (!again || (options.interrupted && options.interrupted())) return status;
      const timespec nap{.tv_sec = 0, .tv_nsec = std::chrono::nanoseconds(pause).count()};
      ::nanosleep(&nap, nullptr);
    }
  }

  // The local socket first, where there is one; gRPC if nobody who can answer is behind it.
  Status round(std::string_view method, const std::string& bytes, Duration timeout, Duration patience,
               const std::function<Status(std::string_view)>& on_message, Duration silence) {
    if (!options.local_socket.empty() && !local_is_away && !options.consistent) {
      // The whole of a long list may take longer than a controller may take to begin it.
      const bool hurry = patience.count() > 0 && method != "ListJobs" && method != "WatchJobs";
      auto outcome = local.call(method, bytes, hurry ? std::min(timeout, patience) : timeout, on_message, silence);
      const bool silent = hurry && !outcome.status && outcome.status.error().code == ErrorCode::TimedOut;
      if (outcome.status) notice(outcome.note);
      if ((!outcome.try_elsewhere && !silent) || lean.peer_count() == 0) return outcome.status;
      local_is_away = several();
    }
    SPUR_ASSIGN(auto call, call_options(timeout));
    call.patience = patience;
    call.silence = silence;
    if (options.consistent) call.metadata.emplace_back(kConsistentMetadata, "1");
    const Status status = lean.stream(path_of(method), bytes, call, on_message);
    if (status)
      for (const auto& [key, value] : lean.trailers())
        if (key == kFollowerMetadata) notice(value);
    return status;
  }

  void notice(std::string_view note) {
    const auto follower = decode_follower_note(note);
    if (follower && follower->silence >= kStale && options.on_stale) std::exchange(options.on_stale, {})(*follower);
  }

  template <class Request, class Reply>
  Status ask(std::string_view method, const Request& request, Reply* reply, Duration timeout) {
    int replies = 0;
    SPUR_TRY(stream(method, request, timeout, [&](std::string_view bytes) -> Status {
      if (++replies > 1) return fail(ErrorCode::Internal, "The server sent several answers to one request");
      return parse(bytes, reply);
    }));
    if (replies == 0) return fail(ErrorCode::Internal, "The server sent no answer");
    return {};
  }
  template <class Request, class Reply>
  Status ask(std::string_view method, const Request& request, Reply* reply) {
    return ask(method, request, reply, options.timeout);
  }
  // For requests that only succeed or fail.
  template <class Request>
  Status order(std::string_view method, const Request& request) {
    v1::Done done;
    return ask(method, request, &done);
  }
  template <class Reply>
  static Status parse(std::string_view bytes, Reply* reply) {
    if (!reply->ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
      return fail(ErrorCode::Corrupt, "The controller's answer cannot be read");
    return {};
  }

  ClientOptions options;
  LocalChannel local;
  LeanChannel lean;
  bool local_is_away = false;  // with several controllers: it did not answer, or does not lead
  std::optional<Result<std::string>> credential;
  Time renew_at;
};

}  // namespace spur::wire
