// SPDX-License-Identifier: Apache-2.0
// Both directions of the local socket's calls: a request is refused or names its method; an answer gives the same
// whether its bytes come at once or one by one.
#include "fuzz.h"
#include "wire/local_call.h"

namespace spur::wire {

static const std::string kRequest = local_request("SubmitJob", "body").substr(kLocalLengthBytes);
static const std::string kAnswer = [] {
  std::string bytes;
  append_local_message("first", &bytes);
  append_local_message("", &bytes);
  append_local_end({}, &bytes);
  return bytes;
}();
static const std::string kRefusal = [] {
  std::string bytes;
  append_local_end(fail(ErrorCode::InvalidPartition, "Invalid partition name specified"), &bytes);
  return bytes;
}();

namespace {

std::string outcome(std::string_view bytes, std::size_t step) {
  LocalAnswer answer;
  std::string seen;
  for (std::size_t at = 0; at < bytes.size(); at += step) {
    const auto ok = answer.take(bytes.substr(at, step), [&](std::string_view message) -> Status {
      seen += message;
      seen += '|';
      return {};
    });
    if (!ok) return seen + "garbled";
  }
  if (!answer.ended()) return seen + "unfinished";
  return seen + (answer.end() ? "well" : answer.end().error().message);
}

}  // namespace

SPUR_FUZZ(local_call, kRequest, kAnswer, kRefusal) {
  SPUR_CHECK(input != kAnswer || outcome(input, input.size()) == "first||well");  // else the samples are no good
  if (const auto request = parse_local_request(input))
    SPUR_CHECK(local_request(request->method, request->message).substr(kLocalLengthBytes) == input);
  SPUR_CHECK(outcome(input, std::max<std::size_t>(1, input.size())) == outcome(input, 1));
}

}  // namespace spur::wire
