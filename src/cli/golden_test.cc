// SPDX-License-Identifier: Apache-2.0
// Runs the command lines of tests/cli/*.txt against the frozen cluster of fake_cluster.h and compares stdout, stderr
// and exit status. With SPUR_UPDATE_GOLDEN=1 the expected half of the files is written anew: the diff is the review.
//
//   $ squeue -j 99999            a command line; NAME=VALUE words in front are its environment; '<' file is its input
//   | text                       a line of stdout
//   ! text                       a line of stderr
//   = 1                          exit status, when not 0
//   > cancel 3 signal=0          what the controller was asked to do
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "cli/commands.h"
#include "cli/fake_accounts.h"
#include "cli/fake_cluster.h"
#include "cli/read_file.h"
#include "text/directives.h"

namespace spur::cli {
namespace {

namespace fs = std::filesystem;

std::string read_all(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

void prefixed(std::string& text, std::string_view mark, std::string_view lines) {
  while (!lines.empty()) {
    const std::size_t end = lines.find('\n');
    const std::string_view line = lines.substr(0, end);
    text.append(mark);
    if (!line.empty()) text.append(" ").append(line);
    text.append(end == std::string_view::npos ? "\\\n" : "\n");  // a backslash: no newline there
    lines.remove_prefix(end == std::string_view::npos ? lines.size() : end + 1);
  }
}

// The working directory's name differs from run to run.
std::string without(std::string text, const std::string& directory) {
  for (std::size_t at = text.find(directory); at != std::string::npos; at = text.find(directory, at))
    text.replace(at, directory.size(), "$DIR");
  return text;
}

// As with a topology.yaml.
void name_topologies(FakeController& controller) {
  model::ClusterConfig& config = controller.cluster_config;
  config.topology.name = "usual";
  config.topology.kind = model::TopologyKind::Tree;
  model::TopologyConfig& pods = config.other_topologies.emplace_back();
  pods.name = "pods";
  pods.kind = model::TopologyKind::Block;
  pods.blocks = {{"b1", "n[1-2]", "", 1}, {"b2", "n[3-4]", "", 2}};
  pods.block_sizes = {2, 4};
  config.other_topologies.emplace_back().name = "even";
  controller.cluster_table.partitions.front().config.topology = "pods";
}

std::string run_line(std::string line, const std::string& directory) {
  if (const std::size_t at = line.find("$DIR"); at != std::string::npos) line.replace(at, 4, directory);
  auto words = text::split_directive(line);
  if (!words) return "? " + words.error().message + "\n";
  std::vector<std::string> environment = {"PATH=/usr/bin:/bin", "HOME=/root"};
  while (!words->empty() && words->front().find('=') != std::string::npos && !words->front().starts_with('-')) {
    environment.push_back(words->front());
    words->erase(words->begin());
  }
  std::string input = "/dev/null";
  if (words->size() > 2 && (*words)[words->size() - 2] == "<") {
    input = words->back();
    words->resize(words->size() - 2);
  }
  std::vector<const char*> pointers;
  for (const std::string& entry : environment) pointers.push_back(entry.c_str());
  pointers.push_back(nullptr);

  auto controller = std::make_unique<FakeController>();
  fill(*controller);
  FakeController* seen = controller.get();
  Output out(-1), err(-1);
  Context context(out, err);
  context.program = words->front();
  context.arguments.assign(words->begin() + 1, words->end());
  context.environment = pointers.data();
  context.input = ::open(input.c_str(), O_RDONLY);
  context.spur_version = "0.1.0";
  bool asked = false;
  std::vector<std::string> account_calls;
  context.connect = [&]() -> Result<std::unique_ptr<Controller>> {
    asked = true;
    if (context.env("TEST_DOWN")) seen->down = true;
    if (context.env("TEST_LOADS")) seen->cluster_table.loads = {{5, 700}, {123, 21014}, {}, {0, 1}};
    if (context.env("TEST_SCHEDULER_LOG")) seen->scheduler_has_log = true;
    if (context.env("TEST_TOPOLOGIES")) name_topologies(*seen);
    return std::move(controller);
  };
  context.connect_accounts = [&]() -> Result<std::unique_ptr<Accounts>> {
    asked = true;
    return std::make_unique<FakeAccounts>(&account_calls);
  };
  context.now = [] { return kTestNow; };
  context.pause = [](seconds) {};
  const Command* command = find_command(context.program);
  const int status = command != nullptr ? command->run(context) : cmd_spur(context);
  ::close(context.input);

  std::string result;
  prefixed(result, "|", without(out.text(), directory));
  prefixed(result, "!", without(err.text(), directory));
  if (asked)
    for (const auto* calls : {&seen->calls, &account_calls})
      for (const std::string& call : *calls) result.append("> ").append(call).append("\n");
  if (status != 0) result.append(fmt::format("= {}\n", status));
  return result;
}

void write_scripts() {
  const auto write = [](const char* name, std::string_view text) { std::ofstream(name, std::ios::binary) << text; };
  write("ok.sh", "#!/bin/sh\ntrue\n");
  write("noshebang.sh", "echo hi\n");
  write("empty.sh", "");
  write("blank.sh", " \n\t\n");
  write("dos.sh", "#!/bin/sh\r\ntrue\r\n");
  write("nul.sh", std::string_view("#!/bin/sh\n\0\n", 12));
  write("badopt.sh", "#!/bin/sh\n#SBATCH --bogus=1\ntrue\n");
  write("word.sh", "#!/bin/sh\n#SBATCH -J foo bar\ntrue\n");
  write("het.sh", "#!/bin/sh\n#SBATCH -n1\n#SBATCH hetjob\n#SBATCH -n2\ntrue\n");
  write("pbs.sh", "#!/bin/sh\n#PBS -N pbsname\ntrue\n");
  write("yes", "y\n");
  write("session", "ping\nfoo\nshow job 99\n!!\nquit\nping\n");
  write("hosts", "n1\nn2,n3\n");
  write("cron", "# mine\nA=1\n#SCRON -t 5\n#SCRON -J tea\n0 16 * * mon-fri brew\n@daily /opt/bin/clean all\n");
  write("cron_time", "@daily true\n60 * * * * true\n");
  write("cron_option", "#SCRON --bogus\n@daily true\n");
  write("cron_word", "#SCRON -t 5 word\n@daily true\n");
  // Four processors: one job runs, a wide one waits for it, two narrow ones come behind; and a line of nonsense.
  const auto job = [](int id, int submit, int run, int procs, int limit, int user) {
    return fmt::format("{} {} -1 {} {} -1 -1 -1 {} -1 1 {} 1 -1 1 1 -1 -1\n", id, submit, run, procs, limit, user);
  };
  write("four.swf", "; Computer: four\n; MaxProcs: 4\n" + job(1, 0, 100, 3, 120, 7) + job(2, 0, 60, 4, 60, 7) +
                        "nonsense\n" + job(3, 0, 300, 1, 300, 8) + job(4, 0, 60, 1, 120, 8) + job(5, 0, 0, 1, 60, 8) +
                        job(6, 0, 9, 9, 60, 8));
  write("nodes.csv", "sn,cpu_milli,memory_mib,gpu,model\na,8000,1000,2,x\nb,8000,1000,2,x\n");
  write("timed.csv",
        "name,cpu_milli,memory_mib,num_gpu,gpu_milli,qos,creation_time,deletion_time,scheduled_time\n"
        "p,1000,10,2,1000,LS,0,100,0\nq,1000,10,2,1000,LS,0,100,0\nr,1000,10,1,500,BE,10,70,10\ns,1,1,0,0,BE,5,,\n");
  write("pods.csv", "name,cpu_milli,memory_mib,num_gpu,gpu_milli\np,1000,10,1,500\nq,1000,10,1,1000\nr,1,2\n");
}

class Golden : public testing::TestWithParam<std::string> {};

TEST_P(Golden, File) {
  ::setenv("TZ", "UTC", 1);
  ::tzset();
  const fs::path file = fs::path(SPUR_SOURCE_DIR) / "tests/cli" / GetParam();
  const std::string before = fs::current_path();
  const std::string directory = fs::temp_directory_path() / fmt::format("spur-golden-{}", ::getpid());
  fs::create_directories(directory);
  fs::current_path(directory);
  write_scripts();

  std::string actual, expected = read_all(file);
  std::istringstream lines(expected);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("$ ")) {
      actual.append(line).append("\n").append(run_line(line.substr(2), directory));
    } else if (line.empty() || line.starts_with("#")) {
      actual.append(line).append("\n");
    }
  }
  fs::current_path(before);
  fs::remove_all(directory);
  if (std::getenv("SPUR_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(file) << actual;
    return;
  }
  EXPECT_FALSE(expected.empty()) << file;
  EXPECT_EQ(actual, expected);
}

std::vector<std::string> files() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(fs::path(SPUR_SOURCE_DIR) / "tests/cli"))
    if (entry.path().extension() == ".txt") names.push_back(entry.path().filename());
  std::ranges::sort(names);
  return names;
}
INSTANTIATE_TEST_SUITE_P(Cli, Golden, testing::ValuesIn(files()),
                         [](const auto& file) { return file.param.substr(0, file.param.find('.')); });

}  // namespace
}  // namespace spur::cli
