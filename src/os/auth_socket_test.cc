// SPDX-License-Identifier: Apache-2.0
#include "os/auth_socket.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <vector>

#include "os/credentials.h"
#include "os/system_clock.h"
#include "os/test_directory.h"
#include "spur/v1/credential.pb.h"

namespace spur::os {
namespace {

std::string framed(const std::string& body) {
  std::string bytes;
  for (int i = 0; i < 4; ++i) bytes.push_back(static_cast<char>(body.size() >> (8 * i)));
  return bytes + body;
}
std::string request_for(const std::string& audience) {
  v1::CredentialRequest request;
  request.set_audience(audience);
  return framed(request.SerializeAsString());
}

UniqueFd connect_to(const std::string& path) {
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) fd.reset();
  return fd;
}
// All until the other side closes.
std::string read_all(int fd) {
  std::string bytes;
  char buffer[4096];
  for (ssize_t n; (n = ::read(fd, buffer, sizeof buffer)) > 0;) bytes.append(buffer, static_cast<std::size_t>(n));
  return bytes;
}
std::string ask(const std::string& path, const std::string& bytes) {
  const UniqueFd fd = connect_to(path);
  if (!fd || ::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0) return {};
  return read_all(fd.get());
}

class AuthSocketTest : public ::testing::Test {
 protected:
  AuthSocket::Options options() const { return {.path = path_, .may_attest = {}}; }
  std::unique_ptr<AuthSocket> open(AuthSocket::Options options) {
    auto socket = AuthSocket::open(std::move(options), signer_, clock_);
    EXPECT_TRUE(socket) << socket.error().message;
    return socket ? *std::move(socket) : nullptr;
  }
  Result<io::Verified> verify(const std::string& reply) {
    TrustedKeyVerifier verifier(
        {.cluster = "alpha", .audience = "controller", .accepts = {io::CredentialKind::User}, .user_on_node = {}});
    verifier.trust(signer_.public_key(), {.any_user = true, .step_tickets = false, .node = {}});
    return verifier.verify(reply.size() > 4 ? reply.substr(4) : "", clock_.now());
  }
  static std::string error_in(const std::string& reply) {
    v1::Credential credential;
    if (reply.size() < 4 || !credential.ParseFromString(reply.substr(4))) return "?";
    return credential.error();
  }

  TestDirectory dir_;
  const std::string path_ = dir_ / "run/auth.sock";
  SystemClock clock_;
  HostCredentialSigner signer_{Ed25519Key::generate().value(), "alpha", "login"};
};

TEST_F(AuthSocketTest, AttestsWhoConnects) {
  const auto socket = open(options());
  const std::string reply = ask(path_, request_for("controller"));
  ASSERT_EQ(framed(reply.substr(4)), reply);
  const auto verified = verify(reply);
  ASSERT_TRUE(verified) << verified.error().message;
  EXPECT_EQ(verified->uid, Uid(::geteuid()));
  EXPECT_EQ(verified->gid, Gid(::getegid()));
  EXPECT_EQ(verified->host, "login");
  struct stat info{};
  ASSERT_EQ(::stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0666u);
  ASSERT_EQ(::stat((dir_ / "run").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0755u);
}

TEST_F(AuthSocketTest, AnotherUserGetsHisOwnUid) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  const auto socket = open(options());
  ASSERT_EQ(::chmod(dir_.path().c_str(), 0755), 0);
  for (const auto& [uid, attested] : {std::pair<uid_t, bool>{4242, true}, {65534, false}}) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const pid_t pid = ::fork();
    if (pid == 0) {
      if (::setgid(4343) != 0 || ::setuid(uid) != 0) ::_exit(1);
      const std::string reply = ask(path_, request_for("controller"));
      ::_exit(::write(ends[1], reply.data(), reply.size()) == static_cast<ssize_t>(reply.size()) ? 0 : 2);
    }
    ::close(ends[1]);
    const std::string reply = read_all(ends[0]);
    ::close(ends[0]);
    int status = 0;
    ::waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0);
    const auto verified = verify(reply);
    EXPECT_EQ(verified.has_value(), attested);
    if (verified) {
      EXPECT_EQ(verified->uid, Uid(uid));
      EXPECT_EQ(verified->gid, Gid(4343));
    } else {
      EXPECT_NE(error_in(reply).find("stands for unknown users"), std::string::npos) << error_in(reply);
    }
  }
}

TEST_F(AuthSocketTest, PolicyRefuses) {
  AuthSocket::Options limited = options();
  limited.may_attest = [](Uid) { return false; };
  const auto socket = open(std::move(limited));
  EXPECT_NE(error_in(ask(path_, request_for("controller"))).find("no job here"), std::string::npos);
}

