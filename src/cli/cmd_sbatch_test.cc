// SPDX-License-Identifier: Apache-2.0
// Command lines, directives and variables to specifications; what a job takes along; --wait; retries.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "cli/commands.h"
#include "cli/fake_cluster.h"
#include "cli/job_environment.h"
#include "text/directives.h"
#include "text/export_spec.h"

namespace spur::cli {
namespace {

namespace fs = std::filesystem;

// Runs sbatch in a directory of its own; keeps what the controller saw.
class Sbatch : public testing::Test {
 protected:
  Sbatch() {
    ::setenv("TZ", "UTC", 1);
    ::tzset();
    before_ = fs::current_path();
    directory_ = fs::temp_directory_path() / fmt::format("spur-sbatch-{}", ::getpid());
    fs::create_directories(directory_);
    fs::current_path(directory_);
    write("ok.sh", "#!/bin/sh\ntrue\n");
  }
  ~Sbatch() override {
    fs::current_path(before_);
    fs::remove_all(directory_);
  }
  static void write(const char* name, std::string_view text) { std::ofstream(name, std::ios::binary) << text; }

  int run(const std::string& line, std::vector<std::string> environment = {}, const char* input = "/dev/null") {
    auto controller = std::make_unique<FakeController>();
    fill(*controller);
    controller->submit_errors = submit_errors_;
    controller->on_wait = on_wait_;
    Output out(-1), err(-1);
    Context context(out, err);
    context.program = "sbatch";
    context.arguments = text::split_directive(line).value();
    std::vector<const char*> pointers;
    for (const std::string& entry : environment) pointers.push_back(entry.c_str());
    pointers.push_back(nullptr);
    context.environment = pointers.data();
    context.input = ::open(input, O_RDONLY);
    FakeController* seen = controller.get();
    bool asked = false;
    context.connect = [&]() -> Result<std::unique_ptr<Controller>> {
      asked = true;
      return std::move(controller);
    };
    context.now = [] { return kTestNow; };
    context.pause = [this](seconds span) { paused_ += span; };
    const int status = cmd_sbatch(context);
    ::close(context.input);
    out_ = out.text();
    err_ = err.text();
    spec_ = {};
    if (asked) {
      tokens_ = seen->tokens;
      calls_ = seen->calls;
      if (!seen->specs.empty()) spec_ = seen->specs.back();
    }
    return status;
  }
  model::JobSpec spec_of(const std::string& line, std::vector<std::string> environment = {}) {
    EXPECT_EQ(run(line, std::move(environment)), 0) << line << "\n" << err_;
    return spec_;
  }
  std::string variable(const model::JobSpec& spec, std::string_view name) {
    for (const std::string& entry : text::split_environment(*spec.environment))
      if (entry.starts_with(std::string(name) + "=")) return entry.substr(name.size() + 1);
    return "(unset)";
  }

