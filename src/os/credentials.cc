// SPDX-License-Identifier: Apache-2.0
#include "os/credentials.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <mutex>

#include "base/check.h"
#include "spur/v1/credential.pb.h"

namespace spur::os {
namespace {

using io::CredentialKind;
using Payload = v1::CredentialPayload;

constexpr std::string_view kSignedPrefix{"spur credential 1\0", 18};
constexpr std::size_t kMaxCredentialBytes = 4096;
constexpr std::uint32_t kNoId = 0xffffffffu;

std::string signed_bytes(std::string_view payload) {
  return std::string(kSignedPrefix).append(payload);
}

Payload::Kind to_wire(CredentialKind kind) {
  switch (kind) {
    case CredentialKind::User:
      return Payload::KIND_USER;
    case CredentialKind::Node:
      return Payload::KIND_NODE;
    case CredentialKind::StepTicket:
      return Payload::KIND_STEP_TICKET;
  }
  return Payload::KIND_NONE;
}

seconds lifetime_of(CredentialKind kind) {
  return kind == CredentialKind::StepTicket ? io::kStepTicketLifetime : io::kUserCredentialLifetime;
}

// Also what a verifier demands: the signer refuses to make what nobody would take.
Status check_claims(const io::CredentialClaims& claims) {
  const auto bad = [](const char* why) { return fail(ErrorCode::InvalidArgument, why); };
  if (claims.audience.empty()) return bad("a credential needs an audience");
  if (claims.uid.value == kNoId || claims.gid.value == kNoId) return bad("uid or gid 4294967295 is no user or group");
  switch (claims.kind) {
    case CredentialKind::User:
      if (claims.job || claims.epoch || !claims.node.empty())
        return bad("a user's credential names no job and no node");
      return {};
    case CredentialKind::Node:
      if (claims.node.empty()) return bad("a node's credential needs the node's name");
      if (claims.job || claims.epoch) return bad("a node's credential names no job");
      return {};
    case CredentialKind::StepTicket:
      if (!claims.job || !claims.epoch) return bad("a step ticket needs a job and its run");
      if (!claims.node.empty()) return bad("a step ticket names no node");
      return {};
  }
  return bad("unknown kind of credential");
}

std::unexpected<Error> refuse(std::string why) {
  return fail(ErrorCode::Unauthenticated, "credential refused: " + why);
}

Result<io::CredentialClaims> claims_of(const Payload& payload) {
  io::CredentialClaims claims;
  switch (payload.kind()) {
    case Payload::KIND_USER:
      claims.kind = CredentialKind::User;
      break;
    case Payload::KIND_NODE:
      claims.kind = CredentialKind::Node;
      break;
    case Payload::KIND_STEP_TICKET:
      claims.kind = CredentialKind::StepTicket;
      break;
    default:
      return refuse(fmt::format("it is of unknown kind {}", static_cast<int>(payload.kind())));
  }
  claims.uid = Uid(payload.uid());
  claims.gid = Gid(payload.gid());
  claims.node = payload.node();
  claims.audience = payload.audience();
  claims.job = JobId(payload.job());
  claims.epoch = Epoch(payload.epoch());
  if (Status status = check_claims(claims); !status) return refuse(status.error().message);
  return claims;
}

// May a key with this trust say this? On success, the node whose word a user's credential rests on, if it is one.
Result<std::string> attesting_node(const io::CredentialClaims& claims, const Trust& trust) {
  switch (claims.kind) {
    case CredentialKind::User:
      if (trust.any_user) return std::string();
      if (trust.node.empty()) return refuse("its key may not attest users");
      if (claims.uid == kRootUid) return refuse("a compute node may not attest root");
      return trust.node;
    case CredentialKind::Node:
      if (trust.node.empty() || trust.node != claims.node)
        return refuse(fmt::format("its key may not speak for node {}", claims.node));
      return claims.node;
    case CredentialKind::StepTicket:
      if (!trust.step_tickets) return refuse("its key may not give step tickets");
      return std::string();
  }
  return refuse("unknown kind");
}

}  // namespace

Result<std::string> HostCredentialSigner::sign(const io::CredentialClaims& claims, Time now) {
  SPUR_TRY(check_claims(claims));
  Payload payload;
  payload.set_uid(claims.uid.value);
  payload.set_gid(claims.gid.value);
  payload.set_host(host_);
  payload.set_node(claims.node);
  payload.set_cluster(cluster_);
  payload.set_audience(claims.audience);
  payload.set_issued_us(to_micros(now));
  payload.set_expires_us(to_micros(now + lifetime_of(claims.kind)));
  std::string nonce(16, '\0');
  SPUR_CHECK(::getrandom(nonce.data(), nonce.size(), 0) == static_cast<ssize_t>(nonce.size()));
  payload.set_nonce(nonce);
  payload.set_kind(to_wire(claims.kind));
  payload.set_job(claims.job.value);
  payload.set_epoch(claims.epoch.value);

  v1::Credential credential;
  credential.set_payload(payload.SerializeAsString());
  SPUR_ASSIGN(std::string signature, key_.sign(signed_bytes(credential.payload())));
  credential.set_signature(std::move(signature));
  credential.set_public_key(key_.public_key());
  std::string bytes = credential.SerializeAsString();
  if (bytes.size() > kMaxCredentialBytes)
    return fail(ErrorCode::InvalidArgument,
                fmt::format("the credential would be longer than {} bytes", kMaxCredentialBytes));
  return bytes;
}

Result<io::Verified> TrustedKeyVerifier::verify(std::string_view bytes, Time now) {
  if (bytes.empty()) return fail(ErrorCode::Unauthenticated, "no credential was given");
  if (bytes.size() > kMaxCredentialBytes)
    return refuse(fmt::format("it is longer than {} bytes", kMaxCredentialBytes));
  v1::Credential credential;
  if (!credential.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return refuse("it is garbled");
  // Not the bytes as they came: one good credential could be dressed up in thousands of ways to fill the cache.
  const std::string name = credential.signature() + credential.public_key() + credential.payload();
  std::optional<Known> known = recall(name);
  const bool fresh = !known;
  std::uint64_t generation = 0;
  if (fresh) {
    SPUR_ASSIGN(known, check(credential, generation));
  }
  SPUR_TRY(check_times(*known, now));
  SPUR_TRY(check_user_policy(known->verified));
  if (fresh) remember(name, *known, generation);
  return std::move(known->verified);
}

std::optional<TrustedKeyVerifier::Known> TrustedKeyVerifier::recall(const std::string& name) {
  const std::shared_lock lock(mutex_);
  const auto at = cache_.find(name);
  return at == cache_.end() ? std::nullopt : std::optional<Known>(at->second);
}

std::optional<Trust> TrustedKeyVerifier::trust_of(const std::string& public_key, std::uint64_t& generation) {
  const std::shared_lock lock(mutex_);
  generation = generation_;
  const auto at = keys_.find(public_key);
  return at == keys_.end() ? std::nullopt : std::optional<Trust>(at->second);
}

Result<TrustedKeyVerifier::Known> TrustedKeyVerifier::check(const v1::Credential& credential,
                                                            std::uint64_t& generation) {
  const std::optional<Trust> trust = trust_of(credential.public_key(), generation);
  if (credential.public_key().size() != kPublicKeyBytes || !trust)
    return refuse("it is signed by a key that is not trusted here");
  if (!ed25519_verify(credential.public_key(), signed_bytes(credential.payload()), credential.signature()))
    return refuse("its signature is wrong");
  Payload payload;
  if (!payload.ParseFromString(credential.payload())) return refuse("its payload is garbled");
  if (payload.cluster() != options_.cluster)
    return refuse(fmt::format("it is for another cluster than {}", options_.cluster));
  if (payload.audience() != options_.audience) return refuse(fmt::format("it is not for {}", options_.audience));
  SPUR_ASSIGN(const io::CredentialClaims claims, claims_of(payload));
  if (std::find(options_.accepts.begin(), options_.accepts.end(), claims.kind) == options_.accepts.end())
    return refuse("credentials of this kind are not taken here");
  if (payload.issued_us() <= 0 || payload.expires_us() <= payload.issued_us() ||
      payload.expires_us() - payload.issued_us() > Duration(lifetime_of(claims.kind)).count())
    return refuse("its times are impossible");
  SPUR_ASSIGN(std::string node, attesting_node(claims, *trust));
  return Known{.verified = {.kind = claims.kind,
                            .uid = claims.uid,
                            .gid = claims.gid,
                            .host = payload.host(),
                            .node = std::move(node),
                            .audience = claims.audience,
                            .job = claims.job,
                            .epoch = claims.epoch,
                            .public_key = credential.public_key(),
                            .expires = from_micros(payload.expires_us())},
               .issued = from_micros(payload.issued_us())};
}

Status TrustedKeyVerifier::check_times(const Known& known, Time now) const {
  if (now >= known.verified.expires) return refuse("it has expired (are the clocks of the hosts in step?)");
  if (known.issued > now + options_.skew)
    return refuse("it comes from the future (are the clocks of the hosts in step?)");
  return {};
}

Status TrustedKeyVerifier::check_user_policy(const io::Verified& verified) const {
  if (verified.kind != CredentialKind::User || verified.node.empty()) return {};
  if (options_.user_on_node && options_.user_on_node(verified.node, verified.uid)) return {};
  return refuse(
      fmt::format("node {} may not attest uid {}, who has no job there", verified.node, verified.uid.value));
}

void TrustedKeyVerifier::remember(const std::string& name, const Known& known, std::uint64_t generation) {
  const std::lock_guard lock(mutex_);
  if (generation != generation_ || options_.cache_entries == 0) return;
  const auto [at, fresh] = cache_.emplace(name, known);
  if (!fresh) return;
  oldest_.push_back(&at->first);  // stays valid: nodes of an unordered_map do not move
  if (cache_.size() > options_.cache_entries) {
    const auto victim = cache_.find(*oldest_.front());
    oldest_.pop_front();
    cache_.erase(victim);
  }
}

void TrustedKeyVerifier::changed() {
  ++generation_;
  cache_.clear();
  oldest_.clear();
}

void TrustedKeyVerifier::trust(const std::string& public_key, Trust trust) {
  const std::lock_guard lock(mutex_);
  if (const auto at = keys_.find(public_key); at != keys_.end() && at->second == trust) return;
  keys_[public_key] = std::move(trust);
  changed();
}

bool TrustedKeyVerifier::trust_node(const std::string& public_key, const std::string& node) {
  if (public_key.size() != kPublicKeyBytes || node.empty()) return false;
  const Trust wanted{.any_user = false, .step_tickets = false, .node = node};
  const std::lock_guard lock(mutex_);
  if (const auto at = keys_.find(public_key); at != keys_.end()) return at->second == wanted;
  std::erase_if(keys_, [&](const auto& entry) { return entry.second == wanted; });
  keys_[public_key] = wanted;
  changed();
  return true;
}

void TrustedKeyVerifier::distrust(const std::string& public_key) {
  const std::lock_guard lock(mutex_);
  keys_.erase(public_key);
  changed();
}

void TrustedKeyVerifier::replace_all(std::map<std::string, Trust> keys) {
  const std::lock_guard lock(mutex_);
  keys_ = std::move(keys);
  changed();
}

}  // namespace spur::os
