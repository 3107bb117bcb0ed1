// SPDX-License-Identifier: Apache-2.0
#include "os/step_channels.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <deque>
#include <utility>

#include "os/files.h"
#include "os/looped_stream.h"
#include "wire/grpc_framing.h"

namespace spur::os {
namespace {

constexpr std::uint16_t kAgentPort = 6818;
constexpr std::size_t kMaxOutputBytes = std::size_t{16} << 20;
constexpr std::size_t kReadBytes = std::size_t{512} << 10;
constexpr wire::LeanStream::KeepAlive kStepKeepAlive{.interval = std::chrono::seconds(15),
                                                 .timeout = std::chrono::seconds(10)};

// Frames over the socket to a spurstepd. Events are posted, so that the owner may destroy the channel in any of them.
class LocalChannel final : public io::StepChannel {
 public:
  LocalChannel(EventLoop& loop, Events events) : loop_(loop), events_(std::move(events)) {}
  ~LocalChannel() override {
    *alive_ = false;
    if (fd_) loop_.unwatch(fd_.get());
  }

  void attach(Result<UniqueFd> socket) {
    if (!socket) return close(std::unexpected(socket.error()));
    fd_ = std::move(*socket);
    watching_ = EPOLLIN;
    if (auto ok = loop_.watch(fd_.get(), watching_, [this](std::uint32_t events) { on_ready(events); }); !ok)
      return close(std::move(ok));
    write_some();
  }

  void send(std::string input, std::function<void()> written) override {
    std::string frame;
    wire::append_frame(input, &frame);
    queue_.push_back({std::move(frame), std::move(written)});
    write_some();
  }

  void pause(bool paused) override {
    paused_ = paused;
    follow();
  }

  std::shared_ptr<bool> alive() const { return alive_; }

 private:
  struct Frame {
    std::string bytes;
    std::function<void()> written;
  };

  void later(std::function<void()> f) {
    loop_.post([alive = alive_, f = std::move(f)] {
      if (*alive) f();
    });
  }

  void on_ready(std::uint32_t events) {
    if (events & EPOLLOUT) write_some();
    if (fd_ && (events & (EPOLLIN | EPOLLHUP | EPOLLERR))) read_some();
  }

  void read_some() {
    if (!buffer_) buffer_ = std::make_unique_for_overwrite<char[]>(kReadBytes);
    const ssize_t n = ::recv(fd_.get(), buffer_.get(), kReadBytes, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n < 0) return close(fail_errno("the step's socket", errno));
    if (n == 0) return close({});
    const Status ok =
        reader_.take(std::string_view(buffer_.get(), static_cast<std::size_t>(n)), [this](std::string_view message) {
          later([this, text = std::string(message)]() mutable {
            const auto call = events_.on_output;
            call(std::move(text));
          });
        });
    if (!ok) close(ok);
  }

  void write_some() {
    while (fd_ && !queue_.empty()) {
      Frame& frame = queue_.front();
      const ssize_t n =
          ::send(fd_.get(), frame.bytes.data() + sent_, frame.bytes.size() - sent_, MSG_DONTWAIT | MSG_NOSIGNAL);
      if (n < 0 && (errno == EAGAIN || errno == EINTR)) break;
      if (n < 0) break;  // the reading side tells how it ended, after what was still in there
      sent_ += static_cast<std::size_t>(n);
      if (sent_ < frame.bytes.size()) continue;
      if (frame.written) later(std::move(frame.written));
      queue_.pop_front();
      sent_ = 0;
    }
    follow();
  }

  void follow() {
    if (!fd_) return;
    const std::uint32_t wanted = (paused_ ? 0u : static_cast<std::uint32_t>(EPOLLIN)) |
                                 (queue_.empty() ? 0u : static_cast<std::uint32_t>(EPOLLOUT));
    if (wanted == watching_) return;
    watching_ = wanted;
    loop_.change(fd_.get(), wanted);
  }

  void close(Status status) {
    if (fd_) {
      loop_.unwatch(fd_.get());
      fd_ = {};
    }
    if (std::exchange(closed_, true)) return;
    later([this, status = std::move(status)]() mutable {
      const auto call = events_.on_closed;
      call(std::move(status));
    });
  }