  fs::path before_, directory_;
  std::vector<Error> submit_errors_;
  std::function<void(FakeController&)> on_wait_;
  std::string out_, err_;
  std::vector<std::string> tokens_, calls_;
  model::JobSpec spec_;
  seconds paused_{0};
};

// One row: what is typed, and how the specification then differs from that of a plain "ok.sh".
struct SpecCase {
  const char* line;
  std::function<void(model::JobSpec&)> change;
};

TEST_F(Sbatch, OptionsFillTheSpecification) {
  using Spec = model::JobSpec;
  using Per = model::GresRequest::Per;
  using Way = model::Distribution::Nodes;
  const SpecCase cases[] = {
      {"-J name", [](Spec& s) { s.name = "name"; }},
      {"--job-name='a b'", [](Spec& s) { s.name = "a b"; }},
      {"-p debug,short", [](Spec& s) { s.partitions = {"debug", "short"}; }},
      {"-A acct -q high --wckey=k", [](Spec& s) { s.account = "acct", s.qos = "high", s.wckey = "k"; }},
      {"-N 2", [](Spec& s) { s.min_nodes = 2, s.max_nodes = 2, s.nodes_given = true; }},
      {"-N2-4", [](Spec& s) { s.min_nodes = 2, s.max_nodes = 4, s.nodes_given = true; }},
      {"-N 1k", [](Spec& s) { s.min_nodes = 1024, s.max_nodes = 1024, s.nodes_given = true; }},
      {"-n 4 -c2", [](Spec& s) { s.tasks = 4, s.cpus_per_task = 2, s.cpus_per_task_given = true; }},
      {"--tasks-per-node=3", [](Spec& s) { s.tasks_per_node = 3; }},
      {"--ntasks-per-node=3", [](Spec& s) { s.tasks_per_node = 3; }},
      {"--mincpus=3", [](Spec& s) { s.min_cpus_per_node = 3; }},
      {"--mem=4G", [](Spec& s) { s.memory_per_node_mib = 4096; }},
      {"--mem=0", [](Spec& s) { s.memory_per_node_mib = 0; }},
      {"--mem-per-cpu=100", [](Spec& s) { s.memory_per_cpu_mib = 100; }},
      {"--tmp=1G", [](Spec& s) { s.tmp_disk_mib = 1024; }},
      {"--gres=gpu:a100:2,shard:3",
       [](Spec& s) { s.gres = {{"gpu", "a100", 2, Per::Node}, {"shard", "", 3, Per::Node}}; }},
      {"--container-image=tiny:1 --container-mounts=/a:/b:ro,/c --container-workdir=/w/ --container-env=A,B=1",
       [](Spec& s) {
         s.container.image = "tiny:1";
         s.container.mounts = {"/a:/b:ro+rbind", "/c:/c:rw+rbind"};
         s.container.workdir = "/w";
         s.container.environment = {"A", "B=1"};
       }},
      {"--container-image=/i --container-name=n --container-readonly --container-mount-home --container-remap-root "
       "--container-entrypoint",
       [](Spec& s) {
         s.container.image = "/i";
         s.container.name = "n";
         s.container.readonly = s.container.mount_home = s.container.remap_root = s.container.entrypoint = true;
       }},
      {"--container-image=/i --container-readonly --container-writable --container-entrypoint "
       "--no-container-entrypoint",
       [](Spec& s) { s.container.image = "/i"; }},
      {"--container=/b/./c", [](Spec& s) { s.container.bundle = "/b/c"; }},
      {"--container-image=/i --container=/b", [](Spec& s) { s.container.bundle = "/b"; }},
      {"-G 4", [](Spec& s) { s.gres = {{"gpu", "", 4, Per::Job}}; }},
      {"--gpus-per-node=a100:2", [](Spec& s) { s.gres = {{"gpu", "a100", 2, Per::Node}}; }},
      {"--gpus-per-task=1 -n2", [](Spec& s) { s.gres = {{"gpu", "", 1, Per::Task}}, s.tasks = 2; }},
      {"--gres=gpu:2 --gres=none", [](Spec&) {}},
      {"-L a,b:3", [](Spec& s) { s.licenses = {{"a", 1}, {"b", 3}}; }},
      {"-t 90", [](Spec& s) { s.time_limit = TimeLimit::of_minutes(90); }},
      {"-t 1-2:3:4", [](Spec& s) { s.time_limit = TimeLimit::of_minutes(24 * 60 + 2 * 60 + 4); }},
      {"-t 0", [](Spec& s) { s.time_limit = TimeLimit::unlimited(); }},
      {"-t UNLIMITED --time-min=5",
       [](Spec& s) { s.time_limit = TimeLimit::unlimited(), s.time_min = TimeLimit::of_minutes(5); }},
      {"-D /else", [](Spec& s) { s.work_dir = "/else"; }},
      {"-o out-%j -e err -i in", [](Spec& s) { s.std_out = "out-%j", s.std_err = "err", s.std_in = "in"; }},
      {"-o none", [](Spec& s) { s.std_out = "/dev/null"; }},
      {"-w n[1-2]", [](Spec& s) { s.required_nodes = "n[1-2]", s.min_nodes = 2; }},
      {"-w ./hosts", [](Spec& s) { s.required_nodes = "n[1-3]", s.min_nodes = 3; }},
      {"-F hosts", [](Spec& s) { s.required_nodes = "n[1-3]", s.min_nodes = 3; }},
      {"-x n3", [](Spec& s) { s.excluded_nodes = "n3"; }},
      {"-C 'fast&ib'", [](Spec& s) { s.features = "fast&ib"; }},
      {"--reservation=r", [](Spec& s) { s.reservation = "r"; }},
      {"-a 1-3%2", [](Spec& s) { s.array.emplace(), s.array->tasks.insert_range(1, 3), s.array->max_running = 2; }},
      {"-b now+1hour", [](Spec& s) { s.begin = kTestNow + hours(1); }},
      {"--deadline=2026-12-01", [](Spec& s) { s.deadline = from_unix_seconds(1796083200); }},
      {"--open-mode=append", [](Spec& s) { s.open_append = true; }},
      {"--open-mode=t", [](Spec& s) { s.open_truncate = true; }},
      {"--requeue", [](Spec& s) { s.requeue = true; }},
      {"--requeue --no-requeue", [](Spec& s) { s.requeue = false; }},
      {"--exclusive", [](Spec& s) { s.exclusive = model::Exclusive::Node; }},
      {"--exclusive=user", [](Spec& s) { s.exclusive = model::Exclusive::User; }},
      {"-s", [](Spec& s) { s.oversubscribe = true; }},
      {"-O --contiguous -H", [](Spec& s) { s.overcommit = s.contiguous = s.hold = true; }},
      {"--comment=c --extra=e", [](Spec& s) { s.comment = "c", s.extra = "e"; }},
      {"--mail-type=END,FAIL --mail-user=me", [](Spec& s) { s.mail_types = 6, s.mail_user = "me"; }},
      {"--signal=B:USR1@120", [](Spec& s) { s.signal = {10, 120, true}; }},
      {"--nice", [](Spec& s) { s.nice = 100; }},
      {"--nice=7", [](Spec& s) { s.nice = 7; }},
      {"--priority=12", [](Spec& s) { s.priority = 12; }},
      {"--priority=TOP", [](Spec& s) { s.priority = 4294967293u; }},
      {"--kill-on-invalid-dep=yes", [](Spec& s) { s.kill_on_invalid_dependency = true; }},
      {"-d afterok:3:4,after:5+6",
       [](Spec& s) {
         using Kind = model::Dependency::Kind;
         s.dependencies = {{Kind::AfterOk, JobId(3), {}, false, 0},
                           {Kind::AfterOk, JobId(4), {}, false, 0},
                           {Kind::After, JobId(5), {}, false, 6}};
       }},
      {"-d afterok:3?singleton",
       [](Spec& s) {
         s.dependencies = {{model::Dependency::Kind::AfterOk, JobId(3), {}, false, 0},
                           {model::Dependency::Kind::Singleton, JobId(), {}, false, 0}};
         s.dependencies_any = true;
       }},
      {"--propagate=NONE", [](Spec& s) { s.rlimits.clear(); }},
      {"-m '*'", [](Spec&) {}},
      {"-m block", [](Spec& s) { s.distribution.nodes = Way::Block; }},
      {"-m cyclic:fcyclic,NoPack",
       [](Spec& s) {
         s.distribution.nodes = Way::Cyclic;
         s.distribution.sockets = model::Distribution::Within::FullCyclic;
         s.distribution.pack = false;
       }},
      {"--distribution=plane=4", [](Spec& s) { s.distribution.nodes = Way::Plane, s.distribution.plane_size = 4; }},
      {"-n3 -m arbitrary -w n3,n1,n3,n2",
       [](Spec& s) {
         s.tasks = 3, s.min_nodes = 2;
         s.distribution.nodes = Way::Arbitrary;
         s.required_nodes = "n[3,1,3]";
       }},
      {"-w n1,n1", [](Spec& s) { s.required_nodes = "n1,n1"; }},
      {"-S 2", [](Spec& s) { s.core_spec = 2; }},
      {"--thread-spec=3", [](Spec& s) { s.core_spec = 3, s.core_spec_is_threads = true; }},
  };
  write("hosts", "n1\nn2,n3\n");
  const Spec plain = spec_of("ok.sh");
  for (const SpecCase& test : cases) {
    Spec wanted = plain;
    test.change(wanted);
    Spec got = spec_of(std::string(test.line) + " ok.sh");
    got.submit_line = wanted.submit_line;
    ASSERT_TRUE(got.script) << test.line;
    // Pointers to equal texts.
    EXPECT_EQ(*got.script, *wanted.script);
    got.script = wanted.script, got.environment = wanted.environment;
    EXPECT_EQ(got, wanted) << test.line;
  }
}

TEST_F(Sbatch, LaterSourcesWin) {
  write("job.sh", "#!/bin/sh\n#SBATCH -J directive -t 10\n#SBATCH --mem=1G --account=one\ntrue\n#SBATCH -n 99\n");
  model::JobSpec spec = spec_of("job.sh");
  EXPECT_EQ(spec.name, "directive");
  EXPECT_EQ(spec.time_limit, TimeLimit::of_minutes(10));
  EXPECT_FALSE(spec.tasks);  // after the first command
  spec = spec_of("job.sh", {"SBATCH_JOB_NAME=env", "SBATCH_ACCOUNT=two", "SBATCH_MEM_PER_CPU=7"});
  EXPECT_EQ(spec.name, "env");
  EXPECT_EQ(spec.account, "two");
  EXPECT_EQ(spec.memory_per_cpu_mib, 7u);
  EXPECT_FALSE(spec.memory_per_node_mib);  // replaced, no contradiction: another source
  spec = spec_of("-J line -t 20 job.sh", {"SBATCH_JOB_NAME=env", "SBATCH_TIMELIMIT=30"});
  EXPECT_EQ(spec.name, "line");
  EXPECT_EQ(spec.time_limit, TimeLimit::of_minutes(20));
}

TEST_F(Sbatch, ReadsPbsUnlessToldNotTo) {
  write("pbs.sh", "#!/bin/sh\n#PBS -N pbs\n#PBS -q short\ntrue\n");
  EXPECT_EQ(spec_of("pbs.sh").name, "pbs");
  EXPECT_EQ(spec_of("--ignore-pbs pbs.sh").name, "pbs.sh");
  EXPECT_EQ(spec_of("pbs.sh", {"SBATCH_IGNORE_PBS=1"}).partitions, std::vector<std::string>());
}

TEST_F(Sbatch, NamesScriptAndArguments) {
  model::JobSpec spec = spec_of("ok.sh one 'two words' -n 9");
  EXPECT_EQ(spec.name, "ok.sh");
  EXPECT_EQ(spec.command, (directory_ / "ok.sh").string());
  EXPECT_EQ(spec.arguments, (std::vector<std::string>{"one", "two words", "-n", "9"}));
  EXPECT_EQ(spec.submit_line, "sbatch ok.sh one two words -n 9");
  EXPECT_EQ(*spec.script, "#!/bin/sh\ntrue\n");
  EXPECT_EQ(spec.work_dir, directory_.string());
  EXPECT_EQ(spec.kind, model::JobKind::Batch);

  spec = spec_of("--wrap='echo hi'");
  EXPECT_EQ(spec.name, "wrap");
  EXPECT_EQ(spec.command, "");
  EXPECT_EQ(*spec.script, "#!/bin/sh\n# This script was created by sbatch --wrap.\n\necho hi\n");

  ASSERT_EQ(run("", {}, "ok.sh"), 0) << err_;  // standard input
  EXPECT_EQ(spec_.name, "sbatch");
  EXPECT_EQ(spec_.command, "");

  fs::create_directories("bin");
  write("bin/inpath.sh", "#!/bin/sh\n");
  EXPECT_EQ(spec_of("inpath.sh", {"PATH=/nonexistent:" + (directory_ / "bin").string()}).command,
            (directory_ / "bin/inpath.sh").string());
}

TEST_F(Sbatch, TakesTheEnvironmentAlong) {
  const std::vector<std::string> environment = {
      "HOME=/h",       "A=1",          "SLURM_JOB_ID=5",       "SLURM_ARRAY_TASK_ID=7",
      "SLURM_CONF=/c", "SPUR_CONF=/s", "SLURM_MEM_PER_NODE=9", "SLURMD_NODENAME=n1"};
  model::JobSpec spec = spec_of("ok.sh", environment);
  EXPECT_EQ(variable(spec, "A"), "1");
  EXPECT_EQ(variable(spec, "SLURM_CONF"), "/c");
  EXPECT_EQ(variable(spec, "SPUR_CONF"), "/s");
  for (const char* name :
       {"SLURM_JOB_ID", "SLURM_ARRAY_TASK_ID", "SLURM_MEM_PER_NODE", "SLURMD_NODENAME", "SLURM_GET_USER_ENV"})
    EXPECT_EQ(variable(spec, name), "(unset)") << name;
  EXPECT_EQ(variable(spec, "SLURM_SUBMIT_DIR"), directory_.string());
  EXPECT_NE(variable(spec, "SLURM_SUBMIT_HOST"), "(unset)");

  spec = spec_of("--export=NONE ok.sh", environment);
  EXPECT_EQ(variable(spec, "A"), "(unset)");
  EXPECT_EQ(variable(spec, "SLURM_CONF"), "/c");
  EXPECT_EQ(variable(spec, "SLURM_GET_USER_ENV"), "1");
  EXPECT_NE(variable(spec, "PATH"), "(unset)");  // as after logging in
  EXPECT_NE(variable(spec, "HOME"), "/h");
  spec = spec_of("--export=B=2,HOME ok.sh", environment);
  EXPECT_EQ(variable(spec, "A"), "(unset)");
  EXPECT_EQ(variable(spec, "B"), "2");
  EXPECT_EQ(variable(spec, "HOME"), "/h");
  EXPECT_EQ(variable(spec_of("ok.sh", {"SBATCH_EXPORT=ALL,C=3", "A=1"}), "C"), "3");

  write("vars", std::string_view("X=one two\0A=file\0junk\0", 22));
  spec = spec_of("--export-file=vars ok.sh", environment);
  EXPECT_EQ(variable(spec, "X"), "one two");
  EXPECT_EQ(variable(spec, "A"), "file");
  EXPECT_EQ(variable(spec, "HOME"), "(unset)");  // the file takes the place of what is around
  EXPECT_EQ(variable(spec_of("--export=ALL --export-file=vars ok.sh", environment), "HOME"), "/h");
  EXPECT_EQ(variable(spec_of("--export=NIL ok.sh", environment), "HOME"), "(unset)");

  spec = spec_of("--hint=nomultithread --ntasks-per-socket=2 ok.sh", environment);
  EXPECT_EQ(variable(spec, "SLURM_HINT"), "nomultithread");
  EXPECT_EQ(variable(spec, "SLURM_THREADS_PER_CORE"), "1");
  EXPECT_EQ(variable(spec, "SLURM_NTASKS_PER_SOCKET"), "2");
}

TEST_F(Sbatch, TakesLimitsAndMaskAlong) {
  const mode_t before = ::umask(027);
  const model::JobSpec spec = spec_of("ok.sh");
  ::umask(before);
  EXPECT_EQ(spec.umask, 027u);
  EXPECT_EQ(spec.rlimits.size(), 10u);
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  const auto found =
      std::ranges::find_if(spec.rlimits, [](const auto& limit) { return limit.resource == RLIMIT_NOFILE; });
  ASSERT_NE(found, spec.rlimits.end());
  EXPECT_EQ(found->soft, files.rlim_cur);
  EXPECT_EQ(spec_of("--propagate=CORE,rlimit_stack ok.sh").rlimits.size(), 2u);
  EXPECT_EQ(spec.session_id, static_cast<std::uint32_t>(::getsid(0)));
}

TEST_F(Sbatch, AsksAgainWithTheSameToken) {
  submit_errors_ = {{ErrorCode::Busy, ""}, {ErrorCode::Busy, ""}};
  EXPECT_EQ(run("ok.sh"), 0);
  EXPECT_EQ(out_, "Submitted batch job 101\n");
  EXPECT_EQ(err_, "sbatch: error: Slurm temporarily unable to accept job, sleeping and retrying\n");
  ASSERT_EQ(tokens_.size(), 3u);
  EXPECT_EQ(tokens_[0], tokens_[1]);
  EXPECT_EQ(tokens_[0], tokens_[2]);
  EXPECT_EQ(tokens_[0].size(), 32u);
  EXPECT_EQ(paused_, seconds(3));
  const std::string first = tokens_[0];
  submit_errors_.clear();
  run("ok.sh");
  EXPECT_NE(tokens_[0], first);
}

TEST_F(Sbatch, OtherUsersAreForRoot) {
  const int status = run("--uid=0 ok.sh");
  if (::geteuid() == 0) {
    EXPECT_EQ(status, 0) << err_;
    EXPECT_EQ(run("--uid=nobody --gid=nogroup ok.sh"), 0) << err_;
    EXPECT_EQ(spec_.uid.value, 65534u);
    EXPECT_EQ(spec_.gid.value, 65534u);
    EXPECT_EQ(run("--uid=nosuchuser ok.sh"), 255);
    EXPECT_EQ(err_, "sbatch: error: Invalid --uid specification\n");
  } else {
    EXPECT_EQ(status, 255);
    EXPECT_EQ(err_, "sbatch: error: --uid only permitted by root user\n");
  }
}

// --wait: the fake ends the job when somebody waits for it.
struct WaitCase {
  model::JobState state;
  model::ExitStatus exit;
  int status;
};
TEST_F(Sbatch, WaitPassesTheExitCodeOn) {
  using enum model::JobState;
  const WaitCase cases[] = {{Completed, {0, 0}, 0},
                            {Failed, {4, 0}, 4},
                            {Failed, {0, 9}, 1},
                            {Cancelled, {0, 0}, 1},
                            {Timeout, {0, 15}, 1}};
  for (const WaitCase& test : cases) {
    on_wait_ = [&](FakeController& controller) {
      FakeJob job(101, "wrap");
      job.job->state = test.state;
      job.job->exit = test.exit;
      controller.job_table.jobs = {job.done()};
    };
    // The job is there, pending, as soon as it is submitted.
    submit_errors_.clear();
    auto controller = std::make_unique<FakeController>();
    fill(*controller);
    controller->job_table.jobs = {FakeJob(101, "wrap").done()};
    controller->on_wait = on_wait_;
    FakeController* seen = controller.get();
    Output out(-1), err(-1);
    Context context(out, err);
    context.program = "sbatch";
    context.arguments = {"-W", "--wrap=true"};
    context.connect = [&]() -> Result<std::unique_ptr<Controller>> { return std::move(controller); };
    context.now = [] { return kTestNow; };
    EXPECT_EQ(cmd_sbatch(context), test.status);
    EXPECT_EQ(out.text(), "Submitted batch job 101\n");
    EXPECT_EQ(seen->calls, std::vector<std::string>{"wait 101 end"});
  }
}

TEST(DescribesAJob, KnowsTheVariablesOfJobs) {
  for (const char* name :
       {"SLURM_JOB_ID", "SLURM_JOBID", "SLURM_NTASKS", "SLURM_PROCID", "SLURM_STEP_ID", "SLURM_STEPID",
        "SLURM_ARRAY_JOB_ID", "SLURM_CPUS_ON_NODE", "SLURM_MEM_PER_CPU", "SLURMD_NODENAME", "SLURM_CPU_BIND"})
    EXPECT_TRUE(describes_a_job(name)) << name;
  for (const char* name : {"SLURM_CONF", "SLURM_TIME_FORMAT", "SBATCH_ACCOUNT", "SPUR_CONF", "SPUR_CONTROLLER_ADDR",
                           "PATH", "SLURM_JWT"})
    EXPECT_FALSE(describes_a_job(name)) << name;
}

}  // namespace
}  // namespace spur::cli
