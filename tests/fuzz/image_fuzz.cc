// SPDX-License-Identifier: Apache-2.0
// Snapshots, as batch_fuzz.cc does journal entries.
#include "fuzz.h"
#include "wire/command_codec.h"
#include "wire/envelope.h"

namespace spur::wire {

static std::string sample() {
  state::Cluster::Image image;
  image.index = 7;
  image.next_job_id = 3;
  image.config.partitions.emplace_back().name = "debug";
  auto node = std::make_shared<model::Node>();
  node->name = "n1";
  node->cpus_in_use = {15};
  image.nodes.push_back(node);
  for (std::uint32_t id = 1; id <= 2; ++id) {
    auto job = std::make_shared<model::Job>();
    auto spec = std::make_shared<model::JobSpec>();
    spec->environment = std::make_shared<const std::string>("A=1");
    job->spec = spec;
    job->id = JobId{id};
    image.jobs.push_back(job);
  }
  image.tokens = {{"0:t", JobId{1}}};
  return encode_image(image).substr(kEnvelopeBytes);
}
static const std::string kSample = sample();

static void check(std::string_view bytes) {
  const auto image = decode_image(bytes);
  if (!image) return fuzz::check_message(image.error());
  const auto again = encode_image(*image);
  const auto back = decode_image(again);
  SPUR_CHECK(back && encode_image(*back) == again);
}

SPUR_FUZZ(image, kSample) {
  check(input);
  check(seal("SPRI", 1, input));
  SPUR_CHECK(input != kSample || decode_image(seal("SPRI", 1, input)));  // else nothing above was tried
}

}  // namespace spur::wire
