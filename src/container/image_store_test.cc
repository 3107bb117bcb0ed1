// SPDX-License-Identifier: Apache-2.0
#include "container/image_store.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "container/digest.h"
#include "container/image_source.h"
#include "container/test_tar.h"
#include "os/files.h"
#include "os/test_directory.h"

namespace spur::container {
namespace {

namespace fs = std::filesystem;

const std::string kA = "sha256:" + std::string(64, 'a'), kB = "sha256:" + std::string(63, 'a') + "b";

Result<ImageConfig> fill(int directory, const std::string&) {
  if (::mkdirat(directory, "rootfs", 0755) != 0) return fail(ErrorCode::Internal, "rootfs");
  return ImageConfig{.env = {"A=1"}};
}

class Store : public ::testing::Test {
 protected:
  ImageStore store() { return std::move(*ImageStore::create(directory_ / "a/b/store")); }
  os::TestDirectory directory_;
};

TEST_F(Store, AddsOnceAndNames) {
  auto s = store();
  ASSERT_TRUE(s.add(kA, "here\nthere", fill));
  int again = 0;
  const auto image = s.add(kA, "elsewhere", [&](int, const std::string&) -> Result<ImageConfig> {
    ++again;
    return ImageConfig{};
  });
  ASSERT_TRUE(image);
  EXPECT_EQ(again, 0);
  EXPECT_EQ(image->source, "here\\nthere");
  ASSERT_TRUE(s.give_name("library/tiny:1", kA));
  EXPECT_EQ(s.find("library/tiny:1")->digest, kA);
  EXPECT_EQ(s.find(kA)->digest, kA);
  EXPECT_EQ(s.find("aaaaaaaa")->digest, kA);
  EXPECT_EQ(s.find("aaa").error().code, ErrorCode::NotFound);
  EXPECT_EQ(s.list().front().names, std::vector<std::string>{"library/tiny:1"});
  const auto used = ImageStore::use(*image);
  ASSERT_TRUE(used);
  EXPECT_EQ(used->config.env, std::vector<std::string>{"A=1"});
}

TEST_F(Store, BadNames) {
  auto s = store();
  for (const char* name : {"", "../x", "a/../b", "/abs", ".hidden", "-n", "a b", "a\nb", "a%2Fb"})
    EXPECT_EQ(s.give_name(name, kA).error().code, ErrorCode::InvalidArgument) << name;
}

TEST_F(Store, AFailedImportLeavesNothing) {
  auto s = store();
  const auto failed = s.add(kA, "x", [](int directory, const std::string&) -> Result<ImageConfig> {
    ::mkdirat(directory, "rootfs", 0755);
    return fail(ErrorCode::Corrupt, "bad layer");
  });
  EXPECT_EQ(failed.error().message, "bad layer");
  EXPECT_TRUE(s.list().empty());
  for (const auto& entry : fs::directory_iterator(s.path()))
    EXPECT_FALSE(entry.path().filename().string().starts_with("tmp-"));
}

TEST_F(Store, AKilledImportLeavesNoImageAndGoesWithTheNext) {
  auto s = store();
  const pid_t child = ::fork();
  if (child == 0) {
    (void)s.add(kA, "x", [](int directory, const std::string&) -> Result<ImageConfig> {
      ::mkdirat(directory, "rootfs", 0755);
      ::kill(::getpid(), SIGKILL);
      return ImageConfig{};
    });
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_TRUE(s.list().empty());
  ASSERT_TRUE(s.add(kB, "y", fill));
  std::size_t entries = 0;
  for (const auto& entry : fs::directory_iterator(s.path())) {
    EXPECT_FALSE(entry.path().filename().string().starts_with("tmp-"));
    ++entries;
  }
  EXPECT_EQ(entries, 4u);  // names, seen, lock, the image
}

TEST_F(Store, ManyImportsAtOnceMakeOneImage) {
  auto s = store();
  std::vector<pid_t> children;
  for (int i = 0; i < 8; ++i) {
    children.push_back(::fork());
    if (children.back() == 0) {
      auto own = ImageStore::open(s.path());
      const bool good = own && own->add(kA, "x", [&](int directory, const std::string& path) {
        // Nobody else may have begun.
        const os::UniqueFd mark(::open((s.path() + "/seen/mark").c_str(), O_CREAT | O_EXCL | O_WRONLY, 0600));
        auto filled = mark ? fill(directory, path) : Result<ImageConfig>(fail(ErrorCode::Internal, "twice"));
        return filled;
      });
      ::_exit(good ? 0 : 1);
    }
  }
  for (const pid_t child : children) {
    int status = 1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(s.list().size(), 1u);
}

TEST_F(Store, RemoveSparesWhatIsUsed) {
  auto s = store();
  const auto image = s.add(kA, "x", fill);
  ASSERT_TRUE(image);
  ASSERT_TRUE(s.give_name("one", kA));
  ASSERT_TRUE(s.give_name("two", kA));
  ASSERT_TRUE(s.remove("one"));  // the name only
  EXPECT_EQ(s.find("one").error().code, ErrorCode::NotFound);
  {
    const auto used = ImageStore::use(*image);
    ASSERT_TRUE(used);
    EXPECT_EQ(s.remove("two").error().message, "the image two is in use");
  }
  ASSERT_TRUE(s.remove("two"));
  EXPECT_TRUE(s.list().empty());
  EXPECT_EQ(s.remove("two").error().code, ErrorCode::NotFound);
}

// ---- sources

void write(const std::string& path, std::string_view content) {
  fs::create_directories(fs::path(path).parent_path());
  const os::UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  ASSERT_TRUE(os::write_all(fd.get(), content, path));
}

std::string content_of(int fd) {
  std::string out;
  char buffer[65536];
  ::lseek(fd, 0, SEEK_SET);
  for (ssize_t got; (got = ::read(fd, buffer, sizeof buffer)) > 0;) out.append(buffer, static_cast<std::size_t>(got));
  return out;
}

struct Blobs {
  std::string layer, layer_digest, diff_id, config, manifest;
};
Blobs make_blobs() {
  Blobs out;
  TestTar plain;
  plain.file("bin/tool", "tool", 0755);
  out.diff_id = digest_of(content_of(plain.fd()));
  TestTar packed('g');
  packed.file("bin/tool", "tool", 0755);
  out.layer = content_of(packed.fd());
  out.layer_digest = digest_of(out.layer);
  out.config = R"({"os":"linux","config":{"Env":["X=1"]},"rootfs":{"diff_ids":[")" + out.diff_id + R"("]}})";
  out.manifest = R"({"config":{"digest":")" + digest_of(out.config) + R"("},"layers":[{"digest":")" +
                 out.layer_digest + R"("}]})";
  return out;
}

