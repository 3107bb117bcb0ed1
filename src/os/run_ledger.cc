// SPDX-License-Identifier: Apache-2.0
#include "os/run_ledger.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "os/crc32c.h"
#include "os/files.h"

namespace spur::os {
namespace {

constexpr std::uint32_t kFirstSlots = 2048;
constexpr std::size_t kSlot = 512;  // one sector: written whole or not at all
constexpr std::size_t kMaxError = 400;
constexpr Duration kPatience = milliseconds(20);
constexpr std::uint32_t kLedgerMagic = 0x534c4731;  // "SLG1"

// Fixed layout in the machine's own byte order: the file never leaves the machine.
struct Slot {
  std::uint32_t magic, sum;  // sum: of all that follows
  std::uint32_t job, epoch;
  std::uint8_t is_batch_host, has_end, out_of_memory, launch_failed;
  std::uint16_t code, signal;
  std::int64_t ended_us;
  std::uint64_t user_cpu_us, system_cpu_us, max_rss_kib;
  std::uint16_t error_size;
  char error[kMaxError];
};
static_assert(sizeof(Slot) <= kSlot);

std::uint32_t sum_of(const Slot& slot) {
  constexpr std::size_t skip = 2 * sizeof(std::uint32_t);
  return crc32c({reinterpret_cast<const char*>(&slot) + skip, sizeof slot - skip});
}

std::string encode(const RunLedger::Entry& entry) {
  Slot slot;
  std::memset(&slot, 0, sizeof slot);  // padding too: it is part of the sum
  slot.magic = kLedgerMagic;
  slot.job = entry.run.job.value;
  slot.epoch = entry.run.epoch.value;
  slot.is_batch_host = entry.is_batch_host;
  if (entry.end) {
    const EndRecord& end = *entry.end;
    slot.has_end = 1;
    slot.out_of_memory = end.out_of_memory;
    slot.launch_failed =
        static_cast<std::uint8_t>(end.launch_failed | end.prolog_failed << 1 | end.node_blameless << 2);
    slot.code = end.exit.code;
    slot.signal = end.exit.signal;
    slot.ended_us = to_micros(end.ended);
    slot.user_cpu_us = end.usage.user_cpu_us;
    slot.system_cpu_us = end.usage.system_cpu_us;
    slot.max_rss_kib = end.usage.max_rss_kib;
    slot.error_size = static_cast<std::uint16_t>(std::min(end.error.size(), kMaxError));
    std::memcpy(slot.error, end.error.data(), slot.error_size);
  }
  slot.sum = sum_of(slot);
  std::string bytes(kSlot, '\0');
  std::memcpy(bytes.data(), &slot, sizeof slot);
  return bytes;
}

std::optional<RunLedger::Entry> decode(const char* bytes) {
  Slot slot;
  std::memcpy(&slot, bytes, sizeof slot);
  if (slot.magic != kLedgerMagic || slot.sum != sum_of(slot) || slot.error_size > kMaxError) return std::nullopt;
  RunLedger::Entry out{
      .run = {JobId{slot.job}, Epoch{slot.epoch}}, .is_batch_host = slot.is_batch_host != 0, .end = {}};
  if (slot.has_end != 0)
    out.end = EndRecord{.exit = {slot.code, slot.signal},
                        .out_of_memory = slot.out_of_memory != 0,
                        .launch_failed = (slot.launch_failed & 1) != 0,
                        .error = std::string(slot.error, slot.error_size),
                        .ended = from_micros(slot.ended_us),
                        .usage = {.user_cpu_us = slot.user_cpu_us,
                                  .system_cpu_us = slot.system_cpu_us,
                                  .max_rss_kib = slot.max_rss_kib},
                        .prolog_failed = (slot.launch_failed & 2) != 0,
                        .node_blameless = (slot.launch_failed & 4) != 0};
  return out;
}

}  // namespace

Result<std::unique_ptr<RunLedger>> RunLedger::open(EventLoop& loop, const std::string& path) {
  UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return fail_errno("cannot open " + path, errno);
  std::unique_ptr<RunLedger> out(new RunLedger(loop, std::move(file), path));
  SPUR_TRY(out->load());
  if (out->count_ < kFirstSlots) {
    SPUR_TRY(out->grow(kFirstSlots));
    SPUR_TRY(sync_directory(parent_directory(path)));
  }
  out->thread_ = std::thread([raw = out.get()] { raw->work(); });
  return out;
}

RunLedger::RunLedger(EventLoop& loop, UniqueFd file, std::string path)
    : loop_(loop), file_(std::move(file)), path_(std::move(path)) {}

RunLedger::~RunLedger() {
  *alive_ = false;
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

Status RunLedger::load() {
  struct stat info{};
  if (::fstat(file_.get(), &info) != 0) return fail_errno("cannot examine " + path_, errno);
  count_ = static_cast<std::uint32_t>(static_cast<std::size_t>(info.st_size) / kSlot);
  std::string bytes(count_ * kSlot, '\0');
  std::size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t got = ::pread(file_.get(), bytes.data() + have, bytes.size() - have, static_cast<off_t>(have));
    if (got <= 0) return fail_errno("cannot read " + path_, got < 0 ? errno : EIO);
    have += static_cast<std::size_t>(got);
  }
  for (std::uint32_t i = count_; i-- > 0;) {
    auto entry = decode(bytes.data() + i * kSlot);
    if (entry && slots_.emplace(entry->run, Place{i, entry->is_batch_host}).second)
      found_.push_back(std::move(*entry));
    else
      free_.push_back(i);
  }
  std::ranges::sort(found_, {}, &Entry::run);
  return {};
}

// Zeros are written, not merely allocated: blocks that were never written would be marked as written at the first
// use, which is work for the file system's journal.
Status RunLedger::grow(std::uint32_t slots) {
  const std::string zeros(64 * kSlot, '\0');
  for (std::uint32_t at = count_; at < slots;) {
    const std::size_t size = std::min<std::size_t>(zeros.size(), (slots - at) * kSlot);
    if (::pwrite(file_.get(), zeros.data(), size, static_cast<off_t>(at * kSlot)) != static_cast<ssize_t>(size))
      return fail_errno("cannot enlarge " + path_, errno);
    at += static_cast<std::uint32_t>(size / kSlot);
  }
  if (::fsync(file_.get()) != 0) return fail_errno("cannot sync " + path_, errno);
  for (std::uint32_t i = slots; i-- > count_;) free_.push_back(i);
  count_ = slots;
  return {};
}

void RunLedger::note(model::JobRun run, bool is_batch_host, Done done) {
  auto it = slots_.find(run);
  if (it == slots_.end()) {
    if (free_.empty())
      if (auto grown = grow(count_ * 2); !grown) {
        if (done) loop_.post([done = std::move(done), grown] { done(grown); });
        return;
      }
    it = slots_.emplace(run, Place{free_.back(), is_batch_host}).first;
    free_.pop_back();
  }
  put({it->second.slot * kSlot, encode({run, is_batch_host, std::nullopt}), std::move(done), true});
}

void RunLedger::note_end(model::JobRun run, const EndRecord& record) {
  const auto it = slots_.find(run);
  if (it == slots_.end()) return;
  put({it->second.slot * kSlot, encode({run, it->second.is_batch_host, record}), {}, true});
}

void RunLedger::forget(model::JobRun run) {
  const auto it = slots_.find(run);
  if (it == slots_.end()) return;
  put({it->second.slot * kSlot, std::string(kSlot, '\0'), {}, false});
  free_.push_back(it->second.slot);
  slots_.erase(it);
}

void RunLedger::put(Write write) {
  bool wake;
  {
    const std::lock_guard lock(mutex_);
    wake = queue_.empty() || (write.done && !waited_for_);
    waited_for_ |= static_cast<bool>(write.done);
    queue_.push_back(std::move(write));
  }
  if (wake) wake_.notify_one();
}

// The next writes; empty: stop. Ends have time: they wait a moment for a note to be synced with.
std::vector<RunLedger::Write> RunLedger::next_batch() {
  std::unique_lock lock(mutex_);
  wake_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
  wake_.wait_for(lock, kPatience, [this] { return stopping_ || waited_for_; });
  waited_for_ = false;
  return std::exchange(queue_, {});
}

void RunLedger::work() {
  for (;;) {
    auto batch = next_batch();
    if (batch.empty()) return;
    Status status;
    bool must_last = false;
    for (const auto& write : batch) {
      must_last |= write.must_last;
      const ssize_t put =
          ::pwrite(file_.get(), write.bytes.data(), write.bytes.size(), static_cast<off_t>(write.offset));
      if (put != static_cast<ssize_t>(write.bytes.size())) status = fail_errno("cannot write " + path_, errno);
    }
    if (must_last && status && ::fdatasync(file_.get()) != 0) status = fail_errno("cannot sync " + path_, errno);
    loop_.post([alive = alive_, batch = std::move(batch), status]() {
      for (const auto& write : batch)
        if (*alive && write.done) write.done(status);
    });
  }
}

}  // namespace spur::os
