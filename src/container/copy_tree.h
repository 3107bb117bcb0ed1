// SPDX-License-Identifier: Apache-2.0
// A copy of an image's files that belongs to the caller: for nodes whose kernel lets users mount no overlay.
#pragma once

#include "base/result.h"

namespace spur::container {

// Everything in the directory `from` into the empty directory `to`, both descriptors. Blocks are shared where the
// file system can. Links are copied as such; what cannot be read, and what is neither file, directory nor link, is
// left out, as it would be of no use through an overlay either.
Status copy_tree(int from, int to);

}  // namespace spur::container
