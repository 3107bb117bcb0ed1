// SPDX-License-Identifier: Apache-2.0
// A controller's stream. A chunk is acknowledged when the database has committed it, together with its last number;
// so a stream that breaks anywhere goes on where the database is. While the database is away nothing more is read:
// the backlog is the controller's, on its disk.
#include <fmt/format.h>

#include <chrono>
#include <thread>

#include "acct/accounting_service.h"
#include "acct/ingest.h"

namespace spur::acct {
namespace {

constexpr auto kFirstPause = std::chrono::milliseconds(100), kLongestPause = std::chrono::milliseconds(2000);
constexpr std::uint32_t kProtocol = 1;

// Trying again may help.
bool may_pass(ErrorCode code) {
  return code == ErrorCode::Unreachable || code == ErrorCode::OutOfSpace || code == ErrorCode::Busy ||
         code == ErrorCode::PermissionDenied;
}

}  // namespace

struct AccountingService::Attached {
  std::string cluster;
  Time born;
};

template <class Work>
auto AccountingService::until_done(grpc::ServerContext* context, Work&& work) -> decltype(work()) {
  auto pause = kFirstPause;
  std::string said;
  while (true) {
    auto result = work();
    if (result) {
      if (!said.empty()) doors_.log("the database is there again");
      return result;
    }
    if (!may_pass(result.error().code) || stopping_ || context->IsCancelled()) return result;
    if (result.error().message != said)
      doors_.log(
          fmt::format("error: the database does not take records, and is tried again: {}", result.error().message));
    said = result.error().message;
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, kLongestPause);
  }
}

Status AccountingService::take_records(grpc::ServerContext* context, const Attached& attached,
                                       const v1::AcctRecords& records) {
  std::vector<std::string_view> list(records.records().begin(), records.records().end());
  std::set<WckeyUse> wckeys;
  const bool track = doors_.feed && doors_.track_wckeys;
  SPUR_ASSIGN(const auto chunk, make_chunk(attached.cluster, attached.born, list, track ? &wckeys : nullptr));
  SPUR_TRY(until_done(context, [&] { return doors_.store.ingest(chunk); }));
  if (track) doors_.feed->note_wckeys(attached.cluster, wckeys);
  return {};
}

Status AccountingService::attach(grpc::ServerContext* context, Stream* stream) {
  v1::AcctToDatabase message;
  if (!stream->Read(&message) || !message.has_hello() || message.hello().cluster().empty())
    return fail(ErrorCode::InvalidArgument, "a controller's stream begins with its hello");
  const v1::AcctHello hello = message.hello();
  if (hello.version() != kProtocol)
    return fail(ErrorCode::VersionMismatch,
                fmt::format("the controller speaks version {} of this protocol, spurdbd version {}", hello.version(),
                            kProtocol));
  const Attached attached{hello.cluster(), from_micros(hello.outbox_born_us())};
  if (doors_.trust_nodes) doors_.trust_nodes({hello.node_keys().begin(), hello.node_keys().end()});
  SPUR_ASSIGN(const auto known, until_done(context, [&] {
                return doors_.store.hello({hello.cluster(), hello.control_host(), hello.control_port(), attached.born,
                                           0, doors_.clock.now()});
              }));

  std::mutex write_mutex;  // acknowledgements and updates of the catalogue share the stream
  const auto send = [&](const v1::AcctToController& answer) {
    const std::lock_guard lock(write_mutex);
    return stream->Write(answer);
  };
  v1::AcctToController answer;
  answer.mutable_welcome()->set_have(known.have);
  if (!send(answer)) return {};
  doors_.log(fmt::format("cluster {} is connected, with records up to {}", attached.cluster, known.have));
  std::uint64_t watch = 0;
  if (doors_.feed)
    watch = doors_.feed->watch(attached.cluster, [&](std::string update) {
      v1::AcctToController push;
      push.set_catalogue(std::move(update));
      send(push);
    });
  count(attached.cluster, 1);
  Status status;
  while (status && stream->Read(&message)) {
    if (!message.has_records() || message.records().records_size() == 0) continue;
    {
      const std::lock_guard lock(mutex_);
      connected_[attached.cluster].newest = message.records().newest();
    }
    status = take_records(context, attached, message.records());
    if (!status) break;
    v1::AcctRecord last;
    (void)last.ParseFromString(*message.records().records().rbegin());
    answer.set_committed(last.number());
    if (!send(answer)) break;
  }
  count(attached.cluster, -1);
  if (doors_.feed) doors_.feed->unwatch(watch);
  return status;
}

void AccountingService::count(const std::string& cluster, int change) {
  const std::lock_guard lock(mutex_);
  if ((connected_[cluster].streams += change) == 0) connected_.erase(cluster);
}

grpc::Status AccountingService::Attach(grpc::ServerContext* context, Stream* stream) {
  const auto caller = admit(doors_.identify, *context, "Attach");
  if (!caller) return rpc_status(context, caller.error());
  const Status status = attach(context, stream);
  if (status) return grpc::Status::OK;
  doors_.log(fmt::format("error: the stream of a controller ends: {}", status.error().message));
  return rpc_status(context, status.error());
}

}  // namespace spur::acct
