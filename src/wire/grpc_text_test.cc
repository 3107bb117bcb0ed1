// SPDX-License-Identifier: Apache-2.0
// The small parts of the channel: escapes, base64, timeouts, frames, addresses, envelopes.
#include "wire/grpc_text.h"

#include <gtest/gtest.h>

#include "wire/envelope.h"
#include "wire/grpc_framing.h"
#include "wire/peer_address.h"

namespace spur::wire {
namespace {

TEST(GrpcText, PercentDecoding) {
  const std::pair<const char*, const char*> cases[] = {
      {"", ""},         {"plain", "plain"}, {"a%20b", "a b"},       {"%", "%"},     {"%4", "%4"},   {"%zz", "%zz"},
      {"50%25", "50%"}, {"%41%", "A%"},     {"%c3%BC", "\xc3\xbc"}, {"x%2", "x%2"}, {"%%41", "%A"}, {"%0a", "\n"},
  };
  for (const auto& [in, out] : cases) EXPECT_EQ(percent_decode(in), out) << in;
}

TEST(GrpcText, Base64) {
  const std::pair<std::string, const char*> cases[] = {
      {"", ""},           {"f", "Zg"},          {"fo", "Zm8"},          {"foo", "Zm9v"},
      {"foob", "Zm9vYg"}, {"fooba", "Zm9vYmE"}, {"foobar", "Zm9vYmFy"}, {std::string("\xff\xfe\0", 3), "//4A"},
  };
  for (const auto& [bytes, text] : cases) {
    EXPECT_EQ(base64_encode(bytes), text);
    EXPECT_EQ(base64_decode(text), bytes);
  }
  EXPECT_EQ(base64_decode("Zg=="), "f");
  EXPECT_EQ(base64_decode("Zm8="), "fo");
  for (const char* bad : {"Z", "Zg=a", "Zg\n", "Z-", "====", "Zm9vY"}) EXPECT_FALSE(base64_decode(bad)) << bad;
}

TEST(GrpcText, Timeouts) {
  const std::pair<Duration, const char*> cases[] = {
      {Duration(-5), "1u"},
      {Duration(0), "1u"},
      {Duration(1), "1u"},
      {seconds(60), "60000000u"},
      {Duration(99'999'999), "99999999u"},
      {Duration(100'000'000), "100000m"},
      {Duration(100'000'001), "100001m"},
      {hours(24 * 365), "31536000S"},
  };
  for (const auto& [timeout, text] : cases) EXPECT_EQ(grpc_timeout(timeout), text);
  EXPECT_LE(grpc_timeout(Duration::max()).size(), 9u);
}

TEST(GrpcFraming, MessagesInAnyPieces) {
  std::string stream;
  const std::vector<std::string> messages{"", "a", std::string(70'000, 'x'), "last", ""};
  for (const auto& message : messages) append_frame(message, &stream);
  for (const std::size_t piece : {1u, 2u, 5u, 7u, 4096u, 100'000u}) {
    FrameReader reader(1 << 20);
    std::vector<std::string> seen;
    for (std::size_t at = 0; at < stream.size(); at += piece) {
      ASSERT_TRUE(
          reader.take(std::string_view(stream).substr(at, piece), [&](std::string_view m) { seen.emplace_back(m); }));
    }
    EXPECT_EQ(seen, messages) << piece;
    EXPECT_TRUE(reader.between_messages());
  }
}

TEST(GrpcFraming, CompressedAndTooLargeAreRefused) {
  const auto nothing = [](std::string_view) { FAIL(); };
  for (const bool whole : {true, false}) {
    const auto feed = [&](FrameReader& reader, std::string_view bytes) -> Status {
      if (whole) return reader.take(bytes, nothing);
      for (const char& c : bytes)
        if (auto status = reader.take({&c, 1}, nothing); !status) return status;
      return {};
    };
    FrameReader compressed(100), large(100), largest(100);
    EXPECT_EQ(feed(compressed, std::string_view("\1\0\0\0\1x", 6)).error().code, ErrorCode::NotSupported);
    EXPECT_EQ(feed(large, std::string_view("\0\0\0\0\145x", 6)).error().code, ErrorCode::ResourceLimit);
    EXPECT_EQ(feed(largest, std::string_view("\0\xff\xff\xff\xffx", 6)).error().code, ErrorCode::ResourceLimit);
    FrameReader half(100);
    EXPECT_TRUE(feed(half, std::string_view("\0\0\0\0\144x", 6)));
    EXPECT_FALSE(half.between_messages());
  }
}

TEST(PeerAddress, Texts) {
  const std::pair<const char*, const char*> good[] = {
      {"unix:/run/s", "unix:/run/s"},
      {"unix:///run/s", "unix:/run/s"},
      {"/run/s", "unix:/run/s"},
      {"host:1", "host:1"},
      {"host", "host:6817"},
      {"http://host:80", "host:80"},
      {"http://host:80/", "host:80"},
      {"http://host", "host:6817"},
      {"127.0.0.1:65535", "127.0.0.1:65535"},
      {"[::1]:5", "[::1]:5"},
      {"[::1]", "[::1]:6817"},
      {"::1", "[::1]:6817"},
      {"http://[fe80::1]:9", "[fe80::1]:9"},
  };
  for (const auto& [in, out] : good) {
    const auto address = parse_peer_address(in, 6817);
    ASSERT_TRUE(address) << in << ": " << address.error().message;
    EXPECT_EQ(address->text(), out) << in;
  }
  const std::string long_path = "unix:/" + std::string(107, 'p');
  for (const char* bad :
       {"", ":5", "host:", "host:0", "host:65536", "host:x", "host:-1", "[::1", "[::1]x", "[]:4", "unix:", "unix:rel",
        "a b:5", "ftp://host:5", "http://user@host:5", "http://host:5/path", long_path.c_str()})
    EXPECT_EQ(parse_peer_address(bad, 6817).error().code, ErrorCode::InvalidArgument) << bad;
  EXPECT_EQ(parse_peer_address("https://host:5", 6817).error().code, ErrorCode::NotSupported);
}

TEST(Envelope, ComesOffAsItWentOn) {
  for (std::size_t size : {0u, 1u, 7u, 8u, 9u, 1000u}) {
    const std::string content(size, 'c');
    const auto sealed = seal("TEST", 3, content);
    EXPECT_EQ(sealed.size(), kEnvelopeBytes + size);
    EXPECT_EQ(unseal("TEST", 3, sealed), content);
    EXPECT_EQ(unseal("TEST", 2, sealed).error().code, ErrorCode::VersionMismatch);
    EXPECT_EQ(unseal("ELSE", 3, sealed).error().code, ErrorCode::Corrupt);
    EXPECT_EQ(unseal("TEST", 3, sealed + '\0').error().code, ErrorCode::Corrupt);
  }
}

}  // namespace
}  // namespace spur::wire
