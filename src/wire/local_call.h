// SPDX-License-Identifier: Apache-2.0
// Calls over the controller's own local socket, for commands on its host: the kernel says who calls (SO_PEERCRED), so
// no credential is signed or checked, and no HTTP/2 connection is made for the one call that most commands make. The
// methods and messages are those of proto/spur/v1/controller.proto.
//
// One call per connection, numbers little-endian:
//   request   u32 length of what follows, u8 length of the method's name, the name ("SubmitJob"), the message
//   answers   any number of   u32 length of what follows, u8 kMessage, the message
//             then one        u32 length of what follows, u8 kEnd, u32 ErrorCode (0: well), the sentence, or where it is well who
//                             follows and answered (follower_note.h); empty: the leader did
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace google::protobuf {
class MessageLite;
}  // namespace google::protobuf

namespace spur::wire {

inline constexpr std::size_t kLocalLengthBytes = 4;
inline constexpr std::size_t kMaxLocalRequestBytes = std::size_t{16} << 20;
inline constexpr std::size_t kMaxLocalAnswerBytes = std::size_t{64} << 20;

std::string local_request(std::string_view method, std::string_view message);

struct LocalRequest {
  std::string_view method, message;  // views into the frame
};
// `frame` is what follows the length.
Result<LocalRequest> parse_local_request(std::string_view frame);

void append_local_message(std::string_view message, std::string* to);
void append_local_message(const google::protobuf::MessageLite& message, std::string* to);
void append_local_end(const Status& status, std::string* to, std::string_view note = {});

// Takes an answer as its bytes arrive.
class LocalAnswer {
 public:
  // Hands each whole message to on_message; an error from there, or garbled bytes, is the result. Bytes behind the
  // end are garbled too.
  Status take(std::string_view bytes, const std::function<Status(std::string_view)>& on_message);
  bool ended() const { return ended_; }
  const Status& end() const { return end_; }  // once ended(): what the controller said
  bool answered() const { return answered_; }
  const std::string& note() const { return note_; }

 private:
  Status take_frame(std::string_view frame, const std::function<Status(std::string_view)>& on_message);
  std::string pending_;
  bool ended_ = false, answered_ = false;
  Status end_;
  std::string note_;
};

}  // namespace spur::wire
