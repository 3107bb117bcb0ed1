// SPDX-License-Identifier: Apache-2.0
// One call on a GrpcConnection; only for grpc_connection.cc and grpc_call.cc.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "wire/grpc_connection.h"

namespace spur::wire {

struct GrpcConnection::Call {
  Call(Handler handler_given, std::size_t max_message)
      : handler(std::make_shared<Handler>(std::move(handler_given))), reader(max_message) {}
  void take_header(std::string_view name, std::string_view value);
  Status check_headers() const;
  CallEnd conclusion() const;  // from the headers and trailers that came

  std::shared_ptr<Handler> handler;  // null once the call has ended or was cancelled
  FrameReader reader;
  std::string out;  // framed messages, not yet taken by nghttp2
  std::size_t out_taken = 0;
  bool finished_sending = false;  // no more will be added to `out`
  bool deferred = false;          // nghttp2 waits for resume_data
  // what the peer said
  int http_status = 0;
  bool has_grpc_status = false;
  std::string content_type;
  std::size_t header_bytes = 0;
  CallEnd end;
};

CallEnd unreachable_end(std::string message);

}  // namespace spur::wire