TEST_F(AuthSocketTest, BadRequests) {
  const auto socket = open(options());
  EXPECT_NE(error_in(ask(path_, request_for(""))).find("audience"), std::string::npos);
  EXPECT_NE(error_in(ask(path_, framed("\xff\xff\xff"))).find("garbled"), std::string::npos);
  EXPECT_EQ(ask(path_, std::string("\xff\xff\xff\x7f", 4)), "");  // a length of 2 GB: closed at once
  EXPECT_EQ(ask(path_, framed(std::string(2000, 'x'))), "");
  EXPECT_TRUE(verify(ask(path_, request_for("controller") + "and more")));
  EXPECT_TRUE(verify(ask(path_, request_for("controller"))));
}

TEST_F(AuthSocketTest, SlowCallersAreCutOffAndDoNotBlockOthers) {
  AuthSocket::Options quick = options();
  quick.time_limit = milliseconds(100);
  quick.max_connections_per_user = 1000;
  quick.max_connections = 20;
  const auto socket = open(std::move(quick));
  std::vector<UniqueFd> idle;
  for (int i = 0; i < 60; ++i) {
    idle.push_back(connect_to(path_));
    ASSERT_TRUE(idle.back());
    ASSERT_EQ(::send(idle.back().get(), "\4", 1, MSG_NOSIGNAL), 1);
  }
  // All places and the queue are taken by callers that never finish; each loses its place after the limit.
  EXPECT_TRUE(verify(ask(path_, request_for("controller"))));
  for (const UniqueFd& fd : idle) EXPECT_EQ(read_all(fd.get()), "");
}

TEST_F(AuthSocketTest, OneUserGetsOnlyHisShare) {
  AuthSocket::Options small = options();
  small.max_connections_per_user = 3;
  small.time_limit = seconds(30);
  const auto socket = open(std::move(small));
  std::vector<UniqueFd> idle;
  for (int i = 0; i < 3; ++i) idle.push_back(connect_to(path_));
  EXPECT_EQ(read_all(connect_to(path_).get()), "");  // the fourth is closed unanswered
  idle.pop_back();
  std::string reply;
  for (int i = 0; i < 1000 && reply.empty(); ++i) reply = ask(path_, request_for("controller"));
  EXPECT_TRUE(verify(reply));
}

TEST_F(AuthSocketTest, CallerGoesAwayBeforeTheReply) {
  const auto socket = open(options());
  for (int i = 0; i < 200; ++i) {
    const UniqueFd fd = connect_to(path_);
    const std::string bytes = request_for("controller");
    ASSERT_EQ(::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  }
  EXPECT_TRUE(verify(ask(path_, request_for("controller"))));
}

TEST_F(AuthSocketTest, ByteByByte) {
  const auto socket = open(options());
  const UniqueFd fd = connect_to(path_);
  for (const char c : request_for("controller")) ASSERT_EQ(::send(fd.get(), &c, 1, MSG_NOSIGNAL), 1);
  EXPECT_TRUE(verify(read_all(fd.get())));
}

TEST_F(AuthSocketTest, StaleSocketIsReplacedLiveOneRefused) {
  {
    const auto first = open(options());
    const auto second = AuthSocket::open(options(), signer_, clock_);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ErrorCode::Busy);
    EXPECT_TRUE(verify(ask(path_, request_for("controller"))));  // the first one is unharmed
  }
  EXPECT_FALSE(std::filesystem::exists(path_));
  // What a killed daemon leaves.
  UniqueFd dead(::socket(AF_UNIX, SOCK_STREAM, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path_.copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(dead.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  // Served by somebody without our lock.
  ASSERT_EQ(::listen(dead.get(), 1), 0);
  EXPECT_EQ(AuthSocket::open(options(), signer_, clock_).error().code, ErrorCode::Busy);
  dead.reset();
  const auto third = open(options());
  EXPECT_TRUE(verify(ask(path_, request_for("controller"))));
}

TEST_F(AuthSocketTest, BadPlaces) {
  const auto code = [&](const std::string& path) {
    AuthSocket::Options at = options();
    at.path = path;
    const auto socket = AuthSocket::open(std::move(at), signer_, clock_);
    return socket ? ErrorCode::Internal : socket.error().code;
  };
  EXPECT_EQ(code(""), ErrorCode::InvalidArgument);
  EXPECT_EQ(code(dir_ / std::string(120, 'x')), ErrorCode::InvalidArgument);
  std::filesystem::create_directory(dir_ / "shared");
  ASSERT_EQ(::chmod((dir_ / "shared").c_str(), 01777), 0);
  EXPECT_EQ(code(dir_ / "shared/auth.sock"), ErrorCode::PermissionDenied);
  std::filesystem::create_directory(dir_ / "mine");
  std::ofstream(dir_ / "mine/auth.sock") << "a file";
  EXPECT_EQ(code(dir_ / "mine/auth.sock"), ErrorCode::AlreadyExists);
}

}  // namespace
}  // namespace spur::os
