// SPDX-License-Identifier: Apache-2.0
#include "os/etcd_client.h"

#include <fmt/format.h>
#include <grpcpp/channel.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <atomic>
#include <chrono>

#include "etcd/v3/rpc.grpc.pb.h"
#include "os/files.h"

namespace spur::os {
namespace {

constexpr std::size_t kMaxPemBytes = 1 << 20;

Error from_grpc(const grpc::Status& status, const std::string& endpoint) {
  std::string text = fmt::format("etcd at {}: {}", endpoint, status.error_message());
  if (endpoint.starts_with("https:") && (text.find("CERTIFICATE_VERIFY_FAILED") != std::string::npos ||
                                         text.find("andshake") != std::string::npos))
    text += "; its certificate is not good here: expired, or of another authority than controller.etcd_ca_file";
  switch (status.error_code()) {
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
      // The same code says that the server is busy.
      if (status.error_message().find("space exceeded") != std::string::npos)
        return {
            ErrorCode::OutOfSpace,
            text + "; its space quota is used up: compact and defragment it, raise its quota, and disarm the alarm"};
      return {ErrorCode::Busy, text};
    case grpc::StatusCode::INVALID_ARGUMENT:
      return {ErrorCode::InvalidArgument, text};
    case grpc::StatusCode::PERMISSION_DENIED:
    case grpc::StatusCode::UNAUTHENTICATED:
      return {ErrorCode::PermissionDenied, text};
    case grpc::StatusCode::UNIMPLEMENTED:
      return {ErrorCode::VersionMismatch, text + "; version 3.4 or later is needed"};
    case grpc::StatusCode::FAILED_PRECONDITION:
      return {ErrorCode::Busy, text};
    case grpc::StatusCode::NOT_FOUND:
      return {ErrorCode::NotFound, text};
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      return {ErrorCode::TimedOut, text};
    default:
      return {ErrorCode::Unreachable, text};
  }
}

// A certificate that is over would only be refused by the other side, for a reason that it does not tell.
Status check_dates(const std::string& path, const std::string& pem) {
  if (pem.empty()) return {};
  const std::unique_ptr<BIO, decltype(&BIO_free)> in(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())),
                                                     BIO_free);
  const std::unique_ptr<X509, decltype(&X509_free)> certificate(
      in ? PEM_read_bio_X509(in.get(), nullptr, nullptr, nullptr) : nullptr, X509_free);
  if (!certificate) return fail(ErrorCode::ConfigInvalid, path + " holds no certificate in PEM form");
  const bool over = X509_cmp_current_time(X509_get0_notAfter(certificate.get())) < 0;
  if (!over && X509_cmp_current_time(X509_get0_notBefore(certificate.get())) < 0) return {};
  return fail(ErrorCode::ConfigInvalid,
              fmt::format("the certificate {} is not valid {}: renew it{}", path,
                          over ? "any more (it has expired)" : "yet", over ? "" : ", or set this host's clock right"));
}

std::shared_ptr<grpc::Channel> dial(const std::string& target,
                                    const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
  grpc::ChannelArguments arguments;
  // A member that was restarted is found at once. The second one is how long a connection may take to open.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 1000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 500);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetMaxReceiveMessageSize(-1);
  return grpc::CreateCustomChannel(target, credentials, arguments);
}

}  // namespace

struct EtcdClient::Endpoint {
  std::string name;
  std::unique_ptr<etcdserverpb::KV::Stub> kv;
  std::unique_ptr<etcdserverpb::Maintenance::Stub> maintenance;
  std::unique_ptr<etcdserverpb::Cluster::Stub> cluster;
};

struct EtcdClient::State {
  Duration timeout{0};
  std::vector<Endpoint> endpoints;
  std::atomic<std::size_t> current{0};
};

EtcdClient::EtcdClient(std::unique_ptr<State> state) : state_(std::move(state)) {}
EtcdClient::~EtcdClient() = default;

Result<std::unique_ptr<EtcdClient>> EtcdClient::open(const Options& options) {
  if (options.endpoints.empty()) return fail(ErrorCode::ConfigInvalid, "no address of etcd is configured");
  grpc::SslCredentialsOptions ssl;
  const auto load = [](const std::string& path, std::string* into) -> Status {
    if (path.empty()) return {};
    SPUR_ASSIGN(*into, read_file(path, kMaxPemBytes));
    return {};
  };
  SPUR_TRY(load(options.ca_file, &ssl.pem_root_certs));
  SPUR_TRY(load(options.certificate_file, &ssl.pem_cert_chain));
  SPUR_TRY(load(options.key_file, &ssl.pem_private_key));
  SPUR_TRY(check_dates(options.ca_file, ssl.pem_root_certs));
  SPUR_TRY(check_dates(options.certificate_file, ssl.pem_cert_chain));
  auto state = std::make_unique<State>();
  state->timeout = options.timeout;
  for (const std::string& text : options.endpoints) {
    std::string target = text;
    std::shared_ptr<grpc::ChannelCredentials> credentials = grpc::InsecureChannelCredentials();
    if (text.starts_with("https://")) {
      target = text.substr(8);
      credentials = grpc::SslCredentials(ssl);
    } else if (text.starts_with("http://")) {
      target = text.substr(7);
    } else if (!text.starts_with("unix:")) {
      return fail(ErrorCode::ConfigInvalid,
                  fmt::format("{} is no address of etcd: http://host:port or https://host:port is wanted", text));
    }
    auto channel = dial(target, credentials);
    state->endpoints.push_back(
        {text, etcdserverpb::KV::NewStub(channel), etcdserverpb::Maintenance::NewStub(channel),
         etcdserverpb::Cluster::NewStub(channel)});
  }
  return std::unique_ptr<EtcdClient>(new EtcdClient(std::move(state)));
}

