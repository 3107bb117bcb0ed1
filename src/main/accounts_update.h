// SPDX-License-Identifier: Apache-2.0
// What spurdbd says of accounts, as the controller takes it in.
#pragma once

#include <string>

#include "base/result.h"
#include "model/account_book.h"

namespace spur::main {

// Names of users get their numbers here, once, so that every replica has the same.
Result<model::AccountsUpdate> read_accounts(const std::string& bytes);

}  // namespace spur::main
