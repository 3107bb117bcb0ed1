// SPDX-License-Identifier: Apache-2.0
#include "main/accounts_update.h"

#include "os/name_lookup.h"
#include "spur/v1/types.pb.h"
#include "wire/accounts_codec.h"

namespace spur::main {

Result<model::AccountsUpdate> read_accounts(const std::string& bytes) {
  v1::AccountsUpdate message;
  model::AccountsUpdate update;
  if (!message.ParseFromString(bytes)) return fail(ErrorCode::Corrupt, "spurdbd sent accounts that cannot be read");
  if (auto ok = wire::from_proto(message, &update); !ok)
    return fail(ok.error().code, "spurdbd: " + ok.error().message);
  for (model::Association& row : update.associations)
    if (row.is_user())
      if (const auto uid = os::user_by_name(row.user)) row.uid = uid->value;
  for (model::AccountUser& user : update.users)
    if (const auto uid = os::user_by_name(user.name)) user.uid = uid->value;
  return update;
}

}  // namespace spur::main
