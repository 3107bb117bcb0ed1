// SPDX-License-Identifier: Apache-2.0
// Journal entries and snapshots: round trips, damage, versions, and files that an earlier build wrote. SPUR_REWRITE=1
// writes testdata/ anew; that is for a new format version only, under new names.
#include "wire/command_codec.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "wire/envelope.h"
#include "wire/model_fields.h"

namespace spur::wire {
namespace {

using fields::fill;
using fields::Random;
using fields::same;

state::Batch random_batch(unsigned seed) {
  Random random(seed);
  state::Batch batch;
  fill(batch.at, random);
  batch.commands = fields::one_of_each<state::Command>(random);
  return batch;
}

state::Cluster::Image random_image(unsigned seed, std::size_t jobs) {
  Random random(seed);
  state::Cluster::Image image;
  fill(image, random);
  image.jobs.clear();
  std::shared_ptr<const model::JobSpec> spec;
  for (std::size_t i = 0; i < jobs; ++i) {
    auto job = std::make_shared<model::Job>();
    fill(*job, random);
    if (spec && i % 3 != 0) job->spec = spec;  // shared, as the tasks of an array do
    spec = job->spec;
    image.jobs.push_back(std::move(job));
  }
  return image;
}

TEST(CommandCodec, EveryCommandComesBack) {
  for (unsigned seed = 0; seed < 30; ++seed) {
    const auto batch = random_batch(seed);
    const auto back = decode_batch(encode_batch(batch));
    ASSERT_TRUE(back) << back.error().message;
    ASSERT_EQ(back->commands.size(), batch.commands.size());
    for (std::size_t i = 0; i < batch.commands.size(); ++i)
      EXPECT_TRUE(same(batch.commands[i], back->commands[i])) << "seed " << seed << " command " << i;
    EXPECT_EQ(batch.at, back->at);
  }
}

TEST(CommandCodec, DefaultsComeBack) {
  state::Batch batch;
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (batch.commands.emplace_back(std::in_place_index<I>), ...);
  }(std::make_index_sequence<std::variant_size_v<state::Command>>{});
  std::get<state::SubmitJob>(batch.commands[1]).spec = std::make_shared<model::JobSpec>();
  std::get<state::StartJob>(batch.commands[2]).allocation = std::make_shared<model::Allocation>();
  const auto back = decode_batch(encode_batch(batch));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_TRUE(same(batch, *back));
}

// Beside the commands, for those who look back; a journal from before they were noted has neither.
TEST(CommandCodec, WhoAskedAndWhenItWasShownComeBack) {
  state::Batch batch;
  batch.commands = {state::ReservationsDue{}, state::ReleaseJob{{JobId{7}, {}}}, state::ReservationsDue{}};
  batch.by = {std::nullopt, Uid(0)};
  batch.shown_before = from_micros(1'800'000'000'000'123);
  const auto back = decode_batch(encode_batch(batch));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->by, batch.by);
  EXPECT_EQ(back->shown_before, batch.shown_before);
  batch.by.clear();
  batch.shown_before = {};
  const auto bare = decode_batch(encode_batch(batch));
  ASSERT_TRUE(bare);
  EXPECT_TRUE(bare->by.empty());
  EXPECT_FALSE(is_set(bare->shown_before));
}

TEST(CommandCodec, EqualEnvironmentsOfABatchAreStoredOnce) {
  const std::string text(100'000, 'x');
  state::Batch batch;
  for (int i = 0; i < 50; ++i) {
    auto spec = std::make_shared<model::JobSpec>();
    spec->environment = std::make_shared<const std::string>(text);
    batch.commands.push_back(state::SubmitJob{spec, "t"});
  }
  const auto bytes = encode_batch(batch);
  EXPECT_LT(bytes.size(), text.size() + 10'000);
  const auto back = decode_batch(bytes);
  ASSERT_TRUE(back);
  EXPECT_EQ(*std::get<state::SubmitJob>(back->commands[49]).spec->environment, text);
}

TEST(CommandCodec, ImagesComeBackAcrossParts) {
  for (std::size_t jobs : {0u, 1u, 999u, 1000u, 2500u}) {
    const auto image = random_image(static_cast<unsigned>(jobs), jobs);
    const auto back = decode_image(encode_image(image));
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_TRUE(same(image, *back)) << jobs;
  }
  state::Cluster::Image empty;
  const auto back = decode_image(encode_image(empty));
  ASSERT_TRUE(back);
  EXPECT_TRUE(same(empty, *back));
}

TEST(CommandCodec, SharedSpecificationsStayShared) {
  const auto back = decode_image(encode_image(random_image(5, 30)));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->jobs[0]->spec, back->jobs[1]->spec);
  EXPECT_NE(back->jobs[0]->spec, back->jobs[3]->spec);
}

TEST(CommandCodec, AnyFlippedBitAndAnyCutIsFound) {
  const auto batch = encode_batch(random_batch(1));
  const auto image = encode_image(random_image(1, 3));
  for (std::size_t at = 0; at < batch.size(); ++at) {
    auto damaged = batch;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << (at % 8)));
    EXPECT_EQ(decode_batch(damaged).error().code, ErrorCode::Corrupt) << at;
    EXPECT_EQ(decode_batch(std::string_view(batch).substr(0, at)).error().code, ErrorCode::Corrupt) << at;
  }
  for (std::size_t at = 0; at < image.size(); ++at) {
    auto damaged = image;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << (at % 8)));
    EXPECT_EQ(decode_image(damaged).error().code, ErrorCode::Corrupt) << at;
    EXPECT_EQ(decode_image(std::string_view(image).substr(0, at)).error().code, ErrorCode::Corrupt) << at;
  }
  EXPECT_EQ(decode_batch(image).error().code, ErrorCode::Corrupt);
  EXPECT_EQ(decode_image(batch).error().code, ErrorCode::Corrupt);
}

