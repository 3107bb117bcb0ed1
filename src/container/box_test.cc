// SPDX-License-Identifier: Apache-2.0
// Containers for real, in processes that are nobody's and never come back. Skipped where users may not make
// namespaces.
#include "container/box.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "os/privileges.h"
#include "os/test_directory.h"

namespace spur::container {
namespace {

namespace fs = std::filesystem;

class Box : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::permissions(directory_.path(), fs::perms(0755));
    for (const char* name : {"image/bin", "image/etc", "image/tmp", "scratch", "cache"})
      fs::create_directories(directory_ / name);
    std::ofstream(directory_ / "image/etc/marker") << "image";
    std::ofstream(directory_ / "image/bin/tool") << "tool";
    for (const char* name : {"scratch", "cache", "image", "image/etc", "image/etc/marker"}) {
      const int owned = ::geteuid() == 0 ? ::chown((directory_ / name).c_str(), 65534, 65534) : 0;
      ASSERT_EQ(owned, 0);
    }
    if (in_child([] { return ::unshare(CLONE_NEWUSER) == 0; }) != 0) GTEST_SKIP() << "no user namespaces here";
  }

  v1::ContainerSetup setup() const {
    v1::ContainerSetup out;
    out.mutable_request()->set_image(directory_ / "image");
    out.set_scratch(directory_ / "scratch");
    out.set_cache(directory_ / "cache");
    out.set_instance("step-0");
    out.set_user("somebody");
    out.set_home("/home/somebody");
    out.set_directory("/");
    return out;
  }

  // 0 if `what` returned true.
  template <class F>
  static int in_child(F what) {
    const pid_t child = ::fork();
    if (child == 0) {
      const bool root = ::geteuid() == 0;
      const os::Identity nobody{Uid{65534}, Gid{65534}, "nobody", {}};
      if (root && !os::become(nobody)) ::_exit(100);
      ::prctl(PR_SET_DUMPABLE, 1);  // as after an exec
      ::_exit(what() ? 0 : 1);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    return status;
  }

  static std::string slurp(const std::string& path) {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  os::TestDirectory directory_;
};

TEST_F(Box, ShowsTheImageAndNothingElse) {
  for (const bool copy : {false, true}) {
    auto wanted = setup();
    wanted.set_copy(copy);
    wanted.set_instance(copy ? "copy" : "overlay");
    EXPECT_EQ(in_child([&] {
                const auto box = make_box(wanted);
                if (!box) return fprintf(stderr, "%s\n", box.error().message.c_str()), false;
                std::ofstream("/etc/marker") << "changed";
                return slurp("/bin/tool") == "tool" && slurp("/etc/marker") == "changed" && !fs::exists("/image") &&
                       fs::exists("/proc/self/status") && fs::exists("/dev/null") && fs::is_empty("/tmp") &&
                       slurp("/etc/passwd").find("somebody:x:") != std::string::npos && box->fds.size() == 4;
              }),
              0)
        << copy;
  }
  EXPECT_EQ(slurp(directory_ / "image/etc/marker"), "image");
}

TEST_F(Box, OthersEnterByDescriptors) {
  EXPECT_EQ(in_child([&] {
              int ends[2];
              if (::pipe(ends) != 0) return false;
              // The maker lives on here only so that its descriptors can be had without a socket.
              const pid_t maker = ::fork();
              if (maker == 0) {
                const auto box = make_box(setup());
                (void)!::write(ends[1], box ? "y" : "n", 1);
                ::pause();
              }
              char word = 0;
              if (::read(ends[0], &word, 1) != 1 || word != 'y') return false;
              const std::string base = "/proc/" + std::to_string(maker) + "/ns/";
              const int user = ::open((base + "user").c_str(), O_RDONLY),
                        mnt = ::open((base + "mnt").c_str(), O_RDONLY);
              const bool entered = ::setns(user, 0) == 0 && ::setns(mnt, 0) == 0;
              ::kill(maker, SIGKILL);
              return entered && slurp("/bin/tool") == "tool";
            }),
            0);
}

TEST_F(Box, LinksOfAnImageLeadNoMountOut) {
  fs::create_directory_symlink(directory_.path() + "/scratch", directory_ / "image/data");
  fs::create_directory_symlink("../../../../../../tmp", directory_ / "image/up");
  auto wanted = setup();
  wanted.mutable_request()->add_mounts("/usr:/data/usr");
  wanted.mutable_request()->add_mounts("/usr:/up/usr");
  EXPECT_EQ(in_child([&] {
              const auto box = make_box(wanted);
              if (!box) return fprintf(stderr, "%s\n", box.error().message.c_str()), false;
              return fs::exists("/data/usr/bin") && fs::exists("/tmp/usr/bin");
            }),
            0);
  EXPECT_FALSE(fs::exists(directory_ / "scratch/usr"));
}

TEST_F(Box, SaysWhatCannotBe) {
  const auto refused = [&](v1::ContainerSetup wanted, const char* why) {
    EXPECT_EQ(in_child([&] {
                const auto box = make_box(wanted);
                const bool good = !box && box.error().message.find(why) != std::string::npos;
                if (!good) fprintf(stderr, "%s\n", box ? "made" : box.error().message.c_str());
                return good;
              }),
              0)
        << why;
  };
  auto wanted = setup();
  wanted.mutable_request()->add_mounts("/nonexistent:/x");
  refused(wanted, "cannot mount /nonexistent: No such file or directory");
  fs::create_directory(directory_ / "closed");
  ::chmod((directory_ / "closed").c_str(), 0700);
  if (::geteuid() == 0) {
    wanted = setup();
    wanted.mutable_request()->add_mounts((directory_ / "closed") + ":/x");
    refused(wanted, "Permission denied");
  }
  wanted = setup();
  wanted.mutable_request()->clear_image();
  wanted.mutable_request()->set_name("other");
  refused(wanted, "the job has no container other on this node");
  wanted = setup();
  wanted.mutable_request()->clear_image();
  wanted.mutable_request()->set_bundle(directory_.path());
  refused(wanted, "is no OCI bundle");
}

}  // namespace
}  // namespace spur::container
