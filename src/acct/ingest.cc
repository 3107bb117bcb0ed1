// SPDX-License-Identifier: Apache-2.0
#include "acct/ingest.h"

#include <fmt/format.h>

#include <map>
#include <tuple>

#include "spur/v1/accounting.pb.h"

namespace spur::acct {
namespace {

// (job, submitted, epoch [, step]) -> where in the chunk's list
using JobKey = std::tuple<std::uint32_t, std::int64_t, std::uint32_t>;
using StepKey = std::tuple<std::uint32_t, std::int64_t, std::uint32_t, std::uint32_t>;

struct Places {
  std::map<JobKey, std::size_t> jobs;
  std::map<StepKey, std::size_t> steps;
};

// The slot for a key: that of an earlier record with the same one, or a new one.
template <class Row, class Key>
Row& slot(std::vector<Row>& rows, std::map<Key, std::size_t>& places, const Key& key) {
  const auto [at, fresh] = places.emplace(key, rows.size());
  if (fresh) rows.emplace_back();
  return rows[at->second];
}

void take_job(const v1::AcctJob& job, io::AcctChunk& chunk, Places& places) {
  auto& row = slot(chunk.jobs, places.jobs, JobKey{job.job(), job.submitted_us(), job.epoch()});
  row.job = job.job();
  row.epoch = job.epoch();
  row.submitted = from_micros(job.submitted_us());
  row.array_job = job.array_job();
  row.het_job = job.het_job();
  row.uid = job.uid();
  row.account = job.account();
  row.state = job.state();
  row.started = from_micros(job.started_us());
  row.ended = from_micros(job.ended_us());
  row.record = job.SerializeAsString();
}

void take_step(const v1::AcctStep& step, io::AcctChunk& chunk, Places& places) {
  auto& row = slot(chunk.steps, places.steps, StepKey{step.job(), step.submitted_us(), step.epoch(), step.step()});
  row.job = step.job();
  row.epoch = step.epoch();
  row.submitted = from_micros(step.submitted_us());
  row.step = step.step();
  row.record = step.SerializeAsString();
}

}  // namespace

Result<io::AcctChunk> make_chunk(const std::string& cluster, Time born,
                                 const std::vector<std::string_view>& records, std::set<WckeyUse>* wckeys) {
  io::AcctChunk chunk;
  chunk.cluster = cluster;
  chunk.born = born;
  Places places;
  v1::AcctRecord record;
  for (const auto bytes : records) {
    if (!record.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
      return fail(ErrorCode::Corrupt, "a record of the outbox cannot be read");
    if (record.number() <= chunk.last)
      return fail(ErrorCode::Corrupt, fmt::format("record {} comes after {}", record.number(), chunk.last));
    if (chunk.first == 0) chunk.first = record.number();
    chunk.last = record.number();
    switch (record.kind_case()) {
      case v1::AcctRecord::kJob:
        if (wckeys) {
          if (record.job().wckey().empty()) record.mutable_job()->set_wckey("*");
          wckeys->insert({record.job().user(), record.job().wckey()});
        }
        take_job(record.job(), chunk, places);
        break;
      case v1::AcctRecord::kStep:
        take_step(record.step(), chunk, places);
        break;
      case v1::AcctRecord::kNode:
        chunk.events.push_back({record.node().node(),
                                from_micros(record.node().at_us()),
                                {},
                                record.node().state().empty(),
                                record.node().SerializeAsString()});
        break;
      case v1::AcctRecord::kClusterTres:
        chunk.events.push_back(
            {"", from_micros(record.cluster_tres().at_us()), {}, false, record.cluster_tres().SerializeAsString()});
        break;
      case v1::AcctRecord::kReservation: {
        const auto& reservation = record.reservation();
        const std::int64_t end =
            reservation.deleted() ? std::min(reservation.end_us(), reservation.at_us()) : reservation.end_us();
        chunk.reservations.push_back({reservation.name(), from_micros(reservation.start_us()), from_micros(end),
                                      reservation.SerializeAsString()});
        break;
      }
      case v1::AcctRecord::KIND_NOT_SET:
        return fail(ErrorCode::VersionMismatch,
                    fmt::format("record {} is of a kind that this spurdbd does not know", record.number()));
    }
  }
  return chunk;
}

}  // namespace spur::acct
