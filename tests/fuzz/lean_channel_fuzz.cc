// SPDX-License-Identifier: Apache-2.0
// A server that answers a call with any bytes at all: the call ends exactly once, whatever it says, and nothing else
// happens.
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fuzz.h"
#include "wire/grpc_connection.h"

namespace spur::wire {

// An HTTP/2 frame: length, type, flags, stream.
static std::string frame(char type, char flags, char stream, const std::string& payload) {
  std::string out{
      '\0', static_cast<char>(payload.size() >> 8), static_cast<char>(payload.size()), type, flags, 0, 0, 0, stream};
  return out + payload;
}
// A header that HPACK carries as plain text.
static std::string text_header(const std::string& name, const std::string& value) {
  return std::string(1, '\0') + static_cast<char>(name.size()) + name + static_cast<char>(value.size()) + value;
}
static const std::string kStatus200 = "\x88";
static const std::string kContentType = text_header("content-type", "application/grpc");
static const std::string kOk = text_header("grpc-status", "0");
static const std::string kBad = text_header("grpc-status", "5") + text_header("grpc-message", "50%25%20gone") +
                                text_header("spur-error", "15") + text_header("x-bin", "Zm9v");
static const std::string kSettings = frame(4, 0, 0, "");
static const std::string kAnswer = kSettings + frame(1, 4, 1, kStatus200 + kContentType) +
                                   frame(0, 0, 1, std::string("\0\0\0\0\5hello", 10)) + frame(1, 5, 1, kOk);
static const std::string kError = kSettings + frame(1, 5, 1, kStatus200 + kContentType + kBad);
static const std::string kGoaway =
    kSettings + frame(6, 0, 0, "12345678") + frame(7, 0, 0, std::string("\0\0\0\0\0\0\0\2", 8));
static const std::string kReset =
    kSettings + frame(1, 4, 1, kStatus200 + kContentType) + frame(3, 0, 1, std::string("\0\0\0\7", 4));

SPUR_FUZZ(lean_channel, kAnswer, kError, kGoaway, kReset) {
  int ends[2];
  SPUR_CHECK(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0);
  int ended = 0, status = -1;
  std::size_t bytes = 0;
  {
    auto connection = *GrpcConnection::adopt(ends[0], "fuzz");
    const auto call = connection->start("/a/B", {},
                                        {[&](std::string_view message) { bytes += message.size(); },
                                         [&](const CallEnd& end) {
                                           ++ended;
                                           status = end.grpc_status;
                                           SPUR_CHECK(end.grpc_status == 0 || !end.status());
                                         }});
    SPUR_CHECK(call.has_value());
    connection->send(*call, "request");
    connection->finish_sending(*call);
    connection->flush();
    for (std::size_t at = 0; at < input.size(); at += 1000) {  // in pieces, as a network might
      const auto piece = input.substr(at, 1000);
      SPUR_CHECK(::send(ends[1], piece.data(), piece.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(piece.size()) ||
                 connection->closed());
      connection->on_readable();
      char sink[4096];
      while (::recv(ends[1], sink, sizeof sink, 0) > 0) {
      }
    }
    SPUR_CHECK(ended <= 1);
    ::shutdown(ends[1], SHUT_RDWR);
    connection->on_readable();
    SPUR_CHECK(connection->closed() && ended == 1);
  }
  SPUR_CHECK(bytes <= input.size());
  SPUR_CHECK(input != kAnswer || (status == 0 && bytes == 5));  // else the samples are no good
  SPUR_CHECK(input != kError || status == 5);
  ::close(ends[1]);
}

}  // namespace spur::wire
