// SPDX-License-Identifier: Apache-2.0
// Any bytes as slurmdbd.conf: read or refused in one line; the address of the database is always one line of plain text.
#include "config/slurm_conf.h"
#include "fuzz.h"
#include "text/printable.h"

namespace spur::config {

SPUR_FUZZ(slurmdbd_conf, "DbdHost=db\nDbdPort=6819\nStorageType=accounting_storage/pgsql\nStorageUser=s\nStoragePass=\"a b\"\n",
          "StorageType=accounting_storage/mysql\nStorageLoc=/x\nPurgeJobAfter=12months\nPurgeStepAfter=1\nLogFile=/l\n",
          "PurgeJobAfter=99999999999hours\nDebugLevel=debug9\nParameters=PreserveCaseUser\n") {
  const FileReader none = [](const std::string&) -> Result<std::string> { return fail(ErrorCode::NotFound, "none"); };
  Draft draft;
  draft.dialect = draft.written_in = Dialect::Slurm;
  draft.files.push_back("/etc/slurm/slurm.conf");
  if (const auto read = read_slurm_sibling(Scope::Dbd, input, "/etc/slurm/slurmdbd.conf", none, draft); !read)
    return fuzz::check_message(read.error());
  SPUR_CHECK(!accounting_database(draft.daemon).empty());
  for (const std::string& line : draft.warnings) SPUR_CHECK(text::printable(line) == line);
}

}  // namespace spur::config