void write_layout(const std::string& path, const Blobs& blobs) {
  for (const auto* blob : {&blobs.layer, &blobs.config, &blobs.manifest})
    write(path + "/blobs/sha256/" + digest_of(*blob).substr(7), *blob);
  write(path + "/oci-layout", R"({"imageLayoutVersion":"1.0.0"})");
  write(path + "/index.json", R"({"manifests":[{"digest":")" + digest_of(blobs.manifest) + R"("}]})");
}

TEST_F(Store, ImportsALayout) {
  auto s = store();
  const Blobs blobs = make_blobs();
  const std::string path = directory_ / "layout";
  write_layout(path, blobs);
  const auto used = use_image(path, {}, s.path(), {});
  ASSERT_TRUE(used) << used.error().message;
  EXPECT_TRUE(fs::exists(used->rootfs + "/bin/tool"));
  EXPECT_EQ(used->config.env, std::vector<std::string>{"X=1"});
  ASSERT_TRUE(use_image("oci:" + path, {}, s.path(), {}));
  EXPECT_EQ(s.list().size(), 1u);
}

TEST_F(Store, FindsDamageInALayout) {
  auto s = store();
  const Blobs blobs = make_blobs();
  const std::string path = directory_ / "layout";
  const auto refused = [&](const char* why) {
    const auto used = use_image(path, {}, s.path(), {});
    ASSERT_FALSE(used) << why;
    EXPECT_NE(used.error().message.find(why), std::string::npos) << used.error().message;
    EXPECT_TRUE(s.list().empty());
  };
  write_layout(path, blobs);
  write(path + "/blobs/sha256/" + blobs.layer_digest.substr(7), blobs.layer + "x");
  refused("not what its digest says");
  write_layout(path, blobs);
  write(path + "/blobs/sha256/" + digest_of(blobs.config).substr(7), "{}");
  refused("is not what its digest says");
  write_layout(path, blobs);
  fs::remove(path + "/blobs/sha256/" + blobs.layer_digest.substr(7));
  refused("cannot open blobs/sha256/");
  write_layout(path, blobs);
  write(path + "/index.json", "no json");
  refused("the index is not valid");
  fs::remove(path + "/index.json");
  fs::create_symlink("/etc/passwd", path + "/index.json");  // of the layout: there is none
  refused("cannot open index.json");
}

