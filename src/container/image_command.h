// SPDX-License-Identifier: Apache-2.0
// spur image import|list|remove: what a person does with the image stores.
#pragma once

#include <string>
#include <vector>

namespace spur::container {

// `words`: without "spur image". Prints, and returns the exit status.
int image_command(const std::vector<std::string>& words);

}  // namespace spur::container
