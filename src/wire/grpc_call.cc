// SPDX-License-Identifier: Apache-2.0
// gRPC on HTTP/2 streams: request headers, framed messages, the answer's headers and trailers, and what each way of
// ending means (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md). Nothing the peer sends may do more
// than end a call or the connection.
#include "wire/grpc_call.h"

#include <fmt/format.h>
#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "wire/error_map.h"
#include "wire/grpc_text.h"

namespace spur::wire {
namespace {

constexpr std::size_t kMaxHeaderBytes = 256u << 10;  // of one call, over all its header blocks

nghttp2_nv header(std::string_view name, std::string_view value) {
  const auto bytes = [](std::string_view text) {
    return reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data()));
  };
  return {bytes(name), bytes(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NONE};
}

bool printable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= 32 && c <= 126; });
}

// What gRPC makes of an HTTP status that is not 200.
int grpc_status_of_http(int status) {
  switch (status) {
    case 400:
      return kGrpcInternal;
    case 401:
      return kGrpcUnauthenticated;
    case 403:
      return kGrpcPermissionDenied;
    case 404:
      return kGrpcUnimplemented;
    case 429:
    case 502:
    case 503:
    case 504:
      return kGrpcUnavailable;
    default:
      return kGrpcUnknown;
  }
}

int grpc_status_of_reset(std::uint32_t error_code) {
  switch (error_code) {
    case NGHTTP2_REFUSED_STREAM:
      return kGrpcUnavailable;
    case NGHTTP2_CANCEL:
      return kGrpcCancelled;
    case NGHTTP2_ENHANCE_YOUR_CALM:
      return kGrpcResourceExhausted;
    case NGHTTP2_INADEQUATE_SECURITY:
      return kGrpcPermissionDenied;
    default:
      return kGrpcInternal;
  }
}

}  // namespace

CallEnd unreachable_end(std::string message) {
  CallEnd end;
  end.grpc_status = kGrpcUnavailable;
  end.message = std::move(message);
  return end;
}

Status CallEnd::status() const {
  if (grpc_status == kGrpcOk) return {};
  return fail(code ? *code : error_code_of(grpc_status),
              message.empty() ? fmt::format("gRPC status {}", grpc_status) : message);
}

Result<GrpcConnection::CallId> GrpcConnection::start(std::string_view path, const CallOptions& options,
                                                     Handler handler) {
  if (!usable()) return fail(ErrorCode::Unreachable, closed() ? why_closed_.message : "The server is going away");
  std::vector<nghttp2_nv> headers{header(":method", "POST"),    header(":scheme", "http"),
                                  header(":path", path),        header(":authority", authority_),
                                  header("te", "trailers"),     header("content-type", "application/grpc"),
                                  header("user-agent", "spur"), header("grpc-accept-encoding", "identity")};
  std::string timeout;
  if (options.timeout.count() > 0) {
    timeout = grpc_timeout(options.timeout);
    headers.push_back(header("grpc-timeout", timeout));
  }
  std::vector<std::string> encoded;
  encoded.reserve(options.metadata.size());
  for (const auto& [name, value] : options.metadata) {
    if (name.ends_with("-bin")) {
      headers.push_back(header(name, encoded.emplace_back(base64_encode(value))));
    } else if (printable(value)) {
      headers.push_back(header(name, value));
    } else {
      return fail(ErrorCode::InvalidArgument,
                  fmt::format("Metadata {} holds a character that is not printable", name));
    }
  }
  auto call = std::make_shared<Call>(std::move(handler), options.max_message_bytes);
  nghttp2_data_provider body{};
  body.source.ptr = call.get();
  body.read_callback = [](nghttp2_session*, std::int32_t, std::uint8_t* to, std::size_t room, std::uint32_t* flags,
                          nghttp2_data_source* source, void*) -> ssize_t {
    auto& c = *static_cast<Call*>(source->ptr);
    const std::size_t size = std::min(room, c.out.size() - c.out_taken);
    std::memcpy(to, c.out.data() + c.out_taken, size);
    c.out_taken += size;
    if (c.out_taken == c.out.size()) {
      c.out.clear();
      c.out_taken = 0;
      if (c.finished_sending) *flags |= NGHTTP2_DATA_FLAG_EOF;
    }
    if (size == 0 && !c.finished_sending) {
      c.deferred = true;
      return NGHTTP2_ERR_DEFERRED;
    }
    return static_cast<ssize_t>(size);
  };
  const std::int32_t id = nghttp2_submit_request(session_, nullptr, headers.data(), headers.size(), &body, nullptr);
  if (id < 0) return fail(ErrorCode::Unreachable, fmt::format("Cannot begin a call: {}", nghttp2_strerror(id)));
  calls_[id] = std::move(call);
  return id;
}

