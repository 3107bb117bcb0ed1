// SPDX-License-Identifier: Apache-2.0
#include "text/directives.h"

#include "fuzz.h"
#include "text/script_check.h"

namespace spur::text {

SPUR_FUZZ(directives,
          "#!/bin/sh\n#SBATCH -J \"a b\" --time=5 # note\n#SBATCH hetjob\n#SBATCH -N2\necho\n#SBATCH late\n",
          "#!/bin/sh\n#PBS -N x -l nodes=2:ppn=4,walltime=1:00:00\n#PBS -j oe -m abe -W depend=afterok:1\n",
          "#!/bin/sh\n#PBS -l select=2:ncpus=8:mpiprocs=4:mem=4gb:ngpus=1\n#PBS -a 202712251030.15 -v A=1,B -V\n",
          "#!/bin/sh\n#SPUR --error='/a b/%j' \\\n#SLURM a\\#b\n", "\r\n", " \n") {
  const ScriptFault fault = find_script_fault(input, 4096);
  SPUR_CHECK((fault == ScriptFault::None) == script_fault_lines(fault).empty());
  const auto directives = parse_directives(input, "job.sh");
  if (!directives) return fuzz::check_message(directives.error());
  SPUR_CHECK(!directives->components.empty());
  std::size_t letters = 0;
  for (const auto& component : directives->components)
    for (const auto& word : component) letters += word.size();
  SPUR_CHECK(letters <= 64 * (input.size() + 1));
}

}  // namespace spur::text