template <class Call>
Status EtcdClient::run(Call&& call, Duration patience) {
  const std::size_t at = state_->current.load();
  Endpoint& endpoint = state_->endpoints[at];
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + (patience > Duration{0} ? patience : state_->timeout));
  const grpc::Status status = call(endpoint, context);
  if (status.ok()) return {};
  std::size_t expected = at;
  state_->current.compare_exchange_strong(expected, (at + 1) % state_->endpoints.size());
  return std::unexpected(from_grpc(status, endpoint.name));
}

Result<EtcdRange> EtcdClient::range(const std::string& from, const std::string& to, std::int64_t limit, bool local) {
  etcdserverpb::RangeRequest request;
  request.set_key(from);
  request.set_range_end(to);
  request.set_limit(limit);
  request.set_serializable(local);
  etcdserverpb::RangeResponse response;
  SPUR_TRY(run([&](Endpoint& endpoint, grpc::ClientContext& context) {
    return endpoint.kv->Range(&context, request, &response);
  }));
  EtcdRange out{.values = {}, .more = response.more(), .revision = response.header().revision()};
  out.values.reserve(static_cast<std::size_t>(response.kvs_size()));
  for (auto& kv : *response.mutable_kvs())
    out.values.push_back(
        {std::move(*kv.mutable_key()), std::move(*kv.mutable_value()), kv.create_revision(), kv.mod_revision()});
  return out;
}

Result<EtcdCommit> EtcdClient::commit(const EtcdTransaction& transaction) {
  etcdserverpb::TxnRequest request;
  for (const auto& [key, revision] : transaction.unchanged) {
    auto* compare = request.add_compare();
    compare->set_result(etcdserverpb::Compare::EQUAL);
    compare->set_target(etcdserverpb::Compare::MOD);
    compare->set_key(key);
    compare->set_mod_revision(revision);
  }
  for (const auto& [key, value] : transaction.puts) {
    auto* put = request.add_success()->mutable_request_put();
    put->set_key(key);
    put->set_value(value);
  }
  for (const auto& [from, to] : transaction.deletes) {
    auto* remove = request.add_success()->mutable_request_delete_range();
    remove->set_key(from);
    remove->set_range_end(to);
  }
  etcdserverpb::TxnResponse response;
  SPUR_TRY(run([&](Endpoint& endpoint, grpc::ClientContext& context) {
    return endpoint.kv->Txn(&context, request, &response);
  }, transaction.patience));
  return EtcdCommit{response.succeeded(), response.header().revision()};
}

Result<std::string> EtcdClient::version() {
  etcdserverpb::StatusResponse response;
  SPUR_TRY(run([&](Endpoint& endpoint, grpc::ClientContext& context) {
    return endpoint.maintenance->Status(&context, etcdserverpb::StatusRequest{}, &response);
  }));
  return response.version();
}

Result<std::uint64_t> EtcdClient::leads() {
  etcdserverpb::StatusResponse response;
  SPUR_TRY(run([&](Endpoint& endpoint, grpc::ClientContext& context) {
    return endpoint.maintenance->Status(&context, etcdserverpb::StatusRequest{}, &response);
  }));
  return response.leader() == response.header().member_id() ? response.leader() : 0;
}

Status EtcdClient::hand_lead_to(std::uint64_t member) {
  etcdserverpb::MoveLeaderRequest request;
  request.set_targetid(member);
  etcdserverpb::MoveLeaderResponse response;
  return run([&](Endpoint& endpoint, grpc::ClientContext& context) {
    return endpoint.maintenance->MoveLeader(&context, request, &response);
  });
}

Result<std::vector<EtcdMember>> EtcdClient::members() {
  etcdserverpb::MemberListResponse response;
  SPUR_TRY(run([&](Endpoint& endpoint, grpc::ClientContext& context) {
    return endpoint.cluster->MemberList(&context, etcdserverpb::MemberListRequest{}, &response);
  }));
  std::vector<EtcdMember> out;
  for (const auto& member : response.members())
    out.push_back({member.id(), member.name(), member.peerurls_size() > 0 ? member.peerurls(0) : std::string(),
                   member.islearner(), member.clienturls_size() > 0});
  return out;
}

Status EtcdClient::add_learner(const std::string& peer) {
  etcdserverpb::MemberAddRequest request;
  request.add_peerurls(peer);
  request.set_islearner(true);
  etcdserverpb::MemberAddResponse response;
  return run([&](Endpoint& endpoint, grpc::ClientContext& context) {
    return endpoint.cluster->MemberAdd(&context, request, &response);
  });
}

Status EtcdClient::promote(std::uint64_t member) {
  etcdserverpb::MemberPromoteRequest request;
  request.set_id(member);
  etcdserverpb::MemberPromoteResponse response;
  return run([&](Endpoint& endpoint, grpc::ClientContext& context) {
    return endpoint.cluster->MemberPromote(&context, request, &response);
  });
}

Status EtcdClient::remove(std::uint64_t member) {
  etcdserverpb::MemberRemoveRequest request;
  request.set_id(member);
  etcdserverpb::MemberRemoveResponse response;
  return run([&](Endpoint& endpoint, grpc::ClientContext& context) {
    return endpoint.cluster->MemberRemove(&context, request, &response);
  });
}

}  // namespace spur::os