  EventLoop& loop_;
  Events events_;
  UniqueFd fd_;
  std::unique_ptr<char[]> buffer_;
  wire::FrameReader reader_{kMaxOutputBytes};
  std::deque<Frame> queue_;
  std::size_t sent_ = 0;
  std::uint32_t watching_ = 0;
  bool paused_ = false, closed_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

class RemoteChannel final : public io::StepChannel {
 public:
  RemoteChannel(EventLoop& loop, const std::string& address, std::string_view method, Events events)
      : loop_(loop), events_(std::move(events)) {
    const auto open = [&]() -> Result<std::unique_ptr<LoopedStream>> {
      SPUR_ASSIGN(const auto peer, wire::parse_peer_address(address, kAgentPort));
      LoopedStream::Events inner{.on_message = events_.on_output, .on_end = events_.on_closed};
      return LoopedStream::open(loop_, peer, method, {}, std::move(inner), kStepKeepAlive);
    };
    auto stream = open();
    if (stream) {
      stream_ = std::move(*stream);
      stream_->on_progress = [this] { tell_written(); };
      return;
    }
    loop_.post([alive = alive_, call = events_.on_closed, error = stream.error()] {
      if (*alive) call(std::unexpected(error));
    });
  }
  ~RemoteChannel() override { *alive_ = false; }

  void send(std::string input, std::function<void()> written) override {
    if (!stream_) return;
    stream_->send(input);
    if (written) waiting_.push_back(std::move(written));
    tell_written();
  }

  void pause(bool paused) override {
    if (stream_) stream_->pause(paused);
  }

 private:
  void tell_written() {
    if (waiting_.empty() || stream_->queued_bytes() > kReadBytes) return;
    auto ready = std::exchange(waiting_, {});
    loop_.post([ready = std::move(ready)] {
      for (const auto& f : ready) f();
    });
  }

  EventLoop& loop_;
  Events events_;
  std::unique_ptr<LoopedStream> stream_;
  std::vector<std::function<void()>> waiting_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace

std::unique_ptr<io::StepChannel> StepChannels::open_local(const model::ControllerLaunch& launch, std::uint32_t step,
                                                          io::StepChannel::Events events) {
  auto channel = std::make_unique<LocalChannel>(loop_, std::move(events));
  launcher_.start_step(launch, step, [raw = channel.get(), alive = channel->alive()](Result<UniqueFd> socket) {
    if (*alive) raw->attach(std::move(socket));
  });
  return channel;
}

std::unique_ptr<io::StepChannel> StepChannels::resume_local(model::JobRun run, std::uint32_t step,
                                                            const std::string& key, io::StepChannel::Events events) {
  auto channel = std::make_unique<LocalChannel>(loop_, std::move(events));
  launcher_.resume_step(run, step, key, [raw = channel.get(), alive = channel->alive()](Result<UniqueFd> socket) {
    if (*alive) raw->attach(std::move(socket));
  });
  return channel;
}

std::unique_ptr<io::StepChannel> StepChannels::open_remote(const std::string& address,
                                                           io::StepChannel::Events events) {
  return std::make_unique<RemoteChannel>(loop_, address, "/spur.v1.NodeAgent/RunStep", std::move(events));
}

std::unique_ptr<io::StepChannel> StepChannels::open_files(const model::ControllerLaunch& launch,
                                                          io::StepChannel::Events events) {
  auto channel = std::make_unique<LocalChannel>(loop_, std::move(events));
  launcher_.start_files(launch, [raw = channel.get(), alive = channel->alive()](Result<UniqueFd> socket) {
    if (*alive) raw->attach(std::move(socket));
  });
  return channel;
}

std::unique_ptr<io::StepChannel> StepChannels::open_remote_files(const std::string& address,
                                                                 io::StepChannel::Events events) {
  return std::make_unique<RemoteChannel>(loop_, address, "/spur.v1.NodeFiles/Transfer", std::move(events));
}

}  // namespace spur::os
