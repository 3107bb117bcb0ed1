// SPDX-License-Identifier: Apache-2.0
// The container of a step or a batch script: made by spurcontainer, a program beside ours that runs as the user in
// the step's cgroup; entered by each task when it is already the user's.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/agent_message.h"
#include "model/container_request.h"
#include "os/event_loop.h"
#include "os/privileges.h"
#include "os/unique_fd.h"
#include "stepd/task.h"

namespace spur::stepd {

// Its namespaces live as long as this does, or a process is in them.
struct Container {
  std::vector<os::UniqueFd> namespaces;  // in the order in which they are entered
  std::vector<os::UniqueFd> locks;       // of its image and its files
  std::vector<std::string> env, device_env, entrypoint, notes;
  std::string work_dir;
};

// Runs in the task. PermissionDenied and the like; nothing of the user has run then.
Status enter_container(const Container& container);

struct ContainerOrder {
  const model::ContainerRequest& request;
  std::string settings;  // os::encode_container_settings, of the agent
  std::string spool_token;
  model::JobRun run;
  std::string instance;  // "step-3"
  const os::Identity& identity;
  const std::vector<std::string>& environment;  // of the job
  std::string work_dir;
  std::vector<std::string> binds;    // host paths that tasks need
  std::vector<std::string> devices;  // files of granted devices
  int cgroup_fd = -1;
};

class ContainerMaker {
 public:
  using Made = std::function<void(Result<std::shared_ptr<const Container>>)>;
  explicit ContainerMaker(os::EventLoop& loop) : loop_(loop) {}
  ~ContainerMaker();
  // An error here is the node's; one that `made` gets is the user's.
  Status begin(const ContainerOrder& order, Made made);
  // What it has on disk, unless it has a name: then the agent does it when the job is over.
  void remove();

 private:
  void on_reply();
  void end(Result<std::shared_ptr<const Container>> result);

  os::EventLoop& loop_;
  os::UniqueFd socket_;
  StartedTask program_;
  std::string directory_;  // of the writable layer; never by word of the program, which is the user's
  Made made_;
};

// The task runs in there: program, environment and working directory become the container's.
void put_into(const std::shared_ptr<const Container>& container, const model::ContainerRequest& request,
              TaskPlan& task);
// The job's environment as the container's image changes it. Pure.
void merge_environment(const Container& container, const model::ContainerRequest& request,
                       std::vector<std::string>& environment);

// Paths below which an MPI server of the node keeps what its clients map.
std::vector<std::string> mpi_directories(const std::vector<std::string>& environment);

}  // namespace spur::stepd
