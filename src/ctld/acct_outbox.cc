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

constexpr std::size_t kSentBytes = std::size_t{2} << 20;
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

void AcctOutbox::begin(const state::Outbox& outbox) {
  {
    const std::lock_guard lock(mutex_);
    born_ = outbox.born;
    spooled_ = outbox.next - 1;
    committed_ = told_ = outbox.acked;
    if (spooled_ > committed_ && doors_.ask_others) unchecked_ = spooled_;
  }
  more_.notify_all();
}

void AcctOutbox::acknowledged(std::uint64_t number) {
  {
    const std::lock_guard lock(mutex_);
    committed_ = std::max(committed_, number);
    trim_to_ = std::max(trim_to_, number);
  }
  work_.notify_one();
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

void AcctOutbox::follow() {
  const std::lock_guard lock(mutex_);
  leading_ = false;
  if (stream_) stream_->TryCancel();
  more_.notify_all();
}

AcctOutbox::Standing AcctOutbox::standing() const {
  const std::lock_guard lock(mutex_);
  return {connected_, spooled_, committed_, lost_};
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
    work_.wait(lock, [this] { return stopping_ || !queue_.empty() || trim_to_ > 0; });
    auto batches = std::exchange(queue_, {});
    const std::uint64_t trim_to = std::exchange(trim_to_, 0);
    if (batches.empty() && trim_to == 0) return;
    lock.unlock();
    if (!batches.empty()) put(std::move(batches));
    if (trim_to > 0) trim(trim_to);
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
      more_.wait(lock, [this] { return stopping_ || (leading_ && is_set(born_)) || unchecked_ > 0; });
      if (stopping_) return;
      if (!leading_) {
        lock.unlock();
        fill_as_follower();
        continue;
      }
    }
    grpc::ClientContext context;
    {
      const std::lock_guard lock(mutex_);
      stream_ = &context;
    }
    const Status status = converse(context);
    std::unique_lock lock(mutex_);
    stream_ = nullptr;
    if (!stopping_ && leading_) {
      lock.unlock();
      note_link(false);
      lock.lock();
    }
    if (std::exchange(connected_, false)) {
      pause = kFirstPause;
      said.clear();
    }
    const std::string why = status ? "spurdbd ended the stream" : status.error().message;
    if (!stopping_ && leading_ && why != said)
      doors_.log(fmt::format("error: no link to the accounting service at {}, {} records wait: {}", doors_.address,
                             spooled_ - std::min(spooled_, committed_), why));
    said = why;
    if (more_.wait_for(lock, pause, [this] { return stopping_; })) return;
    pause = std::min(pause * 2, kLongestPause);
  }
}

// That it is there at the beginning is no news.
void AcctOutbox::note_link(bool up) {
  if (link_told_.value_or(true) != up && doors_.linked) doors_.linked(up);
  link_told_ = up;
}

void AcctOutbox::note_committed(std::uint64_t number, bool now) {
  {
    const std::lock_guard lock(mutex_);
    committed_ = std::max(committed_, number);
    if (committed_ == told_ || (!now && committed_ - told_ < kTellAfter)) return;
    told_ = committed_;
    number = committed_;
  }
  trim(number);
  doors_.committed(number);
}

void AcctOutbox::trim(std::uint64_t number) {
  if (const Status status = doors_.spool.trim(number); !status)
    doors_.log(fmt::format("error: the spool of accounting records does not shrink: {}", status.error().message));
}

// ---- what was made before this controller's state was

