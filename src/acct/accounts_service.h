// SPDX-License-Identifier: Apache-2.0
// The Accounts service over gRPC: the catalogue, read by anybody who is known, changed by those who may, and written
// to the database in one transaction before the change is acknowledged. Controllers that watch it are told of every
// change.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "acct/accounting_service.h"
#include "acct/catalog.h"
#include "acct/catalog_feed.h"
#include "io/accounting_store.h"
#include "io/clock.h"
#include "spur/v1/accounting.pb.h"
#include "spur/v1/accounts.grpc.pb.h"

namespace spur::acct {

class AccountsService final : public v1::Accounts::Service, public CatalogFeed {
 public:
  struct Doors {
    io::AccountingStore& store;
    io::Clock& clock;
    const Identify& identify;
    std::function<void(std::string)> log;
    std::function<std::string(Uid)> user_name;
    CallStatistics* statistics = nullptr;  // null: nothing is counted
    std::uint32_t hidden = 0;              // what is kept from users, text/private_data.h
    bool may_lack_default = false, keeps_case = false;  // as in model::AccountRecords
    bool no_coordinators = false;  // they change no more than other users
    std::string default_qos = {};  // of new clusters, made if it is not there; empty: normal
  };
  // Loads the catalogue; a database without one gets a fresh one.
  static Result<std::unique_ptr<AccountsService>> open(Doors doors);
  ~AccountsService() override;

  grpc::Status GetAccounts(grpc::ServerContext*, const v1::GetAccountsRequest*, v1::AccountRecords*) override;
  grpc::Status ChangeAccounts(grpc::ServerContext*, const v1::AccountsChange*, v1::AccountsChangeReply*) override;
  grpc::Status GetTransactions(grpc::ServerContext*, const v1::GetTransactionsRequest*,
                               grpc::ServerWriter<v1::TransactionRecords>*) override;

  // What the caller may see.
  Viewer viewer(const model::Caller& caller);
  bool is_operator(const model::Caller& caller);

  // CatalogFeed. A cluster that is not known yet is registered.
  std::uint64_t watch(const std::string& cluster, Push push) override;
  void unwatch(std::uint64_t id) override;
  void note_wckeys(const std::string& cluster, const std::set<WckeyUse>& used) override;

 private:
  // A controller that is slow to read must not hold up the others, so each has a thread that catches up with the
  // catalogue as it is by then.
  struct Watcher {
    std::string cluster;
    Push push;
    bool stop = false;
    std::thread thread;
  };

  AccountsService(Doors doors, Catalog catalog) : doors_(std::move(doors)), catalog_(std::move(catalog)) {}
  // Takes in what clusters have said of themselves since. The lock is held.
  Status refresh();
  Status follow_site();  // the Doors' word to the catalogue
  Viewer viewer_now(const model::Caller& caller) const;  // the lock is held
  Status write(Catalog::Step step);
  void feed(Watcher& watcher);
  std::vector<std::string> active_jobs(const InUse& question);
  // Also if that cannot be found out: what is kept by mistake does no harm.
  bool had_jobs(const InUse& question, Time since);
  // Calls `each` with the jobs that ended after that moment or have not ended, until it returns false.
  Status each_job(const InUse& question, Time since,
                  const std::function<bool(const std::string& cluster, const io::AcctJobRow&, const v1::AcctJob&)>& each);

  Doors doors_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Catalog catalog_;
  std::map<std::string, std::set<WckeyUse>> noted_wckeys_;  // by cluster; nothing new as long as the catalogue stays
  std::map<std::uint64_t, std::unique_ptr<Watcher>> watchers_;
  std::uint64_t next_watcher_ = 1;
};

}  // namespace spur::acct
