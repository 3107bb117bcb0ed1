// SPDX-License-Identifier: Apache-2.0
// From apply's records to the accounting database, off the core thread. One thread encodes records and puts them into
// the spool (io/outbox_spool.h); another keeps a stream to spurdbd, sends what the spool has behind the database's
// last number, and tells the core how far the database is. However long it is away, the backlog is on disk.
//
// Every controller spools every record, so that whoever leads next has them. One whose state began with a snapshot was not
// there when the older ones were made: it asks the others for them, and sends nothing that comes after a gap before all
// of them have answered.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
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
    std::function<void(bool up)> linked = {};             // the link to spurdbd is lost, or there again
    std::function<void(std::string)> log;
    wire::AcctNames names;
    // Asks other controllers, one after another, for records up to `until` while `next` gives a number behind which
    // some are missing; `take` gets them. Empty, or who did not answer. No function: there are no others.
    using Next = std::function<std::optional<std::uint64_t>()>;
    using Take = std::function<Status(std::span<const io::OutboxSpool::Record>)>;
    std::function<std::string(Time born, std::uint64_t until, const Next& next, const Take& take)> ask_others = {};
  };
  explicit AcctOutbox(Doors doors);
  ~AcctOutbox();

  // The state that was loaded had this outbox: what it had made by then was on the disk of whoever wrote that state.
  void begin(const state::Outbox& outbox);
  // From the core thread, in order.
  void add(Time born, std::vector<state::OutboxRecord> records);
  // Calls back, on the spool's thread, once everything up to `number` is on disk; at once if it is.
  void when_spooled(std::uint64_t number, std::function<void()> then);
  // Only the leader sends. `acked`: as the state has it.
  void lead(const state::Outbox& outbox);
  void follow();  // another one leads: sends no more
  void acknowledged(std::uint64_t number);  // by the database, as the journal has it, while another one leads
  void stop();

  struct Standing {
    bool connected = false;
    std::uint64_t last = 0, committed = 0;  // the backlog is what lies between
    std::uint64_t lost = 0;                 // that no controller had any more
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
  void note_link(bool up);
  void trim(std::uint64_t number);
  enum class Mended : std::uint8_t { Whole, Waits, Gone };
  // Gets what the spool lacks behind `after`, up to `until`, from the others.
  Mended mend(std::uint64_t after, std::uint64_t until);
  std::uint64_t held_up_to(std::uint64_t after, std::uint64_t until);
  Result<std::vector<io::OutboxSpool::Record>> next_chunk(std::uint64_t& sent, std::uint64_t until);
  void fill_as_follower();
  wire::AcctNames known_names();

  Doors doors_;
  mutable std::mutex mutex_;
  std::condition_variable work_, more_;
  std::vector<Batch> queue_;
  std::multimap<std::uint64_t, std::function<void()>> waiters_;
  Time born_;                  // of the outbox that is being sent
  std::uint64_t spooled_ = 0;  // the highest number on disk
  std::uint64_t committed_ = 0, told_ = 0;
  std::uint64_t trim_to_ = 0;     // what acknowledged() said
  std::uint64_t unchecked_ = 0;   // up to here records may be missing in the spool; 0: no
  std::uint64_t lost_ = 0;
  std::string waits_for_;         // who did not answer
  bool leading_ = false, stopping_ = false, connected_ = false;
  std::optional<bool> link_told_;  // the sender's: what `linked` was told last
  grpc::ClientContext* stream_ = nullptr;                // to be cancelled by stop()
  std::map<std::uint32_t, std::string> users_, groups_;  // the spool thread's
  std::thread spooler_, sender_;
};

}  // namespace spur::ctld