// The last number of those that are there without a gap.
std::uint64_t AcctOutbox::held_up_to(std::uint64_t after, std::uint64_t until) {
  std::uint64_t low = after, high = until;
  while (low < high) {
    const std::uint64_t middle = low + (high - low + 1) / 2;
    const auto count = doors_.spool.count(after, middle);
    if (count && *count == middle - after)
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

AcctOutbox::Mended AcctOutbox::mend(std::uint64_t after, std::uint64_t until) {
  const auto next = [&]() -> std::optional<std::uint64_t> {
    after = held_up_to(after, until);
    return after < until ? std::optional(after) : std::nullopt;
  };
  if (!next()) return Mended::Whole;
  if (!doors_.ask_others) return Mended::Gone;
  Time born;
  {
    const std::lock_guard lock(mutex_);
    born = born_;
  }
  const std::uint64_t first = after + 1;
  const std::string silent = doors_.ask_others(
      born, until, next, [&](std::span<const io::OutboxSpool::Record> records) { return doors_.spool.append(born, records); });
  if (!next()) {
    doors_.log(fmt::format("accounting: got records {} to {} from other controllers", first, until));
    return Mended::Whole;
  }
  const std::lock_guard lock(mutex_);
  if (!silent.empty() && silent != waits_for_)
    doors_.log(fmt::format("error: records {} to {} for accounting are on other controllers; waiting for {}", after + 1, until,
                           silent));
  waits_for_ = silent;
  return silent.empty() ? Mended::Gone : Mended::Waits;
}

// So that they outlive the others, who may be replaced too.
void AcctOutbox::fill_as_follower() {
  std::uint64_t after = 0, until = 0;
  {
    const std::lock_guard lock(mutex_);
    after = committed_;
    until = unchecked_;
  }
  const bool waits = until > after && mend(after, until) == Mended::Waits;
  std::unique_lock lock(mutex_);
  if (!waits) unchecked_ = 0;
  if (waits) more_.wait_for(lock, kLongestPause, [this] { return stopping_ || leading_; });
}

// What comes behind `sent`, without a gap. Nothing: not now. Where records are gone for good, `sent` is moved behind them.
Result<std::vector<io::OutboxSpool::Record>> AcctOutbox::next_chunk(std::uint64_t& sent, std::uint64_t until) {
  SPUR_ASSIGN(auto records, doors_.spool.read(sent, kSentBytes));
  const std::uint64_t gap_until = records.empty() ? until : records.front().number - 1;
  if (gap_until > sent) {
    const Mended mended = mend(sent, gap_until);
    if (mended == Mended::Gone) {
      const std::uint64_t held = held_up_to(sent, gap_until);
      if (held > sent) return next_chunk(sent, held);
      SPUR_ASSIGN(records, doors_.spool.read(sent, 1));
      const std::uint64_t gone = (records.empty() ? until : records.front().number - 1);
      doors_.log(fmt::format("error: records {} to {} for accounting are on no controller's disk: they are lost", sent + 1, gone));
      const std::lock_guard lock(mutex_);
      lost_ += gone - sent;
      sent = gone;
    } else if (mended == Mended::Waits) {
      std::unique_lock lock(mutex_);
      more_.wait_for(lock, kLongestPause, [this] { return stopping_ || !leading_ || !connected_; });
    }
    return std::vector<io::OutboxSpool::Record>();
  }
  for (std::size_t i = 1; i < records.size(); ++i)
    if (records[i].number != records[i - 1].number + 1) {
      records.resize(i);
      break;
    }
  return records;
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
  note_link(true);

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
      const auto ready = [&] {
        return stopping_ || !leading_ || !connected_ || (spooled_ > sent && chunks_out < kChunksAhead);
      };
      more_.wait_for(lock, kTellEvery, ready);
      if (stopping_ || !leading_ || !connected_) break;
      spooled = spooled_;
    }
    if (std::chrono::steady_clock::now() - told_at >= kTellEvery) {
      told_at = std::chrono::steady_clock::now();
      note_committed(0, true);
    }
    if (chunks_out >= kChunksAhead || spooled <= sent) continue;
    auto records = next_chunk(sent, spooled);
    if (!records) {
      status = std::unexpected(records.error());
      break;
    }
    if (records->empty()) continue;
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
    if (stopping_ || !leading_) context.TryCancel();
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