void GrpcConnection::send(CallId id, std::string_view message) {
  const auto at = calls_.find(id);
  if (at == calls_.end() || at->second->finished_sending) return;
  append_frame(message, &at->second->out);
  if (std::exchange(at->second->deferred, false)) nghttp2_session_resume_data(session_, id);
}

void GrpcConnection::finish_sending(CallId id) {
  const auto at = calls_.find(id);
  if (at == calls_.end()) return;
  at->second->finished_sending = true;
  if (std::exchange(at->second->deferred, false)) nghttp2_session_resume_data(session_, id);
}

void GrpcConnection::cancel(CallId id) {
  const auto at = calls_.find(id);
  if (at == calls_.end()) return;
  at->second->handler = nullptr;
  reset(id, NGHTTP2_CANCEL);
}

std::size_t GrpcConnection::queued_bytes(CallId id) const {
  const auto at = calls_.find(id);
  return at == calls_.end() ? 0 : at->second->out.size() - at->second->out_taken + (out_.size() - out_sent_);
}

// nghttp2 may read from the request's body until the reset is out: the call stays in calls_ until the stream is
// closed.
void GrpcConnection::reset(CallId id, std::uint32_t error_code) {
  const auto at = calls_.find(id);
  if (at == calls_.end()) return;
  at->second->out.clear();
  at->second->out_taken = 0;
  at->second->finished_sending = true;
  nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, id, error_code);
}

void GrpcConnection::end_call(CallId id, CallEnd end) {
  const auto at = calls_.find(id);
  if (at == calls_.end()) return;
  const auto handler = std::exchange(at->second->handler, nullptr);
  end.answered = at->second->end.answered;
  if (handler && handler->on_end) handler->on_end(end);
}

CallEnd GrpcConnection::Call::conclusion() const {
  CallEnd result = end;
  if (has_grpc_status) {
    if (result.grpc_status == kGrpcOk && !reader.between_messages()) {
      result.grpc_status = kGrpcInternal;
      result.message = "The server's answer ends in the middle of a message";
    }
  } else if (http_status != 200) {
    result.grpc_status = grpc_status_of_http(http_status);
    result.message = fmt::format("The server answered with HTTP status {}", http_status);
  } else {
    result.grpc_status = kGrpcUnknown;
    result.message = "The server ended the call without a status";
  }
  return result;
}

void GrpcConnection::Call::take_header(std::string_view name, std::string_view value) {
  if (name == ":status") {
    std::from_chars(value.data(), value.data() + value.size(), http_status);
  } else if (name == "content-type") {
    content_type = value;
  } else if (name == "grpc-status") {
    const auto [stop, error] = std::from_chars(value.data(), value.data() + value.size(), end.grpc_status);
    if (error != std::errc{} || stop != value.data() + value.size() || end.grpc_status < 0)
      end.grpc_status = kGrpcUnknown;
    has_grpc_status = true;
  } else if (name == "grpc-message") {
    end.message = percent_decode(value);
  } else if (name == kErrorMetadata) {
    end.code = parse_error_number(value);
  } else if (name.ends_with("-bin")) {
    if (auto bytes = base64_decode(value)) end.trailers.emplace_back(name, *std::move(bytes));
  } else if (!name.starts_with(':') && !name.starts_with("grpc-")) {
    end.trailers.emplace_back(name, value);
  }
}

// Whether the answer so far can be gRPC; a header block has just ended.
Status GrpcConnection::Call::check_headers() const {
  if (has_grpc_status || http_status / 100 == 1) return {};
  if (http_status != 200)
    return fail(ErrorCode::Internal, fmt::format("The server answered with HTTP status {}", http_status));
  if (!content_type.starts_with("application/grpc"))
    return fail(ErrorCode::Internal, fmt::format("The server answered with {}, not with gRPC",
                                                 content_type.empty() ? "no content type" : content_type));
  return {};
}