TEST_F(Store, ImportsADockerArchive) {
  auto s = store();
  const Blobs blobs = make_blobs();
  for (const int filter : {0, int{'g'}}) {
    TestTar tar(filter);
    tar.file("l/layer.tar", blobs.layer).file("c.json", blobs.config);
    tar.file("manifest.json", R"([{"Config":"c.json","RepoTags":["tiny:1"],"Layers":["l/layer.tar"]}])");
    const std::string path = directory_ / "saved.tar";
    write(path, content_of(tar.fd()));
    const auto used = use_image(path, {}, s.path(), {});
    ASSERT_TRUE(used) << used.error().message;
    EXPECT_TRUE(fs::exists(used->rootfs + "/bin/tool"));
    EXPECT_FALSE(fs::exists(used->rootfs + "/../members"));
    EXPECT_TRUE(use_image("docker-archive:" + path + ":tiny:1", {}, s.path(), {}));
    EXPECT_TRUE(use_image("docker-archive:" + path + ":1", {}, s.path(), {}));
    EXPECT_FALSE(use_image("docker-archive:" + path + ":2", {}, s.path(), {}));
  }
  TestTar wrong;
  wrong.file("l/layer.tar", blobs.layer).file("c.json", R"({"rootfs":{"diff_ids":[")" + kA + R"("]}})");
  wrong.file("manifest.json", R"([{"Config":"c.json","Layers":["l/layer.tar"]}])");
  write(directory_ / "wrong.tar", content_of(wrong.fd()));
  EXPECT_FALSE(use_image(directory_ / "wrong.tar", {}, s.path(), {}));
  EXPECT_EQ(s.list().size(), 1u);
}

TEST_F(Store, SaysWhatIsNoImage) {
  auto s = store();
  write(directory_ / "text", "just text");
  fs::create_directory(directory_ / "empty");
  const struct {
    std::string in, why;
  } table[] = {
      {"docker://ubuntu", "pulling images is not supported yet"},
      {"ubuntu:22.04", "there is no image ubuntu:22.04 on this node"},
      {directory_ / "missing", "cannot open the image"},
      {directory_ / "text", "damaged"},
      {directory_ / "empty", "is no image: it is empty"},
      {"oci:" + (directory_ / "text"), "is no directory"},
      {"squashfs:" + (directory_ / "empty"), "is a directory"},
      {"/dev/null", "is no image: neither a file nor a directory"},
      {"a b", "neither an image's name nor a path"},
      {"oci:", "the path is missing"},
  };
  for (const auto& row : table) {
    const auto used = use_image(row.in, {s.path()}, s.path(), {});
    ASSERT_FALSE(used) << row.in;
    EXPECT_NE(used.error().message.find(row.why), std::string::npos) << row.in << ": " << used.error().message;
  }
}

}  // namespace
}  // namespace spur::container
