// SPDX-License-Identifier: Apache-2.0
#include "os/ed25519.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "os/files.h"
#include "os/unique_fd.h"

namespace spur::os {
namespace {

constexpr std::string_view kTextPrefix = "ed25519:";
constexpr std::size_t kMaxKeyFileBytes = 16 * 1024;

struct Free {
  void operator()(EVP_MD_CTX* p) const { EVP_MD_CTX_free(p); }
  void operator()(EVP_PKEY* p) const { EVP_PKEY_free(p); }
  void operator()(BIO* p) const { BIO_free_all(p); }
};
template <class T>
using Owned = std::unique_ptr<T, Free>;

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

// OpenSSL keeps errors in a queue per thread; what is not taken out would be blamed on the next call.
std::unexpected<Error> crypto_failed(std::string_view what) {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  char text[160] = "unknown error";
  if (code != 0) ERR_error_string_n(code, text, sizeof text);
  return fail(ErrorCode::Internal, fmt::format("{}: {}", what, text));
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Puts the finished file in place only if none is there.
Status create_key_file(const std::string& path, std::string_view pem) {
  const std::string temporary = fmt::format("{}.tmp.{}", path, ::getpid());
  ::unlink(temporary.c_str());
  UniqueFd fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return fail_errno(fmt::format("cannot create {}", temporary), errno);
  Status status = write_all(fd.get(), pem, temporary);
  if (status && ::fsync(fd.get()) != 0) status = fail_errno(fmt::format("cannot sync {}", temporary), errno);
  if (status && ::link(temporary.c_str(), path.c_str()) != 0)
    status = fail_errno(fmt::format("cannot create {}", path), errno);
  ::unlink(temporary.c_str());
  SPUR_TRY(status);
  return sync_directory(parent_directory(path));
}

}  // namespace

Result<Ed25519Key> Ed25519Key::adopt(void* key) {
  Handle handle(key, [](void* p) { EVP_PKEY_free(static_cast<EVP_PKEY*>(p)); });
  std::string public_key(kPublicKeyBytes, '\0');
  std::size_t size = public_key.size();
  if (EVP_PKEY_get_raw_public_key(static_cast<EVP_PKEY*>(key), reinterpret_cast<unsigned char*>(public_key.data()),
                                  &size) != 1 ||
      size != kPublicKeyBytes)
    return crypto_failed("cannot read the public key");
  return Ed25519Key(std::move(handle), std::move(public_key));
}

Result<Ed25519Key> Ed25519Key::generate() {
  EVP_PKEY* key = EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519");
  if (!key) return crypto_failed("cannot make an Ed25519 key");
  return adopt(key);
}

Result<Ed25519Key> Ed25519Key::from_seed(std::string_view seed) {
  EVP_PKEY* key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, bytes_of(seed), seed.size());
  if (!key) return crypto_failed("cannot make an Ed25519 key");
  return adopt(key);
}

Result<std::string> Ed25519Key::to_pem() const {
  const Owned<BIO> out(BIO_new(BIO_s_secmem()));
  if (!out || PEM_write_bio_PKCS8PrivateKey(out.get(), static_cast<EVP_PKEY*>(handle_.get()), nullptr, nullptr, 0,
                                            nullptr, nullptr) != 1)
    return crypto_failed("cannot write the key");
  char* data = nullptr;
  const long size = BIO_get_mem_data(out.get(), &data);
  return std::string(data, static_cast<std::size_t>(size));
}

Result<Ed25519Key> Ed25519Key::load(const std::string& path) {
  SPUR_TRY(check_secret_file(path));
  SPUR_ASSIGN(const std::string pem, read_file(path, kMaxKeyFileBytes));
  const Owned<BIO> in(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  // A key with a passphrase must fail, not ask on the terminal.
  const auto no_passphrase = [](char*, int, int, void*) { return 0; };
  EVP_PKEY* key = in ? PEM_read_bio_PrivateKey(in.get(), nullptr, no_passphrase, nullptr) : nullptr;
  ERR_clear_error();
  if (!key || EVP_PKEY_get_id(key) != EVP_PKEY_ED25519) {
    EVP_PKEY_free(key);
    return fail(
        ErrorCode::Corrupt,
        fmt::format("{} holds no Ed25519 key (PEM): restore it, or remove it so that a new one is made", path));
  }
  return adopt(key);
}

Result<Ed25519Key> Ed25519Key::load_or_create(const std::string& path) {
  if (::access(path.c_str(), F_OK) != 0 && errno == ENOENT) {
    SPUR_ASSIGN(const Ed25519Key fresh, generate());
    SPUR_ASSIGN(const std::string pem, fresh.to_pem());
    const Status created = create_key_file(path, pem);
    if (!created && created.error().code != ErrorCode::AlreadyExists) return std::unexpected(created.error());
  }
  return load(path);
}

Result<std::string> Ed25519Key::sign(std::string_view message) const {
  const Owned<EVP_MD_CTX> context(EVP_MD_CTX_new());
  std::string signature(kSignatureBytes, '\0');
  std::size_t size = signature.size();
  if (!context ||
      EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, static_cast<EVP_PKEY*>(handle_.get())) != 1 ||
      EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size, bytes_of(message),
                     message.size()) != 1 ||
      size != kSignatureBytes)
    return crypto_failed("cannot sign");
  return signature;
}

bool ed25519_verify(std::string_view public_key, std::string_view message, std::string_view signature) {
  if (public_key.size() != kPublicKeyBytes || signature.size() != kSignatureBytes) return false;
  const Owned<EVP_PKEY> key(
      EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, bytes_of(public_key), public_key.size()));
  const Owned<EVP_MD_CTX> context(EVP_MD_CTX_new());
  const bool good =
      key && context && EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key.get()) == 1 &&
      EVP_DigestVerify(context.get(), bytes_of(signature), signature.size(), bytes_of(message), message.size()) == 1;
  ERR_clear_error();
  return good;
}

std::string format_public_key(std::string_view public_key) {
  std::string text(kTextPrefix);
  for (const char c : public_key) text += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return text;
}

Result<std::string> parse_public_key(std::string_view text) {
  const auto bad = [&] {
    return fail(ErrorCode::InvalidArgument,
                fmt::format("\"{}\" is no public key: \"{}\" and {} hex digits are wanted", text, kTextPrefix,
                            2 * kPublicKeyBytes));
  };
  if (!text.starts_with(kTextPrefix)) return bad();
  const std::string_view digits = text.substr(kTextPrefix.size());
  if (digits.size() != 2 * kPublicKeyBytes) return bad();
  std::string key;
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    const int high = hex_digit(digits[i]), low = hex_digit(digits[i + 1]);
    if (high < 0 || low < 0) return bad();
    key.push_back(static_cast<char>(high << 4 | low));
  }
  return key;
}

}  // namespace spur::os
