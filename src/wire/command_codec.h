// SPDX-License-Identifier: Apache-2.0
// Journal entries and snapshots as bytes: protobuf messages of proto/spur/v1/journal.proto with a format version in
// front of the fields. Decoding refuses a newer version (VersionMismatch) and damaged bytes (Corrupt); it never
// guesses.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "state/cluster.h"
#include "state/command.h"

namespace spur::wire {

std::string encode_batch(const state::Batch& batch);
Result<state::Batch> decode_batch(std::string_view bytes);

std::string encode_image(const state::Cluster::Image& image);
Result<state::Cluster::Image> decode_image(std::string_view bytes);

}  // namespace spur::wire
