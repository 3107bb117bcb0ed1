// SPDX-License-Identifier: Apache-2.0
#include "cli/srun_streams.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "cli/users.h"
#include "text/decimal.h"
#include "text/file_pattern.h"

namespace spur::cli {
namespace {

std::string file_path(const JobRequest& request, JobId job, const std::string& pattern) {
  text::PatternValues values;
  values.job_id = job.value;
  values.step = "0";
  values.job_name = request.spec.name;
  values.user = user_name(Uid(::geteuid()));
  std::string path = text::expand_pattern(pattern, values).value_or(pattern);
  return path.starts_with('/') ? path : request.directory + "/" + path;
}

Result<std::unique_ptr<Output>> open_file(const JobRequest& request, JobId job, const std::string& pattern) {
  const std::string path = file_path(request, job, pattern);
  const int mode = request.spec.open_append ? O_APPEND : O_TRUNC;
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | mode, 0666);
  if (descriptor < 0)
    return fail(ErrorCode::NotFound, fmt::format("Could not open stdout file: {}", std::strerror(errno)));
  return std::make_unique<Output>(descriptor);
}

// One of -o and -e. What it says goes into the fields given.
Status direct(const JobRequest& request, JobId job, const std::string& mode, Output*& to,
              std::unique_ptr<Output>& own, std::optional<std::uint32_t>& only, std::string& remote) {
  if (mode.empty() || mode == "all") return {};
  if (const auto rank = text::parse_decimal32(mode)) {
    only = *rank;
  } else if (text::differs_per_task(mode) || text::differs_per_node(mode)) {
    remote = mode;
  } else {
    SPUR_ASSIGN(own, open_file(request, job, mode));
    to = own.get();
  }
  return {};
}

}  // namespace

Result<StepStreams> StepStreams::open(Context& context, const JobRequest& request, JobId job) {
  StepStreams streams;
  streams.out_ = &context.out;
  streams.err_ = &context.err;
  SPUR_TRY(direct(request, job, request.spec.std_out, streams.out_, streams.own_out_, streams.only_out,
                  streams.remote_out));
  if (request.spec.std_err.empty() || request.spec.std_err == request.spec.std_out) {
    // Without -e, stderr goes wherever -o leads; and one file is opened once.
    if (streams.own_out_) streams.err_ = streams.out_;
    streams.only_err = streams.only_out;
    streams.remote_err = streams.remote_out;
  } else {
    SPUR_TRY(direct(request, job, request.spec.std_err, streams.err_, streams.own_err_, streams.only_err,
                    streams.remote_err));
  }
  const std::string& mode = request.spec.std_in;
  if (mode.empty() || mode == "all") {
    streams.input = context.input;
  } else if (const auto rank = text::parse_decimal32(mode)) {
    streams.input = context.input;
    streams.input_rank = *rank;
  } else {
    const std::string path = file_path(request, job, mode);
    streams.own_input_ = streams.input = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (streams.input < 0)
      return fail(ErrorCode::NotFound, fmt::format("Could not open stdin file: {}", std::strerror(errno)));
  }
  return streams;
}

StepStreams::StepStreams(StepStreams&& other) noexcept
    : only_out(other.only_out),
      only_err(other.only_err),
      input_rank(other.input_rank),
      input(other.input),
      remote_out(std::move(other.remote_out)),
      remote_err(std::move(other.remote_err)),
      out_(other.out_),
      err_(other.err_),
      own_out_(std::move(other.own_out_)),
      own_err_(std::move(other.own_err_)),
      own_input_(std::exchange(other.own_input_, -1)) {}

StepStreams::~StepStreams() {
  for (std::unique_ptr<Output>* own : {&own_out_, &own_err_}) {
    if (!*own) continue;
    const int descriptor = (*own)->descriptor();
    own->reset();
    ::close(descriptor);
  }
  if (own_input_ >= 0) ::close(own_input_);
}

}  // namespace spur::cli
