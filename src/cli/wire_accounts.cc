// SPDX-License-Identifier: Apache-2.0
#include "cli/accounts.h"
#include "spur/v1/accounts.pb.h"
#include "wire/account_records_codec.h"

namespace spur::cli {
namespace {

class WireAccounts final : public Accounts {
 public:
  WireAccounts(wire::AccountingOptions options, std::string cluster)
      : client_(std::move(options)), cluster_(std::move(cluster)) {}
  const std::string& cluster() const override { return cluster_; }
  Result<Records> read(bool with_deleted) override {
    v1::GetAccountsRequest request;
    v1::AccountRecords reply;
    request.set_with_deleted(with_deleted);
    SPUR_TRY(client_.ask("Accounts/GetAccounts", request, &reply));
    Records out;
    SPUR_TRY(wire::from_proto(reply, &out.records));
    for (const auto& key : reply.deleted()) out.deleted.insert({static_cast<model::RecordKind>(key.kind()), key.key()});
    return out;
  }
  Result<std::vector<std::string>> change(const model::AccountsChange& change) override {
    v1::AccountsChange request;
    v1::AccountsChangeReply reply;
    wire::to_proto(change, &request);
    SPUR_TRY(client_.ask("Accounts/ChangeAccounts", request, &reply));
    return std::vector<std::string>(reply.active_jobs().begin(), reply.active_jobs().end());
  }
  Result<std::vector<model::TransactionRecord>> transactions(Time from, Time until) override {
    v1::GetTransactionsRequest request;
    request.set_from_us(to_micros(from));
    request.set_until_us(to_micros(until));
    std::vector<model::TransactionRecord> list;
    const auto take = [&](std::string_view bytes) -> Status {
      v1::TransactionRecords message;
      if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
        return fail(ErrorCode::Corrupt, "The accounting service's answer cannot be read");
      for (const auto& row : message.transactions()) SPUR_TRY(wire::from_proto(row, &list.emplace_back()));
      return {};
    };
    SPUR_TRY(client_.stream("Accounts/GetTransactions", request.SerializeAsString(), take));
    return list;
  }

 private:
  wire::AccountingClient client_;
  const std::string cluster_;
};

}  // namespace

std::unique_ptr<Accounts> make_wire_accounts(wire::AccountingOptions options, std::string cluster) {
  return std::make_unique<WireAccounts>(std::move(options), std::move(cluster));
}

}  // namespace spur::cli
