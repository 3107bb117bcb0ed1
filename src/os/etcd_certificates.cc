// SPDX-License-Identifier: Apache-2.0
#include "os/etcd_certificates.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <openssl/x509v3.h>

#include <memory>
#include <set>

#include "os/files.h"

namespace spur::os {
namespace {

template <auto Free>
struct Freer {
  template <class T>
  void operator()(T* pointer) const {
    Free(pointer);
  }
};
using Key = std::unique_ptr<EVP_PKEY, Freer<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Freer<X509_free>>;

std::unexpected<Error> failed(const char* what) {
  return fail(ErrorCode::Internal, fmt::format("cannot make a certificate for etcd: {}", what));
}

Key key_of(const unsigned char* seed) {
  return Key(EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, seed, 32));
}

bool add_extension(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  std::unique_ptr<X509_EXTENSION, Freer<X509_EXTENSION_free>> extension(
      X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str()));
  return extension && X509_add_ext(certificate, extension.get(), -1) == 1;
}

// Valid for good: who is a member is decided by the secret, and a cluster must not stop on a date.
bool begin(X509* certificate, EVP_PKEY* key, const std::string& name, long serial) {
  X509_NAME* subject = X509_get_subject_name(certificate);
  return X509_set_version(certificate, 2) == 1 && ASN1_INTEGER_set(X509_get_serialNumber(certificate), serial) == 1 &&
         ASN1_TIME_set_string_X509(X509_getm_notBefore(certificate), "20200101000000Z") == 1 &&
         ASN1_TIME_set_string_X509(X509_getm_notAfter(certificate), "20991231235959Z") == 1 &&
         X509_set_pubkey(certificate, key) == 1 &&
         X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>(name.c_str()),
                                    -1, -1, 0) == 1;
}

// etcd also compares the address that a member calls from with its certificate, so all of this host's are in it.
std::string alternative_names(const std::string& address) {
  std::set<std::string> addresses{"127.0.0.1"};
  in6_addr parsed;
  const bool literal =
      ::inet_pton(AF_INET, address.c_str(), &parsed) == 1 || ::inet_pton(AF_INET6, address.c_str(), &parsed) == 1;
  if (literal) addresses.insert(address);
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) == 0) {
    for (const ifaddrs* at = list; at; at = at->ifa_next) {
      char text[NI_MAXHOST];
      if (!at->ifa_addr || (at->ifa_addr->sa_family != AF_INET && at->ifa_addr->sa_family != AF_INET6)) continue;
      const socklen_t size = at->ifa_addr->sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
      if (::getnameinfo(at->ifa_addr, size, text, sizeof text, nullptr, 0, NI_NUMERICHOST) != 0) continue;
      if (std::string_view(text).find('%') == std::string_view::npos) addresses.insert(text);
    }
    ::freeifaddrs(list);
  }
  std::string out = literal ? "" : "DNS:" + address;
  for (const std::string& one : addresses) out += (out.empty() ? "IP:" : ",IP:") + one;
  return out;
}

template <class Write>
Result<std::string> pem_of(Write&& write) {
  std::unique_ptr<BIO, Freer<BIO_free_all>> out(BIO_new(BIO_s_mem()));
  if (!out || write(out.get()) != 1) return failed("no PEM");
  char* data = nullptr;
  const long size = BIO_get_mem_data(out.get(), &data);
  return std::string(data, static_cast<std::size_t>(size));
}

}  // namespace

Status write_etcd_certificates(const std::string& directory, const std::string& secret, const std::string& address) {
  const std::string seed_text = "spur etcd authority 1\n" + secret;
  unsigned char seed[SHA256_DIGEST_LENGTH], fresh[32];
  SHA256(reinterpret_cast<const unsigned char*>(seed_text.data()), seed_text.size(), seed);
  if (RAND_bytes(fresh, sizeof fresh) != 1) return failed("no random bytes");
  const Key authority_key = key_of(seed), member_key = key_of(fresh);
  const Certificate authority(X509_new()), member(X509_new());
  if (!authority_key || !member_key || !authority || !member) return failed("no key");
  X509* ca = authority.get();
  const std::string authority_name = "Spur controllers";
  if (!begin(ca, authority_key.get(), authority_name, 1) ||
      X509_set_issuer_name(ca, X509_get_subject_name(ca)) != 1 ||
      !add_extension(ca, ca, NID_basic_constraints, "critical,CA:TRUE") ||
      !add_extension(ca, ca, NID_key_usage, "critical,keyCertSign,cRLSign") ||
      X509_sign(ca, authority_key.get(), nullptr) == 0)
    return failed("the authority's cannot be signed");
  X509* own = member.get();
  long serial = 0;
  for (int i = 0; i < 7; ++i) serial = serial << 8 | fresh[i] % 128;
  if (!begin(own, member_key.get(), address.substr(0, 60), serial + 2) ||
      X509_set_issuer_name(own, X509_get_subject_name(ca)) != 1 ||
      !add_extension(own, ca, NID_ext_key_usage, "serverAuth,clientAuth") ||
      !add_extension(own, ca, NID_subject_alt_name, alternative_names(address)) ||
      X509_sign(own, authority_key.get(), nullptr) == 0)
    return failed("the member's cannot be signed");
  SPUR_ASSIGN(const auto ca_pem, pem_of([&](BIO* out) { return PEM_write_bio_X509(out, ca); }));
  SPUR_ASSIGN(const auto own_pem, pem_of([&](BIO* out) { return PEM_write_bio_X509(out, own); }));
  SPUR_ASSIGN(const auto key_pem, pem_of([&](BIO* out) {
                return PEM_write_bio_PrivateKey(out, member_key.get(), nullptr, nullptr, 0, nullptr, nullptr);
              }));
  SPUR_TRY(write_file_durably(directory + "/ca.pem", ca_pem, 0600));
  SPUR_TRY(write_file_durably(directory + "/member.pem", own_pem, 0600));
  return write_file_durably(directory + "/member.key", key_pem, 0600);
}

}  // namespace spur::os
