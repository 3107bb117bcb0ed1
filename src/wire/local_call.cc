// SPDX-License-Identifier: Apache-2.0
#include "wire/local_call.h"

#include <google/protobuf/message_lite.h>

#include "base/check.h"
#include "wire/envelope.h"
#include "wire/error_map.h"

namespace spur::wire {
namespace {

constexpr char kMessage = 'm', kEnd = 'e';
constexpr std::size_t kMaxMethodBytes = 64;

void append_u32(std::size_t value, std::string* to) {
  char bytes[kLocalLengthBytes];
  put_u32(static_cast<std::uint32_t>(value), bytes);
  to->append(bytes, sizeof bytes);
}

std::unexpected<Error> garbled() {
  return fail(ErrorCode::Corrupt, "The controller's answer cannot be read");
}

}  // namespace

std::string local_request(std::string_view method, std::string_view message) {
  SPUR_CHECK(!method.empty() && method.size() <= kMaxMethodBytes);
  std::string out;
  out.reserve(kLocalLengthBytes + 1 + method.size() + message.size());
  append_u32(1 + method.size() + message.size(), &out);
  out.push_back(static_cast<char>(method.size()));
  out += method;
  out += message;
  return out;
}

Result<LocalRequest> parse_local_request(std::string_view frame) {
  const std::size_t length = frame.empty() ? 0 : static_cast<unsigned char>(frame[0]);
  if (length == 0 || length > kMaxMethodBytes || frame.size() < 1 + length)
    return fail(ErrorCode::InvalidArgument, "the request is garbled");
  return LocalRequest{frame.substr(1, length), frame.substr(1 + length)};
}

void append_local_message(std::string_view message, std::string* to) {
  append_u32(1 + message.size(), to);
  to->push_back(kMessage);
  *to += message;
}

void append_local_message(const google::protobuf::MessageLite& message, std::string* to) {
  const std::size_t size = message.ByteSizeLong();
  append_u32(1 + size, to);
  to->push_back(kMessage);
  const std::size_t at = to->size();
  to->resize(at + size);
  message.SerializeWithCachedSizesToArray(reinterpret_cast<std::uint8_t*>(to->data() + at));
}

void append_local_end(const Status& status, std::string* to, std::string_view note) {
  const std::string_view sentence = status ? note : std::string_view(status.error().message);
  append_u32(1 + kLocalLengthBytes + sentence.size(), to);
  to->push_back(kEnd);
  append_u32(status ? 0 : static_cast<std::uint32_t>(status.error().code), to);
  *to += sentence;
}

Status LocalAnswer::take(std::string_view bytes, const std::function<Status(std::string_view)>& on_message) {
  // Whole frames are read where they lie; only the rest of one is copied.
  if (!pending_.empty()) {
    pending_ += bytes;
    bytes = pending_;
  }
  while (bytes.size() >= kLocalLengthBytes) {
    const std::size_t length = get_u32(bytes.data());
    if (ended_ || length == 0 || length > kMaxLocalAnswerBytes) return garbled();
    if (bytes.size() - kLocalLengthBytes < length) break;
    SPUR_TRY(take_frame(bytes.substr(kLocalLengthBytes, length), on_message));
    bytes.remove_prefix(kLocalLengthBytes + length);
  }
  if (ended_ && !bytes.empty()) return garbled();
  std::string rest(bytes);
  pending_.swap(rest);
  return {};
}

Status LocalAnswer::take_frame(std::string_view frame, const std::function<Status(std::string_view)>& on_message) {
  if (frame[0] == kMessage) {
    answered_ = true;
    return on_message(frame.substr(1));
  }
  if (frame[0] != kEnd || frame.size() < 1 + kLocalLengthBytes) return garbled();
  const std::uint32_t code = get_u32(frame.data() + 1);
  ended_ = true;
  if (code == 0) return note_ = frame.substr(1 + kLocalLengthBytes), Status{};
  const auto known = parse_error_number(std::to_string(code));
  end_ = fail(known.value_or(ErrorCode::Internal), std::string(frame.substr(1 + kLocalLengthBytes)));
  return {};
}

}  // namespace spur::wire
