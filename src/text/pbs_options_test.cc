// SPDX-License-Identifier: Apache-2.0
#include "text/pbs_options.h"

#include <gtest/gtest.h>

#include "text/directives.h"

namespace spur::text {
namespace {

using Words = std::vector<std::string>;

Result<Words> translate(std::string_view line) {
  SPUR_ASSIGN(const Words words, split_directive(line));
  return translate_pbs_options(words);
}

TEST(PbsOptions, SpeaksSbatch) {
  const struct {
    const char* pbs;
    Words words;
  } rows[] = {
      {"", {}},
      {"-N name", {"--job-name=name"}},
      {"-Nname", {"--job-name=name"}},
      {"-q debug", {"--partition=debug"}},
      {"-q debug@server", {"--partition=debug"}},
      {"-A acct -M me@x", {"--account=acct", "--mail-user=me@x"}},
      {"-m abe", {"--mail-type=FAIL,BEGIN,END"}},
      {"-m n", {"--mail-type=NONE"}},
      {"-t 1-3%2", {"--array=1-3%2"}},
      {"-J 1-3", {"--array=1-3"}},
      {"-d /tmp -h", {"--chdir=/tmp", "--hold"}},
      {"-r y", {"--requeue"}},
      {"-r n", {"--no-requeue"}},
      {"-o out -e err", {"--output=out", "--error=err"}},
      {"-j oe -o out", {"--output=out"}},
      {"-j oe -o out -e err", {"--output=out"}},
      {"-j eo -e err", {"--output=err"}},
      {"-j n -e err", {"--error=err"}},
      {"-v A=1,B -v C=2", {"--export=A=1,B,C=2"}},
      {"-V", {"--export=ALL"}},
      {"-V -v A=1", {"--export=ALL,A=1"}},
      {"-W depend=afterok:1:2,afterany:3", {"--dependency=afterok:1:2,afterany:3"}},
      {"-W block=true,depend=afterok:1", {"--wait", "--dependency=afterok:1"}},
      {"-a 16:00", {"--begin=16:00"}},
      {"-a 12251030", {"--begin=12/25-10:30:00"}},
      {"-a 2712251030.15", {"--begin=2027-12-25T10:30:15"}},
      {"-a 202712251030", {"--begin=2027-12-25T10:30:00"}},
      {"-S /bin/bash -k oe -c n -p 5 -u me -z", {}},
      {"-l walltime=01:00:00", {"--time=01:00:00"}},
      {"-lwalltime=30", {"--time=30"}},
      {"-l nodes=2", {"--nodes=2", "--ntasks=2"}},
      {"-l nodes=2:ppn=3", {"--nodes=2", "--ntasks=6", "--ntasks-per-node=3"}},
      {"-l nodes=1:ppn=4:gpus=2", {"--nodes=1", "--ntasks=4", "--ntasks-per-node=4", "--gres=gpu:2"}},
      {"-l nodes=4:ppn=2+1:ppn=3", {"--nodes=5", "--ntasks=11"}},
      {"-l nodes=n1+n2", {"--nodes=2", "--ntasks=2", "--nodelist=n1,n2"}},
      {"-l nodes=n1:ppn=2+n2:ppn=2", {"--nodes=2", "--ntasks=4", "--ntasks-per-node=2", "--nodelist=n1,n2"}},
      {"-l nodes=1:ppn=3,mem=200mb,walltime=10:00",
       {"--nodes=1", "--ntasks=3", "--ntasks-per-node=3", "--mem=200mb", "--time=10:00"}},
      {"-l ncpus=4", {"--cpus-per-task=4"}},
      {"-l procs=4,pmem=1gb,file=10gb,nice=5,host=n3",
       {"--ntasks=4", "--mem-per-cpu=1gb", "--tmp=10gb", "--nice=5", "--nodelist=n3"}},
      {"-l place=excl", {"--exclusive"}},
      {"-l select=2", {"--nodes=2", "--ntasks=2"}},
      {"-l select=2:ncpus=3:mpiprocs=3", {"--nodes=2", "--ntasks=6", "--ntasks-per-node=3"}},
      {"-l select=2:ncpus=8:mpiprocs=4:mem=4gb:ngpus=1",
       {"--nodes=2", "--ntasks=8", "--ntasks-per-node=4", "--cpus-per-task=2", "--gres=gpu:1", "--mem=4gb"}},
      {"-l select=1:ncpus=4:mem=2gb", {"--nodes=1", "--ntasks=1", "--cpus-per-task=4", "--mem=2gb"}},
  };
  for (const auto& row : rows) {
    const auto words = translate(row.pbs);
    ASSERT_TRUE(words) << row.pbs << ": " << words.error().message;
    EXPECT_EQ(*words, row.words) << row.pbs;
  }
}

TEST(PbsOptions, RefusesWhatItDoesNotKnow) {
  const struct {
    const char *pbs, *message;
  } rows[] = {
      {"-Z", "invalid option -- 'Z'"},
      {"-D /tmp", "invalid option -- 'D'"},
      {"-Vx", "invalid option -- 'Vx'"},
      {"stray", "Invalid argument: stray"},
      {"-", "Invalid argument: -"},
      {"-N", "option requires an argument -- 'N'"},
      {"-l foo=3", "Invalid PBS option -l foo=3"},
      {"-l walltime", "Invalid PBS option -l walltime"},
      {"-l walltime=", "Invalid PBS option -l walltime="},
      {"-l nodes=0", "Invalid PBS option -l nodes 0"},
      {"-l nodes=1:ppn=x", "Invalid PBS option -l nodes 1:ppn=x"},
      {"-l nodes=1:bigmem", "Invalid PBS option -l nodes 1:bigmem"},
      {"-l nodes=999999:ppn=999999", "Invalid PBS option -l nodes 999999:ppn=999999"},
      {"-l select=1:x=2", "Invalid PBS option -l select 1:x=2"},
      {"-l select=1+2", "PBS option -l select=1+2 with several kinds of chunks is not supported"},
      {"-l place=scatter", "Invalid PBS option -l place=scatter"},
      {"-j x", "Invalid PBS option -j x"},
      {"-m x", "Invalid PBS option -m x"},
      {"-r x", "Invalid PBS option -r x"},
      {"-W umask=22", "Invalid PBS option -W umask=22"},
  };
  for (const auto& row : rows) {
    const auto words = translate(row.pbs);
    ASSERT_FALSE(words) << row.pbs;
    EXPECT_EQ(words.error().message, row.message);
  }
}

}  // namespace
}  // namespace spur::text
