// SPDX-License-Identifier: Apache-2.0
// The door to the disk that keeps the cluster's past: the journal's entries as they were applied, images of the state
// to start from, and what was done to each job. Beside the journal and never in its way: an entry can be had again
// from the journal until a snapshot has taken its place there, and no snapshot does before the history has it. Real:
// os/history_file.h. Any thread may call; calls block.
//
//   image 0   entries 1 .. 900   image 900   entries 901 .. 950      image 2000   entries 2001 ..
//   `------ one stretch, an image at any place in it ---------' gap `------- the next stretch ----'
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"

namespace spur::io {

class HistoryStore {
 public:
  struct Entry {
    std::uint64_t index = 0;
    Time shown;  // from when on users saw it
    std::string bytes;
  };
  struct Image {
    std::uint64_t index = 0;
    Time shown;
    std::string bytes;  // empty with index 0: a cluster that has seen nothing yet
  };
  struct Event {
    JobId job;
    std::uint64_t index = 0;
    Time at;
    std::optional<Uid> by;  // the user who asked for it; else
    std::string source;     // where it came from, as "scheduler" or "node n3"
    std::string what, details;
  };
  // A job's record: whose it is, and its place in an array or a heterogeneous job.
  struct Record {
    JobId job;
    Uid owner;
    JobId group;                        // the array, or the first component; none: neither
    std::optional<std::uint32_t> part;  // task or component
    bool is_component = false;
  };
  struct Part {  // of what is to be kept, all or nothing
    std::vector<Entry> entries;
    std::vector<Event> events;
    std::vector<Record> records;
  };
  struct Held {
    Time since;               // of the oldest image; not set: nothing is held
    std::uint64_t last = 0;   // entry, or image
    Time newest_image;
    std::uint64_t bytes = 0;  // of disk
  };
  virtual ~HistoryStore() = default;

  // Survives the end of the process when it returns, and a loss of power after the next sync().
  virtual Status append(const Part& part) = 0;
  virtual Status save(const Image& image) = 0;
  virtual Status sync() = 0;
  virtual Result<Held> held() = 0;

  // The newest image that was shown by then.
  virtual Result<std::optional<Image>> image_before(Time then) = 0;
  // When the first image behind an entry was shown; not set: there is none.
  virtual Result<Time> next_image(std::uint64_t index) = 0;
  // Those behind `after`, in order, as many as there are up to about `max_bytes`, at least one if there is one. A
  // number that is left out is where a gap begins.
  virtual Result<std::vector<Entry>> read(std::uint64_t after, std::size_t max_bytes) = 0;

  // The record of this number, and those of its group.
  virtual Result<std::vector<Record>> records(JobId job) = 0;
  // Of these records, the oldest first, `most` at most.
  virtual Result<std::vector<Event>> events(std::span<const JobId> jobs, std::size_t most) = 0;

  // Forgets what lies before the newest image that was shown by `then`, and then the oldest stretches, image by image,
  // until it is small enough. False: it is too large still, for want of a newer image.
  virtual Result<bool> trim(Time then, std::uint64_t max_bytes) = 0;
  virtual Status clear() = 0;
};

}  // namespace spur::io
