// SPDX-License-Identifier: Apache-2.0
// Sending a file to the nodes of a job, and fetching one from a node of it: what sbcast, sgather and srun --bcast do.
// Calls block.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace spur::wire {

struct FilePlace {
  std::string ticket;                         // from ControllerClient::step_ticket
  std::vector<std::string> nodes, addresses;  // of the job, the first is dialled
  std::uint32_t fanout = 0;                   // 0: as usual
  Duration patience{seconds(60)};             // without any progress
};
struct FileTimes {
  std::int64_t accessed_ns = 0, modified_ns = 0;
};
struct FileToSend {
  std::string path;  // on the nodes, absolute
  std::uint32_t mode = 0600;
  std::uint64_t size = 0;
  bool replace = false, directory = false, compress = false;
  std::optional<FileTimes> times;
};
struct FileFailure {
  std::string node;
  int number = 0;    // errno; 0: none fits
  std::string text;  // of it
};
// `read` gives the next piece, of at most 8 MiB; empty: there is no more. The nodes that do not have the file now; an
// error if nobody could be told of it.
Result<std::vector<FileFailure>> send_file(const FilePlace& place, const FileToSend& file,
                                           const std::function<Result<std::string_view>()>& read);

struct FileToFetch {
  std::string path;
  bool recursive = false, remove = false, compress = false;
};
struct FetchedEntry {
  std::string path;  // below what was asked for; empty: that itself
  std::uint32_t mode = 0;
  std::uint64_t size = 0;
  FileTimes times;
  std::string link;
};
struct FetchSink {
  std::function<Status(const FetchedEntry&)> entry;
  std::function<Status(std::string_view)> data;
  std::function<Status()> complete;  // all was handed over; after success the node may remove it
};
// From the place's first node. How the node failed, if it did; an error is ours or the sink's.
Result<std::optional<FileFailure>> fetch_file(const FilePlace& place, const FileToFetch& file, const FetchSink& sink);

}  // namespace spur::wire
