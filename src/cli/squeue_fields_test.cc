// SPDX-License-Identifier: Apache-2.0
// A column that reads a field which it does not name would show a default wherever squeue asks for few columns. So
// each is rendered, and each key sorted by, from jobs of which everything is known and from what the controller sends
// of them for that column alone: random jobs, in which each field may have any value or its default.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "cli/fake_controller.h"
#include "cli/squeue_alike.h"
#include "cli/squeue_columns.h"
#include "cli/squeue_sort.h"
#include "wire/model_fields.h"

namespace spur::cli {
namespace {

using wire::fields::Random;

template <class T>
void fill_most(T& value, Random& random) {
  std::apply(
      [&](auto&... field) {
        const auto one = [&](auto& f) {
          if (random() % 4 != 0) wire::fields::fill(f, random);
        };
        (one(field), ...);
      },
      wire::fields::of(value));
}

model::JobPtr random_job(Random& random) {
  auto spec = std::make_shared<model::JobSpec>();
  auto job = std::make_shared<model::Job>();
  fill_most(*spec, random);
  fill_most(*job, random);
  spec->uid = Uid(static_cast<std::uint32_t>(random() % 4));
  spec->gid = Gid(static_cast<std::uint32_t>(random() % 4));
  for (std::string* path : {&spec->std_in, &spec->std_out, &spec->std_err})
    if (random() % 2 != 0) *path = "%x-%u-%N";
  for (model::GresRequest& gres : spec->gres)
    if (random() % 4 == 0) gres.per = model::GresRequest::Per::Node;
  if (random() % 2 != 0) job->array_pending.reset();
  if (random() % 2 != 0) job->het_job = {};
  if (random() % 3 == 0) job->flags = 0;
  if (random() % 4 == 0) {  // the last task of an array
    auto last = std::make_shared<IndexSet>();
    last->insert_range(7, 7);
    job->array_pending = std::move(last);
  }
  for (NodeIndex& node : job->nodes_left) node.value %= 3;
  if (job->allocation) {
    auto allocation = std::make_shared<model::Allocation>(*job->allocation);
    for (model::NodeGrant& grant : allocation->nodes) grant.node.value %= 3;
    job->allocation = std::move(allocation);
  }
  job->spec = std::move(spec);
  return job;
}

// A table of random jobs, and the same as the controller sends it to who wants some fields.
struct Tables {
  explicit Tables(std::size_t count, Random& random) {
    whole.as_of = from_unix_seconds(1794767148);
    whole.cluster_name = "test";
    whole.node_names = {"n1", "n2", "n3"};
    for (std::size_t i = 0; i < count; ++i) {
      whole.jobs.push_back(random_job(random));
      const bool planned = random() % 2 != 0;
      whole.expected_starts.push_back(planned ? whole.as_of + minutes(random() % 100) : Time{});
      whole.planned_nodes.emplace_back(planned ? "n2" : "");
    }
  }
  wire::JobTable as_sent(const wire::JobFields& fields) const {
    wire::JobTable sent = whole;
    for (model::JobPtr& job : sent.jobs) job = as_asked_for(job, fields);
    if (!fields.has(wire::JobField::expected_start)) sent.expected_starts.assign(sent.jobs.size(), Time{});
    if (!fields.has(wire::JobField::planned_nodes)) sent.planned_nodes.assign(sent.jobs.size(), "");
    return sent;
  }
  static std::vector<JobLine> lines(const wire::JobTable& table) {
    std::vector<JobLine> lines;
    for (std::size_t i = 0; i < table.jobs.size(); ++i)
      lines.push_back({.job = table.jobs[i].get(),
                       .table = &table,
                       .expected_start = table.expected_starts[i],
                       .planned_nodes = &table.planned_nodes[i],
                       .task = std::nullopt});
    return lines;
  }
  wire::JobTable whole;
};

TEST(SqueueFields, EveryColumnSaysWhatItReads) {
  Random random(4711);
  const Tables tables(400, random);
  const auto whole = Tables::lines(tables.whole);
  for (const JobColumn& column : job_columns()) {
    const wire::JobTable sent = tables.as_sent(kLineFields | column.reads);
    const auto lines = Tables::lines(sent);
    for (std::size_t i = 0; i < lines.size(); ++i)
      ASSERT_EQ(column.value(lines[i]), column.value(whole[i])) << column.name << " of job " << i;
  }
}

// ... and reads what it says: so the jobs above are such that a field which is left out is missed.
TEST(SqueueFields, EveryFieldThatIsNamedIsMissed) {
  Random random(4711);
  const Tables tables(3000, random);
  const auto whole = Tables::lines(tables.whole);
  const auto without = [](const wire::JobFields& fields, auto left_out) {
    auto names = wire::field_names(fields);
    std::erase(names, wire::field_names(wire::JobFields{left_out}).front());
    return wire::parse_field_names(names);
  };
  const auto check = [&](const JobColumn& column, auto field) {
    if (!column.reads.has(field) || kLineFields.has(field)) return;
    const wire::JobTable sent = tables.as_sent(without(kLineFields | column.reads, field));
    const auto lines = Tables::lines(sent);
    bool missed = false;
    for (std::size_t i = 0; i < lines.size() && !missed; ++i) missed = column.value(lines[i]) != column.value(whole[i]);
    EXPECT_TRUE(missed) << column.name << " without " << wire::field_names(wire::JobFields{field}).front();
  };
  for (const JobColumn& column : job_columns()) {
    for (std::uint8_t i = 0; i < static_cast<std::uint8_t>(wire::JobField::Count); ++i)
      check(column, static_cast<wire::JobField>(i));
    for (std::uint8_t i = 0; i < static_cast<std::uint8_t>(wire::SpecField::Count); ++i)
      check(column, static_cast<wire::SpecField>(i));
  }
}

// What is taken for the same without a look is the same: two jobs that differ by their numbers and in some fields.
TEST(SqueueFields, WhatIsAlikeShowsTheSame) {
  Random random(815);
  const Tables tables(1200, random);
  std::map<char, int> alike;
  for (const JobLine& one : Tables::lines(tables.whole)) {
    model::Job changed = *one.job;
    changed.id = JobId{changed.id.value + 1};
    const auto other = random_job(random);
    // Each differs in about one of many fields, or in none.
    switch (random() % 20) {
      case 0: changed.state = other->state; break;
      case 1: changed.flags = other->flags; break;
      case 2: changed.reason = other->reason; break;
      case 3: changed.reason_detail = other->reason_detail; break;
      case 4: changed.priority = other->priority; break;
      case 5: changed.time_limit = other->time_limit; break;
      case 6: changed.started = other->started; break;
      case 7: changed.ended = other->ended; break;
      case 8: changed.suspended_at = other->suspended_at; break;
      case 9: changed.suspended_total = other->suspended_total; break;
      case 10: changed.cpus_allocated = other->cpus_allocated; break;
      case 11: changed.batch_host = other->batch_host; break;
      case 12: changed.allocation = other->allocation; break;
      case 13: changed.nodes_left = other->nodes_left; break;
      case 14: changed.last_nodes = other->last_nodes; break;
      case 15: changed.spec = other->spec; break;
      default: break;
    }
    model::Job above = *one.job;
    for (model::Job* job : {&above, &changed})
      job->array_job = {}, job->array_task = {}, job->array_pending = {}, job->het_job = {};
    JobLine first = one, second = one;
    first.job = &above, second.job = &changed;
    const wire::JobFields in_common = fields_in_common(first, second);
    for (const JobColumn& column : job_columns())
      if (is_alike(column, in_common)) {
        ++alike[column.letter];
        EXPECT_NE(column.reads, wire::JobFields{}) << column.name << " would be alike above the first line";
        ASSERT_EQ(column.value(first), column.value(second)) << column.name;
      }
    EXPECT_EQ(fields_in_common(one, one) == wire::JobFields{},
              one.job->array_job || one.job->array_pending || one.job->het_job);
  }
  for (const char letter : std::string_view("PutMDR")) EXPECT_GT(alike[letter], 20) << letter;
}

TEST(SqueueFields, EveryKeySaysWhatItReads) {
  Random random(12);
  const Tables tables(200, random);
  std::size_t keys = 0;
  const auto order = [](const std::vector<JobLine>& lines, const wire::JobTable& table) {
    std::vector<std::size_t> places;
    for (const JobLine& line : lines)
      places.push_back(static_cast<std::size_t>(
          std::ranges::find(table.jobs, line.job, &model::JobPtr::get) - table.jobs.begin()));
    return places;
  };
  for (const JobColumn& column : job_columns()) {
    auto whole = Tables::lines(tables.whole);
    const std::string key(1, column.letter);
    if (column.letter == 0 || sort_lines(whole, key) != 0) continue;
    ++keys;
    const wire::JobTable sent = tables.as_sent(kLineFields | sort_fields(key));
    auto lines = Tables::lines(sent);
    ASSERT_EQ(sort_lines(lines, key), 0);
    ASSERT_EQ(order(lines, sent), order(whole, tables.whole)) << key;
  }
  EXPECT_GE(keys, 30u);
}

}  // namespace
}  // namespace spur::cli
