// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>

#include "cli/broadcast.h"
#include "cli/commands.h"
#include "cli/fake_cluster.h"
#include "cli/job_places.h"

namespace spur::cli {
namespace {

struct Answer {
  int status = 0;
  std::string err;
  std::vector<std::string> calls, sent;
};

class Sbcast : public testing::Test {
 protected:
  Sbcast() {
    char name[] = "/tmp/spur-sbcast-XXXXXX";
    const int fd = ::mkstemp(name);
    EXPECT_EQ(::write(fd, "hello", 5), 5);
    EXPECT_EQ(::fchmod(fd, 0750), 0);
    ::close(fd);
    file_ = name;
  }
  ~Sbcast() override { ::unlink(file_.c_str()); }

  Answer run(int (*command)(Context&), std::vector<std::string> arguments,
             std::vector<const char*> environment = {"SLURM_JOB_ID=7"},
             std::vector<wire::FileFailure> failures = {}) {
    auto owned = std::make_unique<FakeController>();
    FakeController& controller = *owned;
    controller.ticket = {.ticket = "t", .nodes = {"n1", "n2"}, .addresses = {"a1", "a2"}, .tasks_per_node = {1, 1}};
    auto job = std::make_shared<model::Job>();
    job->id = JobId(7);
    controller.job_table.jobs = {job};
    controller.file_failures = std::move(failures);
    Output out(-1), err(-1);
    Context context(out, err);
    context.program = command == cmd_sbcast ? "sbcast" : "sgather";
    context.arguments = std::move(arguments);
    environment.push_back(nullptr);
    context.environment = environment.data();
    context.connect = [&]() -> Result<std::unique_ptr<Controller>> { return std::move(owned); };
    Answer answer;
    answer.status = command(context);
    answer.err = err.text();
    if (!owned) {
      answer.calls = controller.calls;
      answer.sent = controller.sent;
    }
    return answer;
  }
  std::string file_;
};

TEST_F(Sbcast, SendsTheFileToAllNodes) {
  const auto plain = run(cmd_sbcast, {file_, "/tmp/x"});
  EXPECT_EQ(plain.status, 0) << plain.err;
  ASSERT_FALSE(plain.calls.empty());
  EXPECT_EQ(plain.calls.back(), "send /tmp/x 750 to n1 n2");
  EXPECT_EQ(plain.sent, (std::vector<std::string>{"hello"}));
  EXPECT_EQ(run(cmd_sbcast, {"-fpC", file_, "/tmp/x"}).calls.back(),
            "send /tmp/x 750 replace compress times to n1 n2");
  EXPECT_EQ(
      run(cmd_sbcast, {file_, "/tmp/x"}, {"SLURM_JOB_ID=7", "SBCAST_FORCE=", "SBCAST_COMPRESS=none"}).calls.back(),
      "send /tmp/x 750 replace to n1 n2");
}

TEST_F(Sbcast, WordsAndStatuses) {
  EXPECT_EQ(run(cmd_sbcast, {file_}).err,
            "Need two file names, have 1 names\nTry \"sbcast --help\" for more information\n");
  EXPECT_EQ(run(cmd_sbcast, {file_, "/tmp/"}).err, "sbcast: error: Target filename cannot be a directory.\n");
  EXPECT_EQ(
      run(cmd_sbcast, {file_, "/tmp/x"}, {}).err,
      "sbcast: error: Need a job id to run this command.  Run from within a Slurm job or use the --jobid option.\n");
  const auto unknown = run(cmd_sbcast, {"-j8.1", file_, "/tmp/x"});
  EXPECT_EQ(unknown.status, 255);
  EXPECT_EQ(unknown.err, "sbcast: error: Slurm job 8.1 lookup error: Invalid job id specified\n");
  EXPECT_EQ(run(cmd_sbcast, {"-jabc", file_, "/tmp/x"}).err,
            "sbcast: error: Slurm job 0 lookup error: Invalid job id specified\n");
  const auto missing = run(cmd_sbcast, {"/nosuch", "/tmp/x"});
  EXPECT_EQ(missing.status, 255);
  EXPECT_EQ(missing.err, "sbcast: error: Can't open `/nosuch`: No such file or directory\n");
  const auto odd = run(cmd_sbcast, {"--compress=foo", "-s", "10x", "--send-libs=maybe", file_, "/tmp/x"});
  EXPECT_EQ(odd.status, 0);
  EXPECT_EQ(odd.err,
            "sbcast: error: Compression type 'foo' unknown, disabling compression support.\n"
            "size specification is invalid, ignored\n"
            "sbcast: error: Ignoring unrecognized --send-libs value 'maybe'\n");
  const auto refused =
      run(cmd_sbcast, {file_, "/tmp/x"}, {"SLURM_JOBID=7"}, {{"n2", EEXIST, "x"}, {"n1", 0, "gone"}});
  EXPECT_EQ(refused.status, EEXIST);
  EXPECT_EQ(refused.err,
            "sbcast: error: REQUEST_FILE_BCAST(n2): File exists\nsbcast: error: REQUEST_FILE_BCAST(n1): gone\n");
}

TEST_F(Sbcast, SgatherMindsItsOptions) {
  EXPECT_EQ(run(cmd_sgather, {"-F9", "/a", "b"}).err,
            "sgather: invalid fanout -- '9'\nTry \"sgather --help\" for more information\n");
  EXPECT_EQ(run(cmd_sgather, {"a", "b"}).err, "sgather: error: a is not a full path\n");
  EXPECT_EQ(run(cmd_sgather, {"/a", "b"}, {}).err, "sgather: error: Command only valid from within Slurm job\n");
  const auto one = run(cmd_sgather, {"-F1", "-f", "/a", "b"}, {"SLURM_JOB_ID=7"}, {{"n1", ENOENT, "No such file"}});
  EXPECT_EQ(one.status, 0) << "-f";
  EXPECT_EQ(one.calls.back(), "fetch /a remove from n2");
}

TEST(Broadcast, LibrariesOfAProgram) {
  const std::string_view ldd =
      "\tlinux-vdso.so.1 (0x00007ffd)\n"
      "\tlibfoo.so => /opt/foo/lib/libfoo.so (0x00007f01)\n"
      "\tlibgone.so => not found\n"
      "\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f02)\n"
      "\t/lib64/ld-linux-x86-64.so.2 (0x00007f03)\n"
      "\tlibs p.so => /library/s p.so (0x00007f04)\n";
  EXPECT_EQ(libraries_of(ldd, kNoLibrariesFrom),
            (std::vector<std::string>{"/opt/foo/lib/libfoo.so", "/library/s p.so"}));
  EXPECT_EQ(libraries_of(ldd, "/opt/").size(), 3u);
  EXPECT_EQ(libraries_of(ldd, "NONE").size(), 4u);
}

TEST(FileTarget, JobsAndSteps) {
  EXPECT_EQ(parse_file_target("7").text(), "7");
  EXPECT_EQ(parse_file_target("7+1").text(), "7+1");
  EXPECT_EQ(parse_file_target("7+1.3").text(), "7+1.3");
  for (const char* bad : {"", "x", "7.", "7+", "7.x", "+1", "7+x.1"})
    EXPECT_EQ(parse_file_target(bad).text(), "0") << bad;
}

}  // namespace
}  // namespace spur::cli
