// SPDX-License-Identifier: Apache-2.0
#include "acct/archive.h"

#include <fmt/format.h>

#include "acct/ingest.h"
#include "spur/v1/accounting.pb.h"

namespace spur::acct {
namespace {

void append(const v1::AcctArchived& one, std::string* out) {
  const auto size = static_cast<std::uint32_t>(one.ByteSizeLong());
  for (int shift = 0; shift < 32; shift += 8) out->push_back(static_cast<char>(size >> shift & 0xff));
  one.AppendToString(out);
}

template <class From>
void fill_row(const std::string& name, const From& from, v1::AcctArchived::Row* row) {
  row->set_name(name);
  row->set_started_us(to_micros(from.started));
  row->set_ended_us(to_micros(from.ended));
  row->set_record(from.record);
}

// The same way as records of an outbox become rows.
Result<io::AcctChunk> chunk_of(const v1::AcctArchived& one) {
  std::vector<std::string> records;
  v1::AcctRecord record;
  const auto take = [&] {
    record.set_number(records.size() + 1);
    records.push_back(record.SerializeAsString());
  };
  if (one.has_job()) {
    *record.mutable_job() = one.job();
    take();
  }
  for (const auto& step : one.steps()) {
    *record.mutable_step() = step;
    take();
  }
  return make_chunk(one.cluster(), {}, {records.begin(), records.end()});
}

bool take_rows(const v1::AcctArchived& one, io::AccountingStore::OldRows* rows) {
  if (one.has_event()) {
    const auto& event = one.event();
    rows->events.push_back(
        {event.name(), from_micros(event.started_us()), from_micros(event.ended_us()), false, event.record()});
  } else if (one.has_reservation()) {
    const auto& row = one.reservation();
    rows->reservations.push_back(
        {row.name(), from_micros(row.started_us()), from_micros(row.ended_us()), row.record()});
  } else if (one.has_transaction()) {
    const auto& row = one.transaction();
    rows->transactions.push_back(
        {row.id(), from_micros(row.at_us()), row.action(), row.actor(), row.cluster(), row.target(), row.info()});
  } else {
    return false;
  }
  return true;
}

}  // namespace

std::string encode_archive(const std::string& cluster, const std::vector<io::AccountingStore::Old>& jobs) {
  std::string out;
  for (const auto& old : jobs) {
    v1::AcctArchived one;
    one.set_cluster(cluster);
    (void)one.mutable_job()->ParseFromString(old.job.record);
    for (const auto& step : old.steps) (void)one.add_steps()->ParseFromString(step.record);
    append(one, &out);
  }
  return out;
}

std::string encode_archive(const std::string& cluster, const io::AccountingStore::OldRows& rows) {
  std::string out;
  const auto add = [&](const auto& fill) {
    v1::AcctArchived one;
    one.set_cluster(cluster);
    fill(one);
    append(one, &out);
  };
  for (const auto& step : rows.steps)
    add([&](v1::AcctArchived& one) { (void)one.add_steps()->ParseFromString(step.record); });
  for (const auto& event : rows.events)
    add([&](v1::AcctArchived& one) { fill_row(event.node, event, one.mutable_event()); });
  for (const auto& reservation : rows.reservations)
    add([&](v1::AcctArchived& one) { fill_row(reservation.name, reservation, one.mutable_reservation()); });
  for (const auto& from : rows.transactions)
    add([&](v1::AcctArchived& one) {
      auto* row = one.mutable_transaction();
      row->set_id(from.id);
      row->set_at_us(to_micros(from.at));
      row->set_action(from.action);
      row->set_actor(from.actor);
      row->set_cluster(from.cluster);
      row->set_target(from.target);
      row->set_info(from.info);
    });
  return out;
}

Result<Archive> decode_archive(std::string_view bytes) {
  Archive out;
  std::size_t count = 0;
  const auto damaged = [&] {
    return fail(ErrorCode::Corrupt, fmt::format("this is no archive, or it is damaged behind record {}", count));
  };
  for (; !bytes.empty(); ++count) {
    if (bytes.size() < 4) return damaged();
    std::uint32_t size = 0;
    for (unsigned i = 0; i < 4; ++i) size |= std::uint32_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
    bytes.remove_prefix(4);
    v1::AcctArchived one;
    if (size > bytes.size() || !one.ParseFromArray(bytes.data(), static_cast<int>(size))) return damaged();
    bytes.remove_prefix(size);
    auto& rows = out.rows[one.cluster()];
    if (take_rows(one, &rows)) continue;
    if (!one.has_job() && one.steps().empty()) return damaged();
    auto chunk = chunk_of(one);
    if (!chunk) return damaged();
    if (one.has_job())
      out.jobs.push_back({one.cluster(), {std::move(chunk->jobs.front()), std::move(chunk->steps)}});
    else
      rows.steps.insert(rows.steps.end(), chunk->steps.begin(), chunk->steps.end());
  }
  return out;
}

}  // namespace spur::acct
