// SPDX-License-Identifier: Apache-2.0
// What auth_socket_test.cc does not show: answers from other threads, answers larger than the socket's buffer,
// callers that do not read, and the limit on a user's memory.
#include "os/local_socket.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <thread>

#include "os/system_clock.h"
#include "os/test_directory.h"

namespace spur::os {
namespace {

std::string framed_call(const std::string& body) {
  std::string bytes;
  for (int i = 0; i < 4; ++i) bytes.push_back(static_cast<char>(body.size() >> (8 * i)));
  return bytes + body;
}

class LocalSocketTest : public ::testing::Test {
 protected:
  std::unique_ptr<LocalSocket> open(LocalSocket::Options options, LocalSocket::Handler handler) {
    options.path = path_;
    auto socket = LocalSocket::open(std::move(options), std::move(handler), clock_);
    EXPECT_TRUE(socket) << socket.error().message;
    return socket ? *std::move(socket) : nullptr;
  }
  UniqueFd call(const std::string& bytes) {
    UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path_.copy(address.sun_path, sizeof address.sun_path - 1);
    if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return {};
    std::string_view left(bytes);
    while (!left.empty()) {
      const ssize_t n = ::send(fd.get(), left.data(), left.size(), MSG_NOSIGNAL);
      if (n <= 0) break;
      left.remove_prefix(static_cast<std::size_t>(n));
    }
    return fd;
  }
  static std::string read_all(int fd) {
    std::string bytes;
    char buffer[65536];
    for (ssize_t n; (n = ::read(fd, buffer, sizeof buffer)) > 0;) bytes.append(buffer, static_cast<std::size_t>(n));
    return bytes;
  }

  TestDirectory dir_;
  const std::string path_ = dir_ / "run/local.sock";
  SystemClock clock_;
};

TEST_F(LocalSocketTest, AnswersFromOtherThreads) {
  std::vector<std::thread> threads;
  std::mutex mutex;
  const auto socket =
      open({.path = {}, .threads = 2}, [&](std::string request, std::shared_ptr<LocalSocket::Line> line) {
        const std::lock_guard lock(mutex);
        threads.emplace_back([request, line] {
          line->send("you said ");
          line->send(request);
          line->finish();
        });
      });
  std::vector<UniqueFd> callers;
  for (int i = 0; i < 50; ++i) callers.push_back(call(framed_call(std::to_string(i))));
  for (int i = 0; i < 50; ++i)
    EXPECT_EQ(read_all(callers[static_cast<std::size_t>(i)].get()), "you said " + std::to_string(i));
  const std::lock_guard lock(mutex);
  for (auto& thread : threads) thread.join();
}

TEST_F(LocalSocketTest, LongAnswersArePulledAsTheyAreRead) {
  std::atomic<int> pulled{0};
  const auto socket = open({.path = {}, .stall_limit = seconds(60)},
                           [&](const std::string& request, std::shared_ptr<LocalSocket::Line> line) {
                             if (request == "short") {
                               line->send("here");
                               return line->finish();
                             }
                             line->stream([&](std::string* out) {
                               out->append(100'000, 'x');
                               return ++pulled < 200;
                             });
                           });
  const UniqueFd slow = call(framed_call("long"));
  EXPECT_EQ(read_all(call(framed_call("short")).get()), "here") << "who does not read holds nobody up";
  EXPECT_LT(pulled, 100) << "nothing is made ahead for who does not read";
  EXPECT_EQ(read_all(slow.get()).size(), 20'000'000u);
}

TEST_F(LocalSocketTest, WhoDoesNotReadIsDropped) {
  std::mutex mutex;
  std::condition_variable changed;
  std::shared_ptr<LocalSocket::Line> kept;
  const auto socket =
      open({.path = {}, .stall_limit = milliseconds(100)}, [&](std::string, std::shared_ptr<LocalSocket::Line> line) {
        line->send(std::string(8 << 20, 'x'));
        const std::lock_guard lock(mutex);
        kept = std::move(line);
        changed.notify_all();
      });
  const UniqueFd fd = call(framed_call("x"));
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return kept != nullptr; });
  for (int i = 0; i < 1000 && !kept->gone(); ++i) std::this_thread::sleep_for(milliseconds(10));
  EXPECT_TRUE(kept->gone());
  kept->send("too late");  // goes nowhere
  kept->finish();
}

TEST_F(LocalSocketTest, CallerWhoLeavesIsNoticed) {
  std::mutex mutex;
  std::condition_variable changed;
  std::shared_ptr<LocalSocket::Line> kept;
  const auto socket = open({.path = {}}, [&](std::string, std::shared_ptr<LocalSocket::Line> line) {
    const std::lock_guard lock(mutex);
    kept = std::move(line);
    changed.notify_all();
  });
  UniqueFd fd = call(framed_call("wait for me"));
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return kept != nullptr; });
  EXPECT_FALSE(kept->gone());
  fd.reset();
  for (int i = 0; i < 1000 && !kept->gone(); ++i) std::this_thread::sleep_for(milliseconds(10));
  EXPECT_TRUE(kept->gone());
}

TEST_F(LocalSocketTest, OneUserGetsOnlySoMuchMemory) {
  const auto socket = open(
      {.path = {}, .max_request_bytes = 1 << 20, .max_user_request_bytes = 3 << 20, .request_limit = seconds(60)},
      [](std::string request, std::shared_ptr<LocalSocket::Line> line) {
        line->send(std::to_string(request.size()));
        line->finish();
      });
  const std::string whole = framed_call(std::string(1 << 20, 'x'));
  std::vector<UniqueFd> idle;  // each all but one byte
  for (int i = 0; i < 2; ++i) idle.push_back(call(whole.substr(0, whole.size() - 1)));
  std::string answer;
  for (int i = 0; i < 1000 && answer != "524288"; ++i)
    answer = read_all(call(framed_call(std::string(1 << 19, 'x'))).get());
  EXPECT_EQ(answer, "524288");
  idle.push_back(call(whole));  // that would be the fourth megabyte and more
  EXPECT_EQ(read_all(call(whole).get()).size(), 0u);
  idle.clear();
  for (int i = 0; i < 1000 && answer != "1048576"; ++i) answer = read_all(call(whole).get());
  EXPECT_EQ(answer, "1048576");
}

TEST_F(LocalSocketTest, LinesOutliveTheSocket) {
  std::mutex mutex;
  std::condition_variable changed;
  std::shared_ptr<LocalSocket::Line> kept;
  auto socket = open({.path = {}}, [&](std::string, std::shared_ptr<LocalSocket::Line> line) {
    const std::lock_guard lock(mutex);
    kept = std::move(line);
    changed.notify_all();
  });
  const UniqueFd fd = call(framed_call("x"));
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return kept != nullptr; });
  socket.reset();
  EXPECT_EQ(read_all(fd.get()), "");
  EXPECT_TRUE(kept->gone());
  kept->send("nobody is there");
  kept->finish();
}

}  // namespace
}  // namespace spur::os