// ---- nghttp2's callbacks: `user` is the connection. A call whose handler is gone has ended, and is only waited out.
struct GrpcConnection::Callbacks {
  static std::shared_ptr<Call> live_call(void* user, std::int32_t id) {
    auto& calls = static_cast<GrpcConnection*>(user)->calls_;
    const auto at = calls.find(id);
    return at == calls.end() || !at->second->handler ? nullptr : at->second;
  }

  // The call ends with an error of our own finding.
  static void refuse(void* user, std::int32_t id, int grpc_status, std::string message) {
    auto& connection = *static_cast<GrpcConnection*>(user);
    connection.reset(id, NGHTTP2_CANCEL);
    CallEnd end;
    end.grpc_status = grpc_status;
    end.message = std::move(message);
    connection.end_call(id, std::move(end));
  }

  static int on_header(nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name, std::size_t name_size,
                       const std::uint8_t* value, std::size_t value_size, std::uint8_t, void* user) {
    const auto call = live_call(user, frame->hd.stream_id);
    if (!call) return 0;
    call->header_bytes += name_size + value_size + 32;
    if (call->header_bytes > kMaxHeaderBytes) {
      refuse(user, frame->hd.stream_id, kGrpcResourceExhausted, "The server sent too many headers");
      return 0;
    }
    call->take_header({reinterpret_cast<const char*>(name), name_size},
                      {reinterpret_cast<const char*>(value), value_size});
    return 0;
  }

  static int on_data(nghttp2_session*, std::uint8_t, std::int32_t id, const std::uint8_t* data, std::size_t size,
                     void* user) {
    const auto call = live_call(user, id);
    if (!call) return 0;
    const auto status =
        call->reader.take({reinterpret_cast<const char*>(data), size}, [&call](std::string_view message) {
          call->end.answered = true;
          if (const auto handler = call->handler; handler && handler->on_message) handler->on_message(message);
        });
    if (!status && call->handler)
      refuse(user, id, status.error().code == ErrorCode::ResourceLimit ? kGrpcResourceExhausted : kGrpcInternal,
             status.error().message);
    return 0;
  }

  static int on_frame(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    auto& connection = *static_cast<GrpcConnection*>(user);
    if (frame->hd.type == NGHTTP2_GOAWAY) connection.goaway_ = true;
    if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA) return 0;
    const std::int32_t id = frame->hd.stream_id;
    const auto call = live_call(user, id);
    if (!call) return 0;
    if (frame->hd.type == NGHTTP2_HEADERS) {
      if (const auto status = call->check_headers(); !status) {
        refuse(user, id, call->http_status == 200 ? int{kGrpcUnknown} : grpc_status_of_http(call->http_status),
               status.error().message);
        return 0;
      }
    }
    if (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) {
      // The call is over, also when we had more to say.
      if (!call->finished_sending || !call->out.empty()) connection.reset(id, NGHTTP2_NO_ERROR);
      connection.end_call(id, call->conclusion());
    }
    return 0;
  }

  static int on_close(nghttp2_session*, std::int32_t id, std::uint32_t error_code, void* user) {
    auto& connection = *static_cast<GrpcConnection*>(user);
    if (const auto call = live_call(user, id)) {
      CallEnd end = call->conclusion();
      if (!call->has_grpc_status && error_code != NGHTTP2_NO_ERROR) {
        end.grpc_status = grpc_status_of_reset(error_code);
        end.message = fmt::format("The server ended the call: {}", nghttp2_http2_strerror(error_code));
      }
      connection.end_call(id, std::move(end));
    }
    connection.calls_.erase(id);
    return 0;
  }
};

int GrpcConnection::make_session() {
  nghttp2_session_callbacks* callbacks = nullptr;
  if (nghttp2_session_callbacks_new(&callbacks) != 0) return -1;
  nghttp2_session_callbacks_set_on_header_callback(callbacks, Callbacks::on_header);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, Callbacks::on_data);
  nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, Callbacks::on_frame);
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, Callbacks::on_close);
  const int error = nghttp2_session_client_new(&session_, callbacks, this);
  nghttp2_session_callbacks_del(callbacks);
  return error;
}

}  // namespace spur::wire
