// SPDX-License-Identifier: Apache-2.0
// An etcd of another version, played by a server that answers nothing but its version.
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "etcd/v3/rpc.grpc.pb.h"
#include "os/etcd_membership.h"
#include "os/test_directory.h"

namespace spur::os {
namespace {

class Version final : public etcdserverpb::Maintenance::Service {
 public:
  explicit Version(std::string version) : version_(std::move(version)) {}
  grpc::Status Status(grpc::ServerContext*, const etcdserverpb::StatusRequest*,
                      etcdserverpb::StatusResponse* response) override {
    response->set_version(version_);
    return grpc::Status::OK;
  }

 private:
  std::string version_;
};

TEST(EtcdVersion, OldAndUnknownOnesAreRefused) {
  const struct {
    const char* version;
    bool good;
  } rows[] = {{"3.4.0", true}, {"3.5.9", true},  {"3.6.0-rc.1", true}, {"3.3.27", false},
              {"2.3.8", false}, {"4.0.0", false}, {"", false},          {"three", false}};
  for (const auto& row : rows) {
    const TestDirectory directory;
    Version service(row.version);
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + directory.path() + "/s", grpc::InsecureServerCredentials());
    builder.RegisterService(&service);
    const auto server = builder.BuildAndStart();
    ASSERT_TRUE(server);
    const auto client = EtcdClient::open({.endpoints = {"unix:" + directory.path() + "/s"}, .timeout = seconds(10)});
    ASSERT_TRUE(client);
    const Status status = check_etcd_version(**client);
    EXPECT_EQ(status.has_value(), row.good) << row.version;
    if (status) continue;
    EXPECT_EQ(status.error().code, ErrorCode::VersionMismatch);
    EXPECT_NE(status.error().message.find("3.4 or a later 3.x is needed"), std::string::npos);
  }
}

}  // namespace
}  // namespace spur::os
