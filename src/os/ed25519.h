// SPDX-License-Identifier: Apache-2.0
// Ed25519 keys and signatures (OpenSSL), and the files they live in: PKCS#8 PEM, mode 0600, of the daemon's own user,
// so that `openssl genpkey -algorithm ed25519` makes one too. A key file that others could read is refused, not used.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace spur::os {

inline constexpr std::size_t kPublicKeyBytes = 32, kSignatureBytes = 64;

class Ed25519Key {
 public:
  static Result<Ed25519Key> generate();
  // From 32 secret bytes; for tests that need the same key each time.
  static Result<Ed25519Key> from_seed(std::string_view seed);
  static Result<Ed25519Key> load(const std::string& path);
  // Never overwrites: of several that create the same file at once, all get the same key.
  static Result<Ed25519Key> load_or_create(const std::string& path);

  const std::string& public_key() const { return public_key_; }  // raw 32 bytes
  Result<std::string> sign(std::string_view message) const;      // raw 64 bytes; from any thread

 private:
  using Handle = std::shared_ptr<void>;  // an EVP_PKEY
  Ed25519Key(Handle handle, std::string public_key)
      : handle_(std::move(handle)), public_key_(std::move(public_key)) {}
  static Result<Ed25519Key> adopt(void* key);
  Result<std::string> to_pem() const;

  Handle handle_;
  std::string public_key_;
};

bool ed25519_verify(std::string_view public_key, std::string_view message, std::string_view signature);

// "ed25519:<64 hex digits>": how a public key is written in configuration, logs and on the command line.
std::string format_public_key(std::string_view public_key);
Result<std::string> parse_public_key(std::string_view text);

}  // namespace spur::os
