// SPDX-License-Identifier: Apache-2.0
// encode_image and decode_image of wire/command_codec.h. A snapshot is a row of SnapshotPart messages of about a
// thousand records each, so that only one part at a time exists as protobuf; texts and specifications are written
// once and referred to across parts.
#include <fmt/format.h>
#include <google/protobuf/arena.h>

#include <algorithm>
#include <limits>

#include "base/check.h"
#include "spur/v1/journal.pb.h"
#include "wire/accounts_codec.h"
#include "wire/command_codec.h"
#include "wire/config_codec.h"
#include "wire/crontab_codec.h"
#include "wire/envelope.h"
#include "wire/job_codec.h"
#include "wire/node_codec.h"
#include "wire/reservation_codec.h"
#include "wire/spec_codec.h"
#include "wire/trigger_codec.h"

namespace spur::wire {
namespace {

constexpr std::uint32_t kSnapshotFormat = 10;
constexpr std::string_view kSnapshotKind = "SPRI";
constexpr int kRecordsPerPart = 1000;
constexpr std::size_t kBytesPerPart = 16u << 20;  // a part with large scripts ends early

// Collects records and writes a part whenever it is large enough.
class PartWriter {
 public:
  explicit PartWriter(std::string* bytes) : bytes_(bytes) {}
  v1::SnapshotPart& part() { return part_; }
  void add_blob(const std::string& text) {
    part_.add_blobs(text);
    weight_ += text.size();
  }
  void record_added() {
    if (++records_ >= kRecordsPerPart || weight_ >= kBytesPerPart) flush();
  }
  void flush() {
    const std::size_t size = part_.ByteSizeLong();
    SPUR_CHECK_MSG(size <= std::numeric_limits<int>::max(), "one part of a snapshot exceeds 2 GiB");
    char length[4];
    put_u32(static_cast<std::uint32_t>(size), length);
    bytes_->append(length, sizeof length);
    SPUR_CHECK(part_.AppendToString(bytes_));
    part_.Clear();
    records_ = 0;
    weight_ = 0;
  }

 private:
  std::string* bytes_;
  v1::SnapshotPart part_;
  int records_ = 0;
  std::size_t weight_ = 0;
};

// What has been read so far.
struct Reader {
  state::Cluster::Image image;
  BlobList blobs;
  SpecList specs;
  // Announced by the head.
  std::uint64_t nodes = 0, jobs = 0, tokens = 0, reservations = 0, qos = 0, shares = 0, associations = 0, users = 0,
                usages = 0, crontabs = 0, triggers = 0;

