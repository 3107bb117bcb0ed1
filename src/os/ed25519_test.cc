// SPDX-License-Identifier: Apache-2.0
#include "os/ed25519.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "os/files.h"
#include "os/test_directory.h"

namespace spur::os {
namespace {

std::string unhex(std::string_view text) {
  std::string padded = "ed25519:" + std::string(text);
  return parse_public_key(padded).value();
}

TEST(Ed25519, PublishedVector) {  // RFC 8032, 7.1, test 2
  const auto key = Ed25519Key::from_seed(unhex("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb"));
  ASSERT_TRUE(key);
  EXPECT_EQ(key->public_key(), unhex("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c"));
  const std::string signature = unhex("92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da") +
                                unhex("085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00");
  EXPECT_EQ(key->sign("\x72").value(), signature);
  EXPECT_TRUE(ed25519_verify(key->public_key(), "\x72", signature));
}

TEST(Ed25519, AnyChangedBitIsNoticed) {
  const auto key = Ed25519Key::generate();
  const std::string message = "run this as me";
  const std::string signature = key->sign(message).value();
  EXPECT_TRUE(ed25519_verify(key->public_key(), message, signature));
  for (std::size_t bit = 0; bit < signature.size() * 8; ++bit) {
    std::string changed = signature;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_FALSE(ed25519_verify(key->public_key(), message, changed)) << bit;
  }
  EXPECT_FALSE(ed25519_verify(key->public_key(), "run this as him", signature));
  EXPECT_FALSE(ed25519_verify(Ed25519Key::generate()->public_key(), message, signature));
  EXPECT_FALSE(ed25519_verify("", message, signature));
  EXPECT_FALSE(ed25519_verify(key->public_key(), message, ""));
  EXPECT_FALSE(ed25519_verify(key->public_key(), message, signature + "x"));
}

TEST(Ed25519, BadSeed) {
  EXPECT_FALSE(Ed25519Key::from_seed(""));
  EXPECT_FALSE(Ed25519Key::from_seed("short"));
  EXPECT_FALSE(Ed25519Key::from_seed(std::string(33, 'x')));
}

TEST(Ed25519, KeyFileIsMadeOncePrivateAndStays) {
  TestDirectory dir;
  const std::string path = dir / "host.key";
  const auto first = Ed25519Key::load_or_create(path);
  ASSERT_TRUE(first) << first.error().message;
  struct stat info{};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600u);
  const auto second = Ed25519Key::load_or_create(path);
  ASSERT_TRUE(second);
  EXPECT_EQ(first->public_key(), second->public_key());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir.path()), {}), 1);
}

TEST(Ed25519, ConcurrentCreatorsAgree) {
  TestDirectory dir;
  const std::string path = dir / "host.key";
  std::vector<pid_t> children;
  for (int i = 0; i < 8; ++i) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      const auto key = Ed25519Key::load_or_create(path);
      ::_exit(key && Ed25519Key::load(path)->public_key() == key->public_key() ? 0 : 1);
    }
    children.push_back(pid);
  }
  for (const pid_t pid : children) {
    int status = 0;
    ::waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0);
  }
}

TEST(Ed25519, UnsafeOrForeignKeyFilesAreRefused) {
  TestDirectory dir;
  const std::string path = dir / "host.key";
  ASSERT_TRUE(Ed25519Key::load_or_create(path));
  for (const mode_t mode : {0640, 0644, 0604, 0660}) {
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
    EXPECT_EQ(Ed25519Key::load(path).error().code, ErrorCode::PermissionDenied);
    EXPECT_EQ(Ed25519Key::load_or_create(path).error().code, ErrorCode::PermissionDenied);
  }
  ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
  ASSERT_EQ(::symlink(path.c_str(), (dir / "link").c_str()), 0);
  EXPECT_FALSE(Ed25519Key::load(dir / "link"));
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown(path.c_str(), 65534, 65534), 0);
    EXPECT_EQ(Ed25519Key::load(path).error().code, ErrorCode::PermissionDenied);
  }
  EXPECT_EQ(Ed25519Key::load(dir / "none").error().code, ErrorCode::NotFound);
  EXPECT_FALSE(Ed25519Key::load_or_create(dir / "missing/host.key"));
  constexpr const char* kRsaLike = "-----BEGIN PRIVATE KEY-----\nMAAA\n-----END PRIVATE KEY-----\n";
  for (const std::string& content :
       {std::string(), std::string("garbage"), std::string(kRsaLike), std::string(20'000, 'x')}) {
    ASSERT_TRUE(write_file_durably(dir / "bad.key", content));
    EXPECT_FALSE(Ed25519Key::load(dir / "bad.key"));
    EXPECT_FALSE(Ed25519Key::load_or_create(dir / "bad.key"));
    EXPECT_EQ(*read_file(dir / "bad.key", 100'000), content);  // never overwritten
  }
}

TEST(Ed25519, PublicKeyText) {
  const std::string key = Ed25519Key::generate()->public_key();
  EXPECT_EQ(parse_public_key(format_public_key(key)).value(), key);
  const std::string hex(64, 'a');
  EXPECT_TRUE(parse_public_key("ed25519:" + hex));
  for (const std::string& bad : {std::string(), hex, "ed25519:" + hex + "a", "ed25519:" + hex.substr(1),
                                 "ed25519:g" + hex.substr(1), "rsa:" + hex})
    EXPECT_EQ(parse_public_key(bad).error().code, ErrorCode::InvalidArgument) << bad;
}

}  // namespace
}  // namespace spur::os
