// SPDX-License-Identifier: Apache-2.0
#include "stepd/file_writer.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "os/test_directory.h"
#include "stepd/file_reader.h"
#include "stepd/file_run.h"
#include "wire/file_block.h"
#include "wire/grpc_framing.h"

namespace spur::stepd {
namespace {

namespace fs = std::filesystem;

std::string content(const std::string& path) {
  std::stringstream out;
  out << std::ifstream(path).rdbuf();
  return out.str();
}

class FileWriterTest : public testing::Test {
 protected:
  v1::FileSend file(const std::string& name, std::uint64_t size, bool replace = false) const {
    v1::FileSend out;
    out.set_path(path(name));
    out.set_mode(0751);
    out.set_size(size);
    out.set_replace(replace);
    return out;
  }
  std::string path(const std::string& name) const { return directory_.path() + "/" + name; }
  std::size_t entries() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(directory_.path()), fs::directory_iterator{}));
  }
  void put(const std::string& name, const std::string& text) const { std::ofstream(path(name)) << text; }

  os::TestDirectory directory_;
};

TEST_F(FileWriterTest, AFileAppearsWhenItIsWhole) {
  FileWriter writer;
  auto wanted = file("a", 6);
  wanted.set_accessed_ns(5'000'000'001);
  wanted.set_modified_ns(7'000'000'002);
  ASSERT_FALSE(writer.begin(wanted));
  ASSERT_FALSE(writer.write("abc"));
  EXPECT_FALSE(fs::exists(path("a")));
  ASSERT_FALSE(writer.write("def"));
  ASSERT_FALSE(writer.finish());
  EXPECT_EQ(content(path("a")), "abcdef");
  struct stat info{};
  ASSERT_EQ(::stat(path("a").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0751u);
  EXPECT_EQ(info.st_mtim.tv_sec, 7);
  EXPECT_EQ(info.st_mtim.tv_nsec, 2);
  EXPECT_EQ(entries(), 1u);
}

TEST_F(FileWriterTest, WhatIsNotFinishedLeavesNothing) {
  put("a", "old");
  {
    FileWriter writer;
    ASSERT_FALSE(writer.begin(file("a", 6, true)));
    ASSERT_FALSE(writer.write("abc"));
    EXPECT_EQ(writer.finish().number, EIO) << "half of it is not it";
    EXPECT_EQ(writer.write("defg").number, EFBIG);
  }
  EXPECT_EQ(content(path("a")), "old");
  EXPECT_EQ(entries(), 1u);
}

TEST_F(FileWriterTest, WhatIsThereStaysUnlessReplaced) {
  put("a", "old");
  fs::create_directory(path("d"));
  EXPECT_EQ(FileWriter().begin(file("a", 1)).number, EEXIST);
  EXPECT_EQ(FileWriter().begin(file("d", 1, true)).number, EISDIR);
  EXPECT_EQ(FileWriter().begin(file("none/a", 1)).number, ENOENT);
  EXPECT_EQ(FileWriter().begin(file("a/b", 1)).number, ENOTDIR);
  {
    FileWriter late;
    ASSERT_FALSE(late.begin(file("b", 1)));
    put("b", "other");  // somebody was faster
    ASSERT_FALSE(late.write("x"));
    EXPECT_EQ(late.finish().number, EEXIST);
  }
  EXPECT_EQ(content(path("b")), "other");
  FileWriter writer;
  fs::create_symlink("a", path("link"));
  ASSERT_FALSE(writer.begin(file("link", 3, true)));
  ASSERT_FALSE(writer.write("new"));
  ASSERT_FALSE(writer.finish());
  EXPECT_EQ(content(path("a")), "new") << "a link is followed, not replaced";
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(entries(), 4u);
}

TEST_F(FileWriterTest, DevicesAreWrittenToNotReplaced) {
  v1::FileSend null = file("", 3, true);
  null.set_path("/dev/null");
  FileWriter writer;
  ASSERT_FALSE(writer.begin(null));
  ASSERT_FALSE(writer.write("abc"));
  ASSERT_FALSE(writer.finish());
  struct stat info{};
  ASSERT_EQ(::stat("/dev/null", &info), 0);
  EXPECT_TRUE(S_ISCHR(info.st_mode));
}

TEST_F(FileWriterTest, NamesThatAreNone) {
  for (const std::string& name :
       {std::string("relative"), std::string("/tmp/"), std::string("/tmp/a\0b", 8), std::string()}) {
    v1::FileSend wanted = file("", 1);
    wanted.set_path(name);
    EXPECT_EQ(FileWriter().begin(wanted).number, EINVAL) << name;
  }
}

TEST_F(FileWriterTest, ADirectoryIsReadWithAllInIt) {
  fs::create_directories(path("d/sub"));
  put("d/sub/x", "content");
  fs::create_symlink("sub/x", path("d/link"));
  ASSERT_EQ(::mkfifo(path("d/pipe").c_str(), 0600), 0);
  v1::FileFetch fetch;
  fetch.set_path(path("d"));
  std::string seen;
  const FileSink sink{.entry =
                          [&](const v1::FileEntry& entry) {
                            seen += "[" + entry.path() + (entry.link().empty() ? "" : "->" + entry.link()) + "]";
                            return true;
                          },
                      .data =
                          [&](std::string_view data) {
                            seen += data;
                            return true;
                          }};
  EXPECT_EQ(read_files(fetch, sink).number, EISDIR);
  fetch.set_recursive(true);
  EXPECT_FALSE(read_files(fetch, sink));
  EXPECT_EQ(seen, "[][link->sub/x][sub][sub/x]content");
  EXPECT_FALSE(remove_files(path("d")));
  EXPECT_FALSE(fs::exists(path("d")));
}

// The far end of the agent's stream.
class Talk {
 public:
  Talk() {
    int fds[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) std::abort();
    ours_.reset(fds[0]);
    thread_ = std::thread([theirs = os::UniqueFd(fds[1])]() mutable { serve_files(theirs.get(), "n1"); });
  }
  ~Talk() {
    ours_.reset();
    thread_.join();
  }
  void say(const v1::FileInput& input) const {
    std::string frame;
    wire::append_frame(input.SerializeAsString(), &frame);
    EXPECT_EQ(::send(ours_.get(), frame.data(), frame.size(), MSG_NOSIGNAL), static_cast<ssize_t>(frame.size()));
  }
  v1::FileOutput hear() {
    while (heard_.empty()) {
      char bytes[4096];
      const ssize_t n = ::recv(ours_.get(), bytes, sizeof bytes, 0);
      if (n <= 0) return {};
      EXPECT_TRUE(reader_.take({bytes, static_cast<std::size_t>(n)}, [&](std::string_view message) {
        EXPECT_TRUE(heard_.emplace_back().ParseFromString(std::string(message)));
      }));
    }
    auto out = heard_.front();
    heard_.erase(heard_.begin());
    return out;
  }

 private:
  os::UniqueFd ours_;
  std::thread thread_;
  wire::FrameReader reader_{1 << 20};
  std::vector<v1::FileOutput> heard_;
};

TEST_F(FileWriterTest, OverTheStream) {
  v1::FileInput start, block, end;
  *start.mutable_start()->mutable_send() = file("a", 5);
  *block.mutable_block() = wire::make_file_block("hello", false);
  end.mutable_end();
  {
    Talk talk;
    talk.say(start);
    talk.say(block);
    talk.say(end);
    EXPECT_EQ(talk.hear().done().node(), "n1");
  }
  EXPECT_EQ(content(path("a")), "hello");
  {
    Talk talk;
    talk.say(start);
    EXPECT_EQ(talk.hear().error().number(), EEXIST);
  }
  {
    Talk talk;
    talk.say(block);
    EXPECT_EQ(talk.hear().error().number(), EBADMSG) << "a block before the start";
  }
  {
    Talk talk;
    start.mutable_start()->mutable_send()->set_path(path("b"));
    talk.say(start);
    block.mutable_block()->set_checksum(0);
    talk.say(block);
    EXPECT_EQ(talk.hear().error().number(), EIO) << "damaged";
  }
  EXPECT_EQ(entries(), 1u);
  {
    Talk talk;
    start.mutable_start()->mutable_fetch()->set_path(path("a"));
    start.mutable_start()->mutable_fetch()->set_remove(true);
    talk.say(start);
    EXPECT_EQ(talk.hear().entry().size(), 5u);
    EXPECT_EQ(talk.hear().block().data(), "hello");
    EXPECT_TRUE(talk.hear().has_done());
    EXPECT_TRUE(fs::exists(path("a"))) << "until the caller has it";
    talk.say(end);
    EXPECT_EQ(talk.hear().kind_case(), v1::FileOutput::KIND_NOT_SET);
  }
  EXPECT_EQ(entries(), 0u);
}

}  // namespace
}  // namespace spur::stepd
