// SPDX-License-Identifier: Apache-2.0
// The device files behind a node's GRES, in the order in which grants number them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "model/node.h"
#include "os/confinement.h"

namespace spur::os {

// Rows of one name follow each other's numbers. `number_of` tells what is behind a file (device_number); files that
// are missing are passed over, and named in `missing` if that is given. `more` gives further files of a device by its
// first (the other nodes of a GPU); may be empty.
std::vector<ManagedDevice> managed_devices(
    const std::vector<model::NodeGres>& gres,
    const std::function<Result<DeviceNumber>(const std::string&)>& number_of,
    const std::function<std::vector<std::string>(const std::string&)>& more = {},
    std::vector<std::string>* missing = nullptr);

}  // namespace spur::os
