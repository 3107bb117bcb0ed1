// SPDX-License-Identifier: Apache-2.0
#include "container/layer_unpack.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "container/digest.h"
#include "container/test_tar.h"
#include "os/test_directory.h"

namespace spur::container {
namespace {

namespace fs = std::filesystem;

class LayerUnpack : public ::testing::Test {
 protected:
  LayerUnpack() {
    fs::create_directory(root());
    fs::create_directory(base() + "/outside");
    fd_ = os::UniqueFd(::open(root().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  std::string base() const { return directory_.path(); }
  std::string root() const { return base() + "/root"; }
  Status unpack(TestTar& tar, const UnpackOptions& options = {}) {
    return unpack_layer(tar.fd(), fd_.get(), {}, {}, options, so_far_);
  }
  std::string read(const std::string& path) const {
    std::ifstream in(root() + "/" + path);
    std::stringstream out;
    out << in.rdbuf();
    return out.str();
  }
  bool there(const std::string& path) const { return fs::exists(fs::symlink_status(root() + "/" + path)); }
  bool outside_is_empty() const { return fs::is_empty(base() + "/outside"); }

  os::TestDirectory directory_;
  os::UniqueFd fd_;
  Unpacked so_far_;
};

TEST_F(LayerUnpack, FilesOfAllKinds) {
  for (const int filter : {0, int{'g'}, int{'z'}}) {
    TestTar tar(filter);
    tar.directory("./d", 0555).file("./d/f", "hello", 04711).symlink("s", "d/f").hardlink("h", "d/f").device("dev0");
    const auto done = unpack(tar);
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(read("d/f"), "hello");
    EXPECT_EQ(read("s"), "hello");
    EXPECT_EQ(fs::hard_link_count(root() + "/h"), 2u);
    EXPECT_FALSE(there("dev0"));
    struct stat info{};
    ASSERT_EQ(::stat((root() + "/d/f").c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 07777, 0711u);  // nobody becomes somebody else by it
    ASSERT_EQ(::stat((root() + "/d").c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 07777, 0755u);  // further layers may add to it
  }
}

TEST_F(LayerUnpack, WhiteoutsHideLowerLayersOnly) {
  TestTar lower;
  lower.file("a/gone", "1").file("a/kept", "2").file("b/x", "3").file("b/sub/y", "4").file("c", "5");
  ASSERT_TRUE(unpack(lower));
  TestTar upper;
  upper.file("a/.wh.gone", "").file("b/new", "6").file("b/.wh..wh..opq", "").file("c2", "").file(".wh.c", "");
  upper.file("a/.wh.fresh", "").file("a/fresh", "7").file("a/.wh.fresh", "");
  ASSERT_TRUE(unpack(upper));
  EXPECT_FALSE(there("a/gone"));
  EXPECT_TRUE(there("a/kept"));
  EXPECT_FALSE(there("b/x"));
  EXPECT_FALSE(there("b/sub"));
  EXPECT_EQ(read("b/new"), "6");
  EXPECT_FALSE(there("c"));
  EXPECT_EQ(read("a/fresh"), "7");
  EXPECT_FALSE(there("a/.wh.gone"));
  EXPECT_FALSE(there("b/.wh..wh..opq"));
}

TEST_F(LayerUnpack, KindsReplaceEachOther) {
  TestTar lower;
  lower.file("x/deep/file", "1").file("y", "2").symlink("z", "y");
  ASSERT_TRUE(unpack(lower));
  TestTar upper;
  upper.file("x", "now a file").directory("y").file("y/inner", "3").directory("z").file("z/inner", "4");
  ASSERT_TRUE(unpack(upper));
  EXPECT_EQ(read("x"), "now a file");
  EXPECT_EQ(read("y/inner"), "3");
  EXPECT_EQ(read("z/inner"), "4");
  EXPECT_FALSE(fs::is_symlink(root() + "/z"));
}

TEST_F(LayerUnpack, NamesDoNotLeadOut) {
  for (const char* name : {"../outside/f", "a/../../outside/f", "./../outside/f", "..", "a/.."}) {
    TestTar tar;
    tar.file(name, "evil");
    EXPECT_FALSE(unpack(tar)) << name;
  }
  TestTar absolute;  // means: from the image's root
  absolute.file("/etc/conf", "fine");
  EXPECT_TRUE(unpack(absolute));
  EXPECT_EQ(read("etc/conf"), "fine");
  EXPECT_TRUE(outside_is_empty());
}

TEST_F(LayerUnpack, LinksDoNotLeadOut) {
  TestTar tar;
  tar.symlink("up", "../outside").symlink("abs", base() + "/outside").symlink("top", "/").symlink("loop", "loop");
  ASSERT_TRUE(unpack(tar));
  TestTar relative;
  relative.file("up/f", "evil");
  (void)unpack(relative);  // "up" is inside: /outside of the image
  TestTar through;
  through.file("abs/f", "evil");
  (void)unpack(through);
  TestTar of_top;
  of_top.file("top/here", "fine");
  ASSERT_TRUE(unpack(of_top));
  EXPECT_EQ(read("here"), "fine");
  TestTar looped;
  looped.file("loop/f", "evil");
  EXPECT_FALSE(unpack(looped));
  EXPECT_TRUE(outside_is_empty());
  // Writing over a link replaces it, and not what it points to.
  std::ofstream(base() + "/victim") << "untouched";
  TestTar over;
  over.symlink("v", base() + "/victim").file("v", "evil");
  ASSERT_TRUE(unpack(over));
  EXPECT_EQ(read("v"), "evil");
  std::ifstream victim(base() + "/victim");
  std::string word;
  victim >> word;
  EXPECT_EQ(word, "untouched");
}

TEST_F(LayerUnpack, HardlinksStayInside) {
  std::ofstream(base() + "/secret") << "secret";
  for (const std::string& to :
       {std::string("../secret"), base() + "/secret", std::string("/etc/passwd"), std::string("missing")}) {
    TestTar tar;
    tar.hardlink("h", to);
    EXPECT_FALSE(unpack(tar)) << to;
    EXPECT_FALSE(there("h")) << to;
  }
  TestTar through;
  through.symlink("dir", base()).hardlink("h", "dir/secret");
  EXPECT_FALSE(unpack(through));
  EXPECT_FALSE(there("h"));
}

TEST_F(LayerUnpack, Limits) {
  TestTar large;
  large.file("big", std::string(2000, 'x'));
  EXPECT_EQ(unpack(large, {.limits = {.bytes = 1000, .files = 10}}).error().message,
            "the image is larger than this node allows");
  TestTar many;
  for (int i = 0; i < 20; ++i) many.file("f" + std::to_string(i), "");
  EXPECT_EQ(unpack(many, {.limits = {.bytes = 1 << 20, .files = 10}}).error().message,
            "the image has more than 10 files");
  TestTar bomb('g');  // sixty-four times what the limits allow, in few bytes
  bomb.file("zeros", std::string(200 << 20, '\0'));
  EXPECT_FALSE(unpack(bomb, {.limits = {.bytes = 1 << 20, .files = 10}}));
}

TEST_F(LayerUnpack, DigestsAreChecked) {
  TestTar tar('g');
  tar.file("f", "x");
  const int fd = tar.fd();
  ::lseek(fd, 0, SEEK_SET);
  const auto digest = digest_of_file(fd);
  ASSERT_TRUE(digest);
  EXPECT_TRUE(unpack_layer(fd, fd_.get(), *digest, {}, {}, so_far_));
  const std::string other = "sha256:" + std::string(64, '0');
  EXPECT_EQ(unpack_layer(fd, fd_.get(), other, {}, {}, so_far_).error().code, ErrorCode::Corrupt);
  EXPECT_EQ(unpack_layer(fd, fd_.get(), *digest, other, {}, so_far_).error().code, ErrorCode::Corrupt);
  TestTar plain;
  plain.file("f", "x");
  ::lseek(plain.fd(), 0, SEEK_SET);
  EXPECT_TRUE(unpack_layer(plain.fd(), fd_.get(), {}, *digest_of_file(plain.fd()), {}, so_far_));
}

TEST_F(LayerUnpack, DamageIsFound) {
  TestTar tar('g');
  tar.file("f", std::string(100'000, 'x')).file("g", "y");
  const int fd = tar.fd();
  const auto size = ::lseek(fd, 0, SEEK_END);
  ASSERT_EQ(::ftruncate(fd, size / 2), 0);
  EXPECT_EQ(unpack_layer(fd, fd_.get(), {}, {}, {}, so_far_).error().code, ErrorCode::Corrupt);
  const os::UniqueFd junk(::memfd_create("junk", MFD_CLOEXEC));
  const std::string text =
      "this is no tar file, whatever its name says, and it is long enough to be one " + std::string(2000, '.');
  ASSERT_EQ(::write(junk.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  EXPECT_EQ(unpack_layer(junk.get(), fd_.get(), {}, {}, {}, so_far_).error().code, ErrorCode::Corrupt);
}

TEST_F(LayerUnpack, MembersOfArchives) {
  TestTar tar;
  tar.file("manifest.json", "[]").file("blobs/sha256/aa", "layer").symlink("old/layer.tar", "../blobs/sha256/aa");
  EXPECT_EQ(read_member(tar.fd(), "manifest.json", 100), "[]");
  EXPECT_EQ(read_member(tar.fd(), "nothing", 100).error().code, ErrorCode::NotFound);
  EXPECT_EQ(read_member(tar.fd(), "blobs/sha256/aa", 3).error().code, ErrorCode::Corrupt);
  ASSERT_TRUE(unpack_members(tar.fd(), fd_.get(), {}));
  EXPECT_EQ(read("old/layer.tar"), "layer");
}

}  // namespace
}  // namespace spur::container
