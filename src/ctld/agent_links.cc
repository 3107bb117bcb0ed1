// SPDX-License-Identifier: Apache-2.0
#include "ctld/agent_links.h"

#include <utility>
#include <vector>

#include "ctld/authorization.h"
#include "ctld/rpc_status.h"
#include "wire/agent_codec.h"
#include "wire/config_codec.h"
#include "wire/node_codec.h"

namespace spur::ctld {
namespace {

// A node that does not read is cut off rather than buffered for without end; it dials again and is told everything anew.
constexpr std::size_t kMaxQueued = 50'000;

std::string_view metadata(grpc::CallbackServerContext* context, const char* key) {
  const auto& all = context->client_metadata();
  const auto it = all.find(key);
  return it == all.end() ? std::string_view{} : std::string_view(it->second.data(), it->second.size());
}

}  // namespace

// Lives as long as gRPC or the table of links needs it: gRPC's hold ends in OnDone.
class AgentLinks::Stream final : public grpc::ServerBidiReactor<v1::AgentMessage, v1::ControllerMessage>,
                                 public std::enable_shared_from_this<Stream> {
 public:
  Stream(Service& service, grpc::CallbackServerContext* context) : service_(service), context_(context) {}

  void begin() {
    self_ = shared_from_this();
    StartRead(&in_);
  }

  void send(const model::ControllerMessage& message) {
    v1::ControllerMessage out;
    wire::to_proto(message, &out);
    std::lock_guard lock(mutex_);
    if (finished_) return;
    if (queue_.size() >= kMaxQueued) return finish_locked(grpc::Status(grpc::RESOURCE_EXHAUSTED, "too slow"));
    queue_.push_back(std::move(out));
    if (!writing_) write_locked();
  }

  void finish(grpc::Status status) {
    std::lock_guard lock(mutex_);
    finish_locked(std::move(status));
  }

  void OnReadDone(bool ok) override {
    if (!ok) return finish(grpc::Status::OK);
    model::AgentMessage message;
    if (auto status = wire::from_proto(in_, &message); !status) return finish(rpc_status(context_, status.error()));
    if (node_.empty()) {
      if (auto status = welcome(message); !status) return finish(rpc_status(context_, status.error()));
    }
    // A later hello must still speak for the same node.
    if (const auto* hello = std::get_if<model::AgentHello>(&message); hello && hello->node != node_)
      return finish(rpc_status(context_, Error{ErrorCode::PermissionDenied, "one stream speaks for one node"}));
    service_.core_.post([self = shared_from_this(), message = std::move(message)](Controller& controller) {
      controller.on_agent_message(self->node_, message);
    });
    StartRead(&in_);
  }

  void OnWriteDone(bool ok) override {
    std::lock_guard lock(mutex_);
    writing_ = false;
    if (!queue_.empty()) queue_.pop_front();
    if (ok && !finished_ && !queue_.empty()) write_locked();
  }

  void OnCancel() override { finish(grpc::Status::CANCELLED); }

  void OnDone() override {
    if (!node_.empty() && service_.links_.drop(node_, this))
      service_.core_.post([node = node_](Controller& controller) { controller.on_agent_disconnected(node); });
    self_.reset();
  }

 private:
  Status welcome(const model::AgentMessage& message) {
    const auto* hello = std::get_if<model::AgentHello>(&message);
    if (!hello || hello->node.empty()) return fail(ErrorCode::InvalidArgument, "a stream begins with a hello");
    if (!service_.core_.picture()->leading) return std::unexpected(service_.away());
    SPUR_TRY(service_.identify_.agent(metadata(context_, "spur-credential-bin"), metadata(context_, "spur-join-token"),
                                      hello->node, hello->public_key, service_.core_.picture()->view));
    node_ = hello->node;
    if (auto old = service_.links_.adopt(node_, shared_from_this()))
      old->finish(grpc::Status(grpc::ABORTED, "the node has dialled again"));
    service_.core_.post([node = node_](Controller& controller) { controller.on_agent_connected(node); });
    return {};
  }

  void write_locked() {
    writing_ = true;
    StartWrite(&queue_.front());
  }

  void finish_locked(grpc::Status status) {
    if (std::exchange(finished_, true)) return;
    Finish(std::move(status));
  }

  Service& service_;
  grpc::CallbackServerContext* context_;
  std::shared_ptr<Stream> self_;
  v1::AgentMessage in_;
  std::string node_;
  std::mutex mutex_;
  std::deque<v1::ControllerMessage> queue_;   // the front is being written while writing_
  bool writing_ = false, finished_ = false;
};

grpc::ServerBidiReactor<v1::AgentMessage, v1::ControllerMessage>* AgentLinks::Service::Connect(
    grpc::CallbackServerContext* context) {
  auto stream = std::make_shared<Stream>(*this, context);
  stream->begin();
  return stream.get();
}

Error AgentLinks::Service::away() const {
  return not_leading_ ? not_leading_() : Error{ErrorCode::Busy, "the controller is starting"};
}

Status AgentLinks::Service::may_join(grpc::CallbackServerContext* context, const std::string& name) const {
  const auto picture = core_.picture();
  if (!picture->leading) return std::unexpected(away());
  SPUR_ASSIGN(const auto caller, identify_.agent(metadata(context, "spur-credential-bin"),
                                                 metadata(context, "spur-join-token"), name, {}, picture->view));
  return authorize("Join", caller);
}

grpc::ServerUnaryReactor* AgentLinks::Service::Join(grpc::CallbackServerContext* context,
                                                    const v1::JoinRequest* request, v1::JoinReply* reply) {
  auto* reactor = context->DefaultReactor();
  model::NodeConfig node;
  state::ClaimFutureNode claim{.hostname = request->hostname(), .feature = request->feature(), .found = {}};
  Status ok = may_join(context, request->has_node() ? request->node().name() : request->hostname());
  if (ok && request->has_node()) ok = wire::from_proto(request->node(), &node);
  if (ok) ok = wire::from_proto(request->found(), &claim.found);
  if (!ok) return reactor->Finish(rpc_status(context, ok.error())), reactor;
  const auto answer = [reactor, context, reply](Result<std::string> name) {
    if (!name) return reactor->Finish(rpc_status(context, name.error()));
    reply->set_node(*std::move(name));
    reactor->Finish(grpc::Status::OK);
  };
  core_.post([own = request->has_node(), node = std::move(node), claim = std::move(claim), answer](Controller& controller) {
    own ? controller.join_node(node, answer) : controller.claim_node(claim, answer);
  });
  return reactor;
}

std::shared_ptr<AgentLinks::Stream> AgentLinks::find(std::string_view node) {
  std::lock_guard lock(mutex_);
  const auto it = streams_.find(node);
  return it == streams_.end() ? nullptr : it->second;
}

std::shared_ptr<AgentLinks::Stream> AgentLinks::adopt(const std::string& node, std::shared_ptr<Stream> stream) {
  std::lock_guard lock(mutex_);
  std::swap(streams_[node], stream);
  return stream;
}

bool AgentLinks::drop(const std::string& node, const Stream* stream) {
  std::shared_ptr<Stream> gone;   // destroyed after the lock
  std::lock_guard lock(mutex_);
  const auto it = streams_.find(node);
  if (it == streams_.end() || it->second.get() != stream) return false;
  gone = std::move(it->second);
  streams_.erase(it);
  return true;
}

void AgentLinks::send(std::string_view node, model::ControllerMessage message) {
  if (auto stream = find(node)) stream->send(message);
}

void AgentLinks::hang_up(std::string_view node) {
  if (auto stream = find(node))
    stream->finish(grpc::Status(grpc::UNAVAILABLE, "the controller's configuration has changed"));
}

void AgentLinks::close() {
  std::map<std::string, std::shared_ptr<Stream>, std::less<>> streams;
  {
    std::lock_guard lock(mutex_);
    streams = streams_;
  }
  for (auto& [node, stream] : streams) stream->finish(grpc::Status(grpc::UNAVAILABLE, "the controller is stopping"));
}

}  // namespace spur::ctld