TEST(CommandCodec, NewerFormatsAndUnknownContentAreRefused) {
  EXPECT_EQ(decode_batch(seal("SPRB", 12, "")).error().code, ErrorCode::VersionMismatch);
  EXPECT_EQ(decode_image(seal("SPRI", 11, "")).error().code, ErrorCode::VersionMismatch);
  EXPECT_EQ(decode_batch(seal("SPRB", 0, "")).error().code, ErrorCode::Corrupt);
  EXPECT_EQ(decode_image(seal("SPRI", 1, "")).error().code, ErrorCode::Corrupt);                  // no head
  EXPECT_EQ(decode_batch(seal("SPRB", 1, "\x12\x02\xfa\x7f")).error().code, ErrorCode::Corrupt);  // half a command
  EXPECT_EQ(decode_batch(seal("SPRB", 1, std::string_view("\x12\x00", 2))).error().code,
            ErrorCode::Corrupt);  // no kind
  EXPECT_EQ(decode_image(seal("SPRI", 1, std::string_view("\xff\xff\xff\xff", 4))).error().code, ErrorCode::Corrupt);
}

std::string data_path(const char* name) {
  return std::string(SPUR_SOURCE_DIR "/src/wire/testdata/") + name;
}

std::string read_all(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream content;
  content << file.rdbuf();
  return content.str();
}

template <class T>
std::string text_of(const T& value) {
  std::string text;
  fields::dump(value, "", &text);
  return text;
}

// Where two texts first differ: the whole of them would hide it.
std::string first_difference(std::string_view a, std::string_view b) {
  std::size_t at = 0, line = 0;
  for (; at < a.size() && at < b.size() && a[at] == b[at]; ++at)
    if (a[at] == '\n') line = at + 1;
  if (a == b) return "";
  return fmt::format("{}\n{}", a.substr(line, a.find('\n', line) - line), b.substr(line, b.find('\n', line) - line));
}

// The text beside each file says what must come out of it. Only those of the newest format are ever written anew, and
// only before it is released.
TEST(CommandCodec, FilesOfEveryFormatLoadForEver) {
  if (std::getenv("SPUR_REWRITE")) {
    const auto batch = random_batch(2026);
    const auto image = random_image(2026, 7);
    std::ofstream(data_path("batch_11.bin"), std::ios::binary) << encode_batch(batch);
    std::ofstream(data_path("batch_11.txt"), std::ios::binary) << text_of(batch);
    std::ofstream(data_path("image_11.bin"), std::ios::binary) << encode_image(image);
    std::ofstream(data_path("image_11.txt"), std::ios::binary) << text_of(image);
  }
  const struct {
    int format;
    std::size_t commands;
  } rows[] = {{1, 18}, {2, 24}, {3, 26}, {4, 26}, {5, 26}, {6, 31}, {7, 38}, {8, 39}, {9, 39}, {10, 42}, {11, 42}};
  for (const auto& [format, commands] : rows) {
    const auto file = [format](const char* kind, const char* ending) {
      return read_all(data_path(fmt::format("{}_{}.{}", kind, format, ending).c_str()));
    };
    const auto batch = decode_batch(file("batch", "bin"));
    ASSERT_TRUE(batch) << batch.error().message;
    EXPECT_EQ(first_difference(text_of(*batch), file("batch", "txt")), "");
    EXPECT_EQ(batch->commands.size(), commands);
    const auto image = decode_image(file("image", "bin"));
    ASSERT_TRUE(image) << image.error().message;
    EXPECT_EQ(first_difference(text_of(*image), file("image", "txt")), "");
    EXPECT_EQ(image->jobs.size(), 7u);
  }
}

}  // namespace
}  // namespace spur::wire
