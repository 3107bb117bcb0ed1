// SPDX-License-Identifier: Apache-2.0
// The Accounting service over gRPC: controllers' streams (attach.cc) and questions. A call blocks its thread while
// the database works.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "acct/authorization.h"
#include "acct/call_statistics.h"
#include "acct/catalog_feed.h"
#include "acct/viewer.h"
#include "io/accounting_store.h"
#include "io/clock.h"
#include "spur/v1/accounting.grpc.pb.h"

namespace spur::acct {

// Who calls, if he may call `method` at all; and the status for him if not.
Result<model::Caller> admit(const Identify& identify, const grpc::ServerContext& context, std::string_view method);
grpc::Status rpc_status(grpc::ServerContext* context, const Error& error);

class AccountingService final : public v1::Accounting::Service {
 public:
  struct Doors {
    io::AccountingStore& store;
    io::Clock& clock;
    const Identify& identify;
    std::function<void(std::string)> log;
    std::string version;
    CatalogFeed* feed = nullptr;  // null: there is no catalogue
    bool track_wckeys = false;    // keys of jobs become known to the catalogue
    // Hosts of these keys may ask on behalf of their users.
    std::function<void(const std::vector<std::string>& node_keys)> trust_nodes = {};
    std::function<Result<v1::AcctArchiveReply>(const v1::AcctArchiveRequest&)> archive = {};
    CallStatistics* statistics = nullptr;  // null: nothing is counted
    std::function<Viewer(const model::Caller&)> viewer = {};  // empty: everybody sees all
    std::function<Status()> reconfigure = {};  // reads the configuration again
    std::function<void()> shutdown = {};       // soon: the answer goes out first
    // What its configuration says, for sacctmgr show config.
    std::function<std::vector<std::pair<std::string, std::string>>()> settings = {};
    // How long a time who is no operator may ask about at once; 0: any.
    Duration max_query{0};
    std::function<bool(const model::Caller&)> is_operator = {};
  };
  explicit AccountingService(Doors doors) : doors_(std::move(doors)) {}

  grpc::Status Ping(grpc::ServerContext*, const v1::AcctPingRequest*, v1::AcctPingReply*) override;
  using Stream = grpc::ServerReaderWriter<v1::AcctToController, v1::AcctToDatabase>;
  grpc::Status Attach(grpc::ServerContext*, Stream*) override;
  grpc::Status QueryJobs(grpc::ServerContext*, const v1::AcctJobQuery*,
                         grpc::ServerWriter<v1::AcctJobRows>*) override;
  grpc::Status QueryEvents(grpc::ServerContext*, const v1::AcctEventQuery*,
                           grpc::ServerWriter<v1::AcctEventRows>*) override;
  grpc::Status QueryUsage(grpc::ServerContext*, const v1::AcctUsageQuery*, v1::AcctUsageReply*) override;
  grpc::Status QueryReservations(grpc::ServerContext*, const v1::AcctReservationQuery*,
                                 grpc::ServerWriter<v1::AcctReservationRows>*) override;
  grpc::Status EditJobs(grpc::ServerContext*, const v1::AcctJobEdit*, v1::AcctJobEditReply*) override;

  grpc::Status Archive(grpc::ServerContext*, const v1::AcctArchiveRequest*, v1::AcctArchiveReply*) override;
  grpc::Status GetStatistics(grpc::ServerContext*, const v1::AcctStatisticsRequest*, v1::AcctStatisticsReply*) override;

  grpc::Status Reconfigure(grpc::ServerContext*, const v1::AcctReconfigureRequest*,
                           v1::AcctReconfigureReply*) override;
  grpc::Status Shutdown(grpc::ServerContext*, const v1::AcctShutdownRequest*, v1::AcctShutdownReply*) override;

  // Streams end, and what waits for the database gives up.
  void stop() { stopping_ = true; }

 private:
  struct Attached;
  // Tries until the database has done it; an error only for what trying again cannot mend, or at the end.
  template <class Work>
  auto until_done(grpc::ServerContext* context, Work&& work) -> decltype(work());
  Status attach(grpc::ServerContext* context, Stream* stream);
  Status take_records(grpc::ServerContext* context, const Attached& attached, const v1::AcctRecords& records);
  Result<std::vector<std::string>> clusters_of(const google::protobuf::RepeatedPtrField<std::string>& asked);

  void count(const std::string& cluster, int change);
  Status check_span(const model::Caller& caller, Time from, Time until) const;
  Viewer viewer(const model::Caller& caller) const { return doors_.viewer ? doors_.viewer(caller) : Viewer{}; }

  Doors doors_;
  std::atomic<bool> stopping_{false};
  std::mutex mutex_;
  struct Link {
    int streams = 0;
    std::uint64_t newest = 0;  // record of the controller, as it said last
  };
  std::map<std::string, Link> connected_;
};

}  // namespace spur::acct