  Status take_head(const v1::SnapshotPart::Head& head) {
    image.index = head.index();
    image.as_of = from_micros(head.as_of_us());
    image.next_job_id = head.next_job_id();
    nodes = head.nodes(), jobs = head.jobs(), tokens = head.tokens();
    // Without them, as before there was an outbox: an empty one.
    image.outbox = {from_micros(head.outbox_born_us()), std::max<std::uint64_t>(head.outbox_next(), 1),
                    head.outbox_acked()};
    reservations = head.reservations(), qos = head.qos(), shares = head.shares();
    associations = head.associations(), users = head.users(), usages = head.usages();
    crontabs = head.crontabs(), triggers = head.triggers();
    image.next_trigger = std::max(head.next_trigger(), 1u);
    image.accounts_revision = head.accounts_revision();
    image.decayed = from_micros(head.decayed_us());
    return from_proto(head.config(), &image.config);
  }
  Status take_part(v1::SnapshotPart* part) {
    for (auto& text : *part->mutable_blobs()) blobs.push_back(std::make_shared<const std::string>(std::move(text)));
    for (const auto& proto : part->specs()) {
      auto spec = std::make_shared<model::JobSpec>();
      SPUR_TRY(from_proto(proto, spec.get(), &blobs));
      specs.push_back(std::move(spec));
    }
    for (const auto& proto : part->nodes()) {
      auto node = std::make_shared<model::Node>();
      SPUR_TRY(from_proto(proto, node.get()));
      image.nodes.push_back(std::move(node));
    }
    for (const auto& proto : part->jobs()) {
      auto job = std::make_shared<model::Job>();
      SPUR_TRY(from_proto(proto, job.get(), &specs));
      image.jobs.push_back(std::move(job));
    }
    for (const auto& token : part->tokens()) image.tokens.emplace_back(token.key(), JobId(token.job()));
    for (const auto& proto : part->reservations()) SPUR_TRY(from_proto(proto, &image.reservations.emplace_back()));
    for (const auto& proto : part->qos()) SPUR_TRY(from_proto(proto, &image.qos.emplace_back()));
    for (const auto& proto : part->shares()) SPUR_TRY(from_proto(proto, &image.shares.emplace_back()));
    for (const auto& proto : part->associations()) SPUR_TRY(from_proto(proto, &image.associations.emplace_back()));
    for (const auto& proto : part->users()) SPUR_TRY(from_proto(proto, &image.users.emplace_back()));
    for (const auto& proto : part->usages()) SPUR_TRY(from_proto(proto, &image.usages.emplace_back()));
    for (const auto& proto : part->crontabs()) SPUR_TRY(from_proto(proto, &image.crontabs.emplace_back()));
    for (const auto& proto : part->triggers()) SPUR_TRY(from_proto(proto, &image.triggers.emplace_back()));
    return {};
  }
  bool complete() const {
    return image.nodes.size() == nodes && image.jobs.size() == jobs && image.tokens.size() == tokens &&
           image.reservations.size() == reservations && image.qos.size() == qos && image.shares.size() == shares &&
           image.associations.size() == associations && image.users.size() == users && image.usages.size() == usages &&
           image.crontabs.size() == crontabs && image.triggers.size() == triggers;
  }
};

}  // namespace

std::string encode_image(const state::Cluster::Image& image) {
  std::string bytes(kEnvelopeBytes, '\0');
  PartWriter out(&bytes);
  BlobWriter blobs([&out](const std::string& text) { out.add_blob(text); });
  SpecWriter specs([&](const model::JobSpec& spec) { to_proto(spec, out.part().add_specs(), &blobs); });
  auto* head = out.part().mutable_head();
  head->set_index(image.index);
  head->set_as_of_us(to_micros(image.as_of));
  head->set_next_job_id(image.next_job_id);
  to_proto(image.config, head->mutable_config());
  head->set_nodes(image.nodes.size());
  head->set_jobs(image.jobs.size());
  head->set_tokens(image.tokens.size());
  head->set_reservations(image.reservations.size());
  head->set_qos(image.qos.size());
  head->set_shares(image.shares.size());
  head->set_associations(image.associations.size());
  head->set_users(image.users.size());
  head->set_usages(image.usages.size());
  head->set_crontabs(image.crontabs.size());
  head->set_triggers(image.triggers.size());
  head->set_next_trigger(image.next_trigger);
  head->set_accounts_revision(image.accounts_revision);
  head->set_decayed_us(to_micros(image.decayed));
  head->set_outbox_born_us(to_micros(image.outbox.born));
  head->set_outbox_next(image.outbox.next);
  head->set_outbox_acked(image.outbox.acked);
  out.flush();
  for (const auto& node : image.nodes) {
    to_proto(*node, out.part().add_nodes());
    out.record_added();
  }
  for (const auto& job : image.jobs) {
    auto* proto = out.part().add_jobs();
    record_to_proto(*job, proto);
    proto->set_spec_ref(specs.number_of(job->spec));
    out.record_added();
  }
  for (const auto& [key, job] : image.tokens) {
    auto* token = out.part().add_tokens();
    token->set_key(key);
    token->set_job(job.value);
    out.record_added();
  }
  const auto add_all = [&out](const auto& list, auto add) {
    for (const auto& item : list) {
      to_proto(item, add());
      out.record_added();
    }
  };
  add_all(image.reservations, [&out] { return out.part().add_reservations(); });
  add_all(image.qos, [&out] { return out.part().add_qos(); });
  add_all(image.shares, [&out] { return out.part().add_shares(); });
  add_all(image.associations, [&out] { return out.part().add_associations(); });
  add_all(image.users, [&out] { return out.part().add_users(); });
  add_all(image.usages, [&out] { return out.part().add_usages(); });
  add_all(image.crontabs, [&out] { return out.part().add_crontabs(); });
  add_all(image.triggers, [&out] { return out.part().add_triggers(); });
  out.flush();
  seal_in_place(kSnapshotKind, kSnapshotFormat, &bytes);
  return bytes;
}

Result<state::Cluster::Image> decode_image(std::string_view bytes) {
  SPUR_ASSIGN(auto content, unseal(kSnapshotKind, kSnapshotFormat, bytes));
  Reader reader;
  v1::SnapshotPart part;  // reused: its lists keep their memory from part to part
  for (bool first = true; !content.empty(); first = false) {
    const std::uint32_t length = content.size() >= 4 ? get_u32(content.data()) : 0;
    if (content.size() < 4 || length > content.size() - 4 || length > std::numeric_limits<int>::max())
      return fail(ErrorCode::Corrupt, "A snapshot ends in the middle of a part");
    if (!part.ParseFromArray(content.data() + 4, static_cast<int>(length)) || part.has_head() != first)
      return fail(ErrorCode::Corrupt, "A part of a snapshot cannot be read");
    content.remove_prefix(4 + std::size_t{length});
    if (first) SPUR_TRY(reader.take_head(part.head()));
    SPUR_TRY(reader.take_part(&part));
  }
  if (!reader.complete() || bytes.size() == kEnvelopeBytes)
    return fail(ErrorCode::Corrupt,
                fmt::format("A snapshot is incomplete: {} of {} jobs, {} of {} nodes", reader.image.jobs.size(),
                            reader.jobs, reader.image.nodes.size(), reader.nodes));
  return std::move(reader.image);
}

}  // namespace spur::wire
