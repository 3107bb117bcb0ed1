// SPDX-License-Identifier: Apache-2.0
#include "acct/archive.h"

#include <fmt/format.h>

#include "acct/ingest.h"
#include "spur/v1/accounting.pb.h"

namespace spur::acct {

std::string encode_archive(const std::string& cluster, const std::vector<io::AccountingStore::Old>& jobs) {
  std::string out;
  for (const auto& old : jobs) {
    v1::AcctJobRow row;
    row.set_cluster(cluster);
    (void)row.mutable_job()->ParseFromString(old.job.record);
    for (const auto& step : old.steps) (void)row.add_steps()->ParseFromString(step.record);
    const auto size = static_cast<std::uint32_t>(row.ByteSizeLong());
    for (int shift = 0; shift < 32; shift += 8) out.push_back(static_cast<char>(size >> shift & 0xff));
    row.AppendToString(&out);
  }
  return out;
}

Result<std::vector<ArchivedJob>> decode_archive(std::string_view bytes) {
  std::vector<ArchivedJob> out;
  const auto damaged = [&] {
    return fail(ErrorCode::Corrupt,
                fmt::format("this is no archive of jobs, or it is damaged behind job {}", out.size()));
  };
  while (!bytes.empty()) {
    if (bytes.size() < 4) return damaged();
    std::uint32_t size = 0;
    for (unsigned i = 0; i < 4; ++i) size |= std::uint32_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
    bytes.remove_prefix(4);
    v1::AcctJobRow row;
    if (size > bytes.size() || !row.ParseFromArray(bytes.data(), static_cast<int>(size)) || !row.has_job())
      return damaged();
    bytes.remove_prefix(size);
    // The same way as records of an outbox become rows.
    std::vector<std::string> records;
    v1::AcctRecord record;
    record.set_number(1);
    *record.mutable_job() = row.job();
    records.push_back(record.SerializeAsString());
    for (const auto& step : row.steps()) {
      record.set_number(record.number() + 1);
      *record.mutable_step() = step;
      records.push_back(record.SerializeAsString());
    }
    auto chunk = make_chunk(row.cluster(), {}, {records.begin(), records.end()});
    if (!chunk) return damaged();
    out.push_back({row.cluster(), {std::move(chunk->jobs.front()), std::move(chunk->steps)}});
  }
  return out;
}

}  // namespace spur::acct
