// SPDX-License-Identifier: Apache-2.0
#include "ctld/acct_outbox.h"

#include <fmt/format.h>
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "spur/v1/accounting.grpc.pb.h"
#include "wire/error_map.h"

namespace spur::ctld {
namespace {

constexpr std::size_t kChunkBytes = std::size_t{2} << 20;
constexpr std::uint64_t kChunksAhead = 4;  // sent and not acknowledged yet
constexpr auto kFirstPause = std::chrono::milliseconds(100), kLongestPause = std::chrono::milliseconds(2000);
// The acknowledgement goes into the journal this often at most, unless very many records are free to go.
constexpr auto kTellEvery = std::chrono::seconds(5);
constexpr std::uint64_t kTellAfter = 20'000;

}  // namespace

AcctOutbox::AcctOutbox(Doors doors) : doors_(std::move(doors)) {
  spooler_ = std::thread([this] { spool_loop(); });
  sender_ = std::thread([this] { send_loop(); });
}

AcctOutbox::~AcctOutbox() {
  stop();
}

void AcctOutbox::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    if (stream_) stream_->TryCancel();
  }
  work_.notify_all();
  more_.notify_all();
  if (spooler_.joinable()) spooler_.join();
  if (sender_.joinable()) sender_.join();
}

void AcctOutbox::add(Time born, std::vector<state::OutboxRecord> records) {
  if (records.empty()) return;
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back({born, std::move(records)});
  }
  work_.notify_one();
}

void AcctOutbox::when_spooled(std::uint64_t number, std::function<void()> then) {
  {
    const std::lock_guard lock(mutex_);
    if (spooled_ < number) {
      waiters_.emplace(number, std::move(then));
      return;
    }
  }
  then();
}

void AcctOutbox::lead(const state::Outbox& outbox) {
  {
    const std::lock_guard lock(mutex_);
    leading_ = true;
    born_ = outbox.born;
    spooled_ = std::max(spooled_, outbox.acked);
    committed_ = told_ = outbox.acked;
  }
  more_.notify_all();
}

AcctOutbox::Standing AcctOutbox::standing() const {
  const std::lock_guard lock(mutex_);
  return {connected_, spooled_, committed_};
}

// ---- into the spool

