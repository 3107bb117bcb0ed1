// SPDX-License-Identifier: Apache-2.0
// From apply's records to the accounting database, off the core thread. One thread encodes records and puts them into
// the spool (io/outbox_spool.h); another keeps a stream to spurdbd, sends what the spool has behind the database's
// last number, and tells the core how far the database is. However long it is away, the backlog is on disk.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "io/outbox_spool.h"
#include "state/outbox.h"
#include "wire/accounting_codec.h"

namespace grpc {
class ClientContext;
}

namespace spur::ctld {

class AcctOutbox {
 public:
  struct Doors {
    io::OutboxSpool& spool;
    std::string address;  // of spurdbd
    std::string cluster, control_host;
    std::uint16_t control_port = 0;
    std::function<Result<std::string>()> credential;      // for each new stream
    std::function<void(std::uint64_t number)> committed;  // the database has everything up to it; now and then
    std::function<void(std::string update)> catalogue;    // of accounts, users, associations, QOS; may be empty
    std::function<std::vector<std::string>()> node_keys;  // public keys of the nodes
    std::function<void(std::string)> log;
    wire::AcctNames names;
  };
  explicit AcctOutbox(Doors doors);
  ~AcctOutbox();

  // From the core thread, in order.
  void add(Time born, std::vector<state::OutboxRecord> records);
  // Calls back, on the spool's thread, once everything up to `number` is on disk; at once if it is.
  void when_spooled(std::uint64_t number, std::function<void()> then);
  // Only the leader sends. `acked`: as the state has it.
  void lead(const state::Outbox& outbox);
  void follow();  // another one leads: sends no more
  void stop();

  struct Standing {
    bool connected = false;
    std::uint64_t last = 0, committed = 0;  // the backlog is what lies between
  };
  Standing standing() const;

 private:
  struct Batch {
    Time born;
    std::vector<state::OutboxRecord> records;
  };
  void spool_loop();
  void put(std::vector<Batch> batches);
  void send_loop();
  Status converse(grpc::ClientContext& context);
  void note_committed(std::uint64_t number, bool now);
  wire::AcctNames known_names();

  Doors doors_;
  mutable std::mutex mutex_;
  std::condition_variable work_, more_;
  std::vector<Batch> queue_;
  std::multimap<std::uint64_t, std::function<void()>> waiters_;
  Time born_;                  // of the outbox that is being sent
  std::uint64_t spooled_ = 0;  // the highest number on disk
  std::uint64_t committed_ = 0, told_ = 0;
  bool leading_ = false, stopping_ = false, connected_ = false;
  grpc::ClientContext* stream_ = nullptr;                // to be cancelled by stop()
  std::map<std::uint32_t, std::string> users_, groups_;  // the spool thread's
  std::thread spooler_, sender_;
};

}  // namespace spur::ctld
