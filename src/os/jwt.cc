// SPDX-License-Identifier: Apache-2.0
#include "os/jwt.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/stat.h>

#include <cerrno>
#include <limits>
#include <nlohmann/json.hpp>

#include "os/files.h"
#include "os/unique_fd.h"

namespace spur::os {
namespace {

constexpr std::string_view kHeader = R"({"alg":"HS256","typ":"JWT"})";
constexpr std::size_t kMaxKeyBytes = 64 * 1024;

// As URLs can hold it, without padding.
std::string encode(std::string_view bytes) {
  static constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string out;
  std::uint32_t held = 0;
  int bits = 0;
  for (const char c : bytes) {
    held = held << 8 | static_cast<unsigned char>(c);
    for (bits += 8; bits >= 6; bits -= 6) out.push_back(kDigits[held >> (bits - 6) & 63]);
  }
  if (bits > 0) out.push_back(kDigits[held << (6 - bits) & 63]);
  return out;
}

Result<std::string> sign(std::string_view key, std::string_view text) {
  unsigned char mac[EVP_MAX_MD_SIZE];
  unsigned length = 0;
  if (HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
           reinterpret_cast<const unsigned char*>(text.data()), text.size(), mac, &length) == nullptr)
    return fail(ErrorCode::Internal, "cannot sign a token");
  return std::string(reinterpret_cast<const char*>(mac), length);
}

}  // namespace

Result<std::string> make_jwt(std::string_view key, std::string_view user, Time now, seconds lifespan) {
  if (key.empty()) return fail(ErrorCode::InvalidArgument, "the key for tokens is empty");
  const std::int64_t begin = to_unix_seconds(now);
  constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::max();
  const std::int64_t end = lifespan.count() > kLast - begin ? kLast : begin + lifespan.count();
  const nlohmann::json claims{{"exp", end}, {"iat", begin}, {"sun", std::string(user)}};
  std::string text = encode(kHeader) + "." +
                     encode(claims.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  SPUR_ASSIGN(const std::string mac, sign(key, text));
  return text + "." + encode(mac);
}

Result<std::string> make_jwt_with(const std::string& key_file, const std::string& user, Time now, seconds lifespan) {
  const UniqueFd file(::open(key_file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) return fail_errno("cannot open the key for tokens " + key_file, errno);
  struct stat info{};
  if (::fstat(file.get(), &info) != 0) return fail_errno("cannot look at " + key_file, errno);
  if (!S_ISREG(info.st_mode) || (info.st_mode & (S_IRWXO | S_IWGRP)) != 0)
    return fail(ErrorCode::PermissionDenied, key_file + ": a key for tokens must be a file that others cannot read");
  SPUR_ASSIGN(const std::string key, read_file(key_file, kMaxKeyBytes));
  return make_jwt(key, user, now, lifespan);
}

}  // namespace spur::os