wire::AcctNames AcctOutbox::known_names() {
  const auto remember = [](auto& map, auto ask) {
    return [&map, ask](auto id) -> std::string {
      const auto found = map.find(id.value);
      if (found != map.end()) return found->second;
      if (map.size() > 100'000) map.clear();
      return map[id.value] = ask ? ask(id) : std::string();
    };
  };
  return {.user = remember(users_, doors_.names.user), .group = remember(groups_, doors_.names.group)};
}

void AcctOutbox::spool_loop() {
  std::unique_lock lock(mutex_);
  while (true) {
    work_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    if (queue_.empty()) return;
    auto batches = std::exchange(queue_, {});
    lock.unlock();
    put(std::move(batches));
    lock.lock();
  }
}

// A spool that cannot take records (a full disk) is tried again: they are not lost, but must not be overtaken.
void AcctOutbox::put(std::vector<Batch> batches) {
  const auto names = known_names();
  for (std::size_t i = 0; i < batches.size();) {
    const Time born = batches[i].born;
    std::vector<io::OutboxSpool::Record> records;
    for (; i < batches.size() && batches[i].born == born; ++i)
      for (const auto& record : batches[i].records)
        records.push_back({record.number, wire::encode_record(record, names)});
    std::string said;
    while (true) {
      const Status status = doors_.spool.append(born, records);
      std::unique_lock lock(mutex_);
      if (status) break;
      if (status.error().message != said)
        doors_.log(fmt::format("error: cannot spool records for accounting: {}", status.error().message));
      said = status.error().message;
      // The journal has what they were made from.
      if (work_.wait_for(lock, kLongestPause, [this] { return stopping_; })) return;
    }
    std::vector<std::function<void()>> due;
    {
      const std::lock_guard lock(mutex_);
      born_ = born;
      spooled_ = std::max(spooled_, records.back().number);
      for (auto it = waiters_.begin(); it != waiters_.end() && it->first <= spooled_; it = waiters_.erase(it))
        due.push_back(std::move(it->second));
    }
    for (auto& then : due) then();
    more_.notify_all();
  }
}

// ---- out of the spool

void AcctOutbox::send_loop() {
  auto pause = kFirstPause;
  std::string said;
  while (true) {
    {
      std::unique_lock lock(mutex_);
      more_.wait(lock, [this] { return stopping_ || (leading_ && is_set(born_)); });
      if (stopping_) return;
    }
    grpc::ClientContext context;
    {
      const std::lock_guard lock(mutex_);
      stream_ = &context;
    }
    const Status status = converse(context);
    std::unique_lock lock(mutex_);
    stream_ = nullptr;
    if (std::exchange(connected_, false)) {
      pause = kFirstPause;
      said.clear();
    }
    const std::string why = status ? "spurdbd ended the stream" : status.error().message;
    if (!stopping_ && why != said)
      doors_.log(fmt::format("error: no link to the accounting service at {}, {} records wait: {}", doors_.address,
                             spooled_ - std::min(spooled_, committed_), why));
    said = why;
    if (more_.wait_for(lock, pause, [this] { return stopping_; })) return;
    pause = std::min(pause * 2, kLongestPause);
  }
}

void AcctOutbox::note_committed(std::uint64_t number, bool now) {
  {
    const std::lock_guard lock(mutex_);
    committed_ = std::max(committed_, number);
    if (committed_ == told_ || (!now && committed_ - told_ < kTellAfter)) return;
    told_ = committed_;
    number = committed_;
  }
  if (const Status status = doors_.spool.trim(number); !status)
    doors_.log(fmt::format("error: the spool of accounting records does not shrink: {}", status.error().message));
  doors_.committed(number);
}

namespace {

grpc::ChannelArguments channel_arguments() {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 20'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  arguments.SetMaxReceiveMessageSize(256 << 20);
  return arguments;
}

Error error_of(const grpc::Status& status) {
  return {wire::error_code_of(status.error_code()), status.error_message()};
}

}  // namespace

// One stream, from its hello to its end.
Status AcctOutbox::converse(grpc::ClientContext& context) {
  SPUR_ASSIGN(const std::string credential, doors_.credential());
  context.AddMetadata(std::string(wire::kCredentialMetadata), credential);
  const auto channel =
      grpc::CreateCustomChannel(doors_.address, grpc::InsecureChannelCredentials(), channel_arguments());
  const auto stub = v1::Accounting::NewStub(channel);
  const auto stream = stub->Attach(&context);
  v1::AcctToDatabase message;
  auto* hello = message.mutable_hello();
  hello->set_cluster(doors_.cluster);
  hello->set_control_host(doors_.control_host);
  hello->set_control_port(doors_.control_port);
  hello->set_version(1);
  {
    const std::lock_guard lock(mutex_);
    hello->set_outbox_born_us(to_micros(born_));
  }
  if (doors_.node_keys)
    for (auto& key : doors_.node_keys()) hello->add_node_keys(std::move(key));
  const auto finish = [&]() -> Status {
    stream->WritesDone();
    const grpc::Status status = stream->Finish();
    if (status.ok()) return {};
    return std::unexpected(error_of(status));
  };
  v1::AcctToController answer;
  if (!stream->Write(message) || !stream->Read(&answer) || !answer.has_welcome()) return finish();
  std::uint64_t sent = answer.welcome().have();
  {
    const std::lock_guard lock(mutex_);
    connected_ = true;
    committed_ = std::max(committed_, sent);
  }
  doors_.log(fmt::format("accounting: connected to {}, which has records up to {}", doors_.address, sent));

  std::atomic<std::uint64_t> chunks_out{0};
  std::thread reader([&] {
    v1::AcctToController heard;
    while (stream->Read(&heard)) {
      if (heard.has_catalogue() && doors_.catalogue) doors_.catalogue(std::move(*heard.mutable_catalogue()));
      if (heard.kind_case() != v1::AcctToController::kCommitted) continue;
      --chunks_out;
      note_committed(heard.committed(), false);
      more_.notify_all();
    }
    const std::lock_guard lock(mutex_);
    connected_ = false;
    more_.notify_all();
  });
  auto told_at = std::chrono::steady_clock::now();
  Status status;
  while (true) {
    std::uint64_t spooled = 0;
    {
      std::unique_lock lock(mutex_);
      const auto ready = [&] { return stopping_ || !connected_ || (spooled_ > sent && chunks_out < kChunksAhead); };
      more_.wait_for(lock, kTellEvery, ready);
      if (stopping_ || !connected_) break;
      spooled = spooled_;
    }
    if (std::chrono::steady_clock::now() - told_at >= kTellEvery) {
      told_at = std::chrono::steady_clock::now();
      note_committed(0, true);
    }
    if (chunks_out >= kChunksAhead || spooled <= sent) continue;
    auto records = doors_.spool.read(sent, kChunkBytes);
    if (!records) {
      status = std::unexpected(records.error());
      break;
    }
    if (records->empty()) {
      sent = spooled;  // the database had them before, or nobody has
      continue;
    }
    v1::AcctToDatabase chunk;
    for (auto& record : *records) chunk.mutable_records()->add_records(std::move(record.bytes));
    chunk.mutable_records()->set_newest(spooled);
    sent = records->back().number;
    ++chunks_out;
    if (!stream->Write(chunk)) break;
  }
  if (!status) context.TryCancel();
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) context.TryCancel();
  }
  stream->WritesDone();
  reader.join();
  const grpc::Status ended = stream->Finish();
  note_committed(0, true);
  {
    const std::lock_guard lock(mutex_);
    connected_ = true;  // it was: the next try comes soon
  }
  if (!status) return status;
  if (ended.ok()) return {};
  return std::unexpected(error_of(ended));
}

}  // namespace spur::ctld
