// SPDX-License-Identifier: Apache-2.0
#include "os/completion_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <unordered_set>

#include "os/files.h"
#include "os/name_lookup.h"
#include "os/unique_fd.h"
#include "text/printable.h"

namespace spur::os {
namespace {

using Completion = io::ControllerHooks::Completion;
constexpr off_t kLookBack = 16 << 20;

std::string line_of(const Completion& job) {
  const std::string line =
      fmt::format("JobId={} UserId={}({}) GroupId={}({}) {}", job.job, name_of_user(job.user), job.user.value,
                  name_of_group(job.group), job.group.value, job.rest);
  return text::printable(line);  // a name with a line end would forge another job
}

class File {
 public:
  explicit File(const std::string& path) : path_(path), fd_(::open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0644)) {}

  Status add(const Completion& job) {
    if (!fd_) return fail_errno(fmt::format("cannot open {}", path_), error_);
    SPUR_TRY(look_back(job.unless_there));
    const std::string line = line_of(job);
    if (job.unless_there && known_.contains(line)) return {};
    // A line that was cut off by the end of the machine stays what it is.
    const std::string whole = (std::exchange(broken_, false) ? "\n" : "") + line + "\n";
    const ssize_t put = ::write(fd_.get(), whole.data(), whole.size());
    if (put == static_cast<ssize_t>(whole.size())) return {};
    broken_ = put > 0;
    return fail_errno(fmt::format("cannot write to {}", path_), put < 0 ? errno : ENOSPC);
  }

 private:
  // What the file has; at least whether its last line is whole.
  Status look_back(bool all) {
    const off_t size = ::lseek(fd_.get(), 0, SEEK_END);
    if (!std::exchange(looked_, true) && size > 0) {
      char last = 0;
      broken_ = ::pread(fd_.get(), &last, 1, size - 1) == 1 && last != '\n';
    }
    if (!all || std::exchange(read_, true)) return {};
    std::string text(static_cast<std::size_t>(std::min(size, kLookBack)), '\0');
    std::size_t got = 0;
    while (got < text.size()) {
      const ssize_t n = ::pread(fd_.get(), text.data() + got, text.size() - got, size - static_cast<off_t>(text.size() - got));
      if (n < 0) return fail_errno(fmt::format("cannot read {}", path_), errno);
      if (n == 0) break;
      got += static_cast<std::size_t>(n);
    }
    for (std::size_t at = 0; at < got;) {
      const std::size_t end = std::min(text.find('\n', at), got);
      known_.insert(text.substr(at, end - at));
      at = end + 1;
    }
    return {};
  }

  std::string path_;
  UniqueFd fd_;
  int error_ = errno;
  std::unordered_set<std::string> known_;
  bool looked_ = false, read_ = false, broken_ = false;
};

}  // namespace

Status append_completions(const std::vector<Completion>& lines) {
  std::map<std::string, File> files;
  Status first;
  for (const Completion& line : lines) {
    File& file = files.try_emplace(line.file, line.file).first->second;
    if (Status done = file.add(line); !done && first) first = std::move(done);
  }
  return first;
}

}  // namespace spur::os
