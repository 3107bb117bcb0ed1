// SPDX-License-Identifier: Apache-2.0
// Journal entries: any bytes are refused or understood; what is understood is written and read back the same. The
// envelope's checksum would stop every mutation, so the input goes inside a good one as well.
#include "fuzz.h"
#include "wire/command_codec.h"
#include "wire/envelope.h"

namespace spur::wire {

static std::string sample() {
  state::Batch batch;
  batch.at = from_unix_seconds(1'700'000'000);
  auto spec = std::make_shared<model::JobSpec>();
  spec->name = "job";
  spec->script = std::make_shared<const std::string>("#!/bin/sh\nhostname\n");
  spec->partitions = {"debug"};
  spec->array.emplace().tasks.insert_range(1, 9);
  batch.commands.push_back(state::SubmitJob{spec, "token"});
  auto allocation = std::make_shared<model::Allocation>();
  allocation->nodes.push_back(
      {.node = NodeIndex{3}, .cpus = {0, 1, 2, 5}, .memory_mib = 9, .tasks = 2, .devices = {{"gpu", "x", {0, 1}}}});
  batch.commands.push_back(state::StartJob{JobId{1}, 4, allocation});
  batch.commands.push_back(state::NodeLost{"n1"});
  return encode_batch(batch).substr(kEnvelopeBytes);
}
static const std::string kSample = sample();

static void check(std::string_view bytes) {
  const auto batch = decode_batch(bytes);
  if (!batch) return fuzz::check_message(batch.error());
  const auto again = encode_batch(*batch);
  const auto back = decode_batch(again);
  SPUR_CHECK(back && encode_batch(*back) == again);
}

SPUR_FUZZ(batch, kSample) {
  check(input);
  check(seal("SPRB", 1, input));
  SPUR_CHECK(input != kSample || decode_batch(seal("SPRB", 1, input)));  // else nothing above was tried
}

}  // namespace spur::wire
