// SPDX-License-Identifier: Apache-2.0
#include "cli/accounting_books.h"
#include "spur/v1/accounting.pb.h"

namespace spur::cli {
namespace {

class WireAccounting final : public Accounting, public AccountingBooks {
 public:
  WireAccounting(wire::AccountingOptions options, std::string cluster)
      : host_(host_of(options.addresses)), client_(std::move(options)), cluster_(std::move(cluster)) {}
  const std::string& cluster() const override { return cluster_; }
  std::string host() const override { return host_; }
  Status ping(v1::AcctPingReply* reply) override {
    return client_.ask("Accounting/Ping", v1::AcctPingRequest(), reply);
  }
  Status jobs(const v1::AcctJobQuery& query, const std::function<void(v1::AcctJobRow)>& each) override {
    return rows<v1::AcctJobRows>("Accounting/QueryJobs", query, each);
  }
  Status events(const v1::AcctEventQuery& query, const std::function<void(v1::AcctEventRow)>& each) override {
    return rows<v1::AcctEventRows>("Accounting/QueryEvents", query, each);
  }
  Status usage(const v1::AcctUsageQuery& query, v1::AcctUsageReply* reply) override {
    return client_.ask("Accounting/QueryUsage", query, reply);
  }
  Status reservations(const v1::AcctReservationQuery& query,
                      const std::function<void(v1::AcctReservationRow)>& each) override {
    return rows<v1::AcctReservationRows>("Accounting/QueryReservations", query, each);
  }
  Status edit_jobs(const v1::AcctJobEdit& edit, v1::AcctJobEditReply* reply) override {
    return client_.ask("Accounting/EditJobs", edit, reply);
  }
  Status archive(const v1::AcctArchiveRequest& request, v1::AcctArchiveReply* reply) override {
    return client_.ask("Accounting/Archive", request, reply);
  }
  Status statistics(const v1::AcctStatisticsRequest& request, v1::AcctStatisticsReply* reply) override {
    return client_.ask("Accounting/GetStatistics", request, reply);
  }
  Status reconfigure() override {
    v1::AcctReconfigureReply reply;
    return client_.ask("Accounting/Reconfigure", v1::AcctReconfigureRequest(), &reply);
  }
  Status shutdown() override {
    v1::AcctShutdownReply reply;
    return client_.ask("Accounting/Shutdown", v1::AcctShutdownRequest(), &reply);
  }

 private:
  template <class Message, class Query, class Each>
  Status rows(std::string_view method, const Query& query, const Each& each) {
    return client_.stream(method, query.SerializeAsString(), [&](std::string_view bytes) -> Status {
      Message message;
      if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
        return fail(ErrorCode::Corrupt, "The accounting service's answer cannot be read");
      for (auto& row : *message.mutable_rows()) each(std::move(row));
      return {};
    });
  }
  // Of the first address that names one.
  static std::string host_of(const std::vector<std::string>& addresses) {
    for (const std::string& address : addresses)
      if (!address.starts_with("unix:")) return address.substr(0, address.rfind(':'));
    return "localhost";
  }
  const std::string host_;
  wire::AccountingClient client_;
  const std::string cluster_;
};

}  // namespace

std::unique_ptr<Accounting> make_wire_accounting(wire::AccountingOptions options, std::string cluster) {
  return std::make_unique<WireAccounting>(std::move(options), std::move(cluster));
}

}  // namespace spur::cli
