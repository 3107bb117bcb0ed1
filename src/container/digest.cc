// SPDX-License-Identifier: Apache-2.0
#include "container/digest.h"

#include <openssl/evp.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "base/check.h"
#include "os/files.h"

namespace spur::container {

struct Sha256::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  ~State() { EVP_MD_CTX_free(context); }
};

Sha256::Sha256() : state_(std::make_unique<State>()) {
  SPUR_CHECK(state_->context != nullptr && EVP_DigestInit_ex(state_->context, EVP_sha256(), nullptr) == 1);
}
Sha256::~Sha256() = default;

void Sha256::add(const void* bytes, std::size_t size) {
  SPUR_CHECK(EVP_DigestUpdate(state_->context, bytes, size) == 1);
}

std::string Sha256::finish() {
  unsigned char hash[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  SPUR_CHECK(EVP_DigestFinal_ex(state_->context, hash, &size) == 1);
  std::string out = "sha256:";
  for (unsigned i = 0; i < size; ++i) {
    out += "0123456789abcdef"[hash[i] >> 4];
    out += "0123456789abcdef"[hash[i] & 15];
  }
  return out;
}

std::string digest_of(std::string_view text) {
  Sha256 hash;
  hash.add(text.data(), text.size());
  return hash.finish();
}

Result<std::string> digest_of_file(int fd) {
  Sha256 hash;
  std::vector<char> buffer(1 << 20);
  for (;;) {
    const ssize_t got = ::read(fd, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return os::fail_errno("cannot read the image", errno);
    if (got == 0) return hash.finish();
    hash.add(buffer.data(), static_cast<std::size_t>(got));
  }
}

}  // namespace spur::container
