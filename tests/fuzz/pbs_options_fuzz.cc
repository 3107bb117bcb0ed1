// SPDX-License-Identifier: Apache-2.0
#include "text/pbs_options.h"

#include "fuzz.h"
#include "text/directives.h"

namespace spur::text {

SPUR_FUZZ(pbs_options, "-N x -q debug@s", "-l nodes=2:ppn=4:gpus=1+n3:ppn=2", "-l select=2:ncpus=8:mpiprocs=4",
          "-a 12251030", "-l walltime=1,mem=2gb,ncpus=4,place=excl", "-W block=true,depend=afterok:1,afterany:2",
          "-m abe -r y -h -V") {
  const auto words = split_directive(input);
  if (!words) return fuzz::check_message(words.error());
  const auto translated = translate_pbs_options(*words);
  if (!translated) return fuzz::check_message(translated.error());
  for (const auto& word : *translated) SPUR_CHECK(word.starts_with("--"));
}

}  // namespace spur::text
