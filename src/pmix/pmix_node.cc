// SPDX-License-Identifier: Apache-2.0
#include "pmix/pmix_node.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <pmix.h>
#include <pmix_server.h>

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>

namespace spur::pmix {
namespace {

Status check(pmix_status_t status, const char* what) {
  if (status == PMIX_SUCCESS || status == PMIX_OPERATION_SUCCEEDED) return {};
  return fail(ErrorCode::Internal, fmt::format("PMIx: {}: {}", what, PMIx_Error_string(status)));
}

// What the library is told of the step, or of a task: keys with values of several kinds.
class Info {
 public:
  Info() = default;
  ~Info() {
    for (auto& one : items_) PMIX_INFO_DESTRUCT(&one);
  }
  Info(const Info&) = delete;
  Info& operator=(const Info&) = delete;

  void add(const char* key, const std::string& value) { load(key, value.c_str(), PMIX_STRING); }
  void add(const char* key, std::uint32_t value) { load(key, &value, PMIX_UINT32); }
  void add_rank(const char* key, std::uint32_t value) {
    const pmix_rank_t rank = value;
    load(key, &rank, PMIX_PROC_RANK);
  }
  void add_small(const char* key, std::size_t value) {
    const auto small = static_cast<std::uint16_t>(value);
    load(key, &small, PMIX_UINT16);
  }
  void add_true(const char* key) {
    const bool yes = true;
    load(key, &yes, PMIX_BOOL);
  }
  // Takes over what is in `inner`.
  void add_array(const char* key, Info& inner) {
    pmix_data_array_t* array = nullptr;
    PMIX_DATA_ARRAY_CREATE(array, inner.size(), PMIX_INFO);
    std::memcpy(array->array, inner.items_.data(), inner.size() * sizeof(pmix_info_t));
    inner.items_.clear();
    pmix_info_t item;
    PMIX_INFO_CONSTRUCT(&item);
    PMIX_LOAD_KEY(item.key, key);
    item.value.type = PMIX_DATA_ARRAY;
    item.value.data.darray = array;
    items_.push_back(item);
  }
  pmix_info_t* data() { return items_.data(); }
  std::size_t size() const { return items_.size(); }

 private:
  void load(const char* key, const void* value, pmix_data_type_t type) {
    pmix_info_t item;
    PMIX_INFO_CONSTRUCT(&item);
    PMIX_INFO_LOAD(&item, key, value, type);
    items_.push_back(item);
  }
  std::vector<pmix_info_t> items_;
};

// The library answers on a thread of its own.
class Answer {
 public:
  static void take(pmix_status_t status, void* self) {
    auto& answer = *static_cast<Answer*>(self);
    const std::lock_guard lock(answer.mutex_);
    answer.status_ = status;
    answer.told_.notify_one();
  }
  // `asked` is what the call itself returned.
  pmix_status_t wait(pmix_status_t asked) {
    if (asked != PMIX_SUCCESS) return asked;
    std::unique_lock lock(mutex_);
    told_.wait(lock, [&] { return status_.has_value(); });
    return *status_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable told_;
  std::optional<pmix_status_t> status_;
};

// The library has one server per process, and its calls have no place for an object.
struct Server {
  StepMap step;
  PmixEvents events;
  std::size_t size = 0;
  std::mutex mutex;  // guards the two below
  pmix_modex_cbfunc_t fenced = nullptr;
  void* fence_object = nullptr;
};
Server* server = nullptr;

pmix_status_t on_connected(const pmix_proc_t*, void*, pmix_info_t[], std::size_t, pmix_op_cbfunc_t done,
                           void* object) {
  if (done) done(PMIX_SUCCESS, object);
  return PMIX_SUCCESS;
}

pmix_status_t on_finalized(const pmix_proc_t*, void*, pmix_op_cbfunc_t done, void* object) {
  if (done) done(PMIX_SUCCESS, object);
  return PMIX_SUCCESS;
}

pmix_status_t on_abort(const pmix_proc_t* who, void*, int status, const char text[], pmix_proc_t[], std::size_t,
                       pmix_op_cbfunc_t done, void* object) {
  server->events.abort(who->rank, status, text ? text : "");
  if (done) done(PMIX_SUCCESS, object);
  return PMIX_SUCCESS;
}

// Only fences of the whole step: what MPI asks for at its start and end.
pmix_status_t on_fence(const pmix_proc_t who[], std::size_t count, const pmix_info_t[], std::size_t, char* data,
                       std::size_t size, pmix_modex_cbfunc_t done, void* object) {
  const bool whole = (count == 1 && who[0].rank == PMIX_RANK_WILDCARD) || count == server->size;
  if (!whole) return PMIX_ERR_NOT_SUPPORTED;
  {
    const std::lock_guard lock(server->mutex);
    if (server->fenced) return PMIX_ERR_NOT_SUPPORTED;
    server->fenced = done;
    server->fence_object = object;
  }
  server->events.fence(data ? std::string(data, size) : std::string{});
  return PMIX_SUCCESS;
}

// Everything was exchanged at the fence; whoever asks for more asks for what nobody has put.
pmix_status_t on_direct(const pmix_proc_t*, const pmix_info_t[], std::size_t, pmix_modex_cbfunc_t, void*) {
  return PMIX_ERR_NOT_FOUND;
}

pmix_server_module_t module() {
  pmix_server_module_t made{};
  made.client_connected2 = on_connected;
  made.client_finalized = on_finalized;
  made.abort = on_abort;
  made.fence_nb = on_fence;
  made.direct_modex = on_direct;
  return made;
}

// A task, wherever it is.
void describe_task(const StepMap& step, std::uint32_t node, std::size_t local, Info& out) {
  const std::uint32_t rank = step.ranks[node][local];
  out.add_rank(PMIX_RANK, rank);
  out.add(PMIX_APPNUM, std::uint32_t{0});
  out.add_rank(PMIX_GLOBAL_RANK, rank);
  out.add_rank(PMIX_APP_RANK, rank);
  out.add_small(PMIX_LOCAL_RANK, local);
  out.add_small(PMIX_NODE_RANK, local);
  out.add(PMIX_NODEID, node);
  out.add(PMIX_HOSTNAME, step.nodes[node]);
}

Status describe_step(const StepMap& step, std::uint32_t size, Info& out) {
  const auto& here = step.ranks[step.node];
  char *nodes = nullptr, *ranks = nullptr;
  std::vector<std::string> lists;
  for (const auto& of_node : step.ranks) lists.push_back(fmt::format("{}", fmt::join(of_node, ",")));
  SPUR_TRY(check(PMIx_generate_regex(fmt::format("{}", fmt::join(step.nodes, ",")).c_str(), &nodes), "nodes"));
  SPUR_TRY(check(PMIx_generate_ppn(fmt::format("{}", fmt::join(lists, ";")).c_str(), &ranks), "ranks"));
  out.add(PMIX_JOBID, step.name);
  out.add(PMIX_UNIV_SIZE, size);
  out.add(PMIX_JOB_SIZE, size);
  out.add(PMIX_APP_SIZE, size);
  out.add(PMIX_MAX_PROCS, size);
  out.add(PMIX_JOB_NUM_APPS, std::uint32_t{1});
  out.add(PMIX_NUM_NODES, static_cast<std::uint32_t>(step.nodes.size()));
  out.add(PMIX_LOCAL_SIZE, static_cast<std::uint32_t>(here.size()));
  out.add(PMIX_NODE_SIZE, static_cast<std::uint32_t>(here.size()));
  out.add(PMIX_LOCAL_PEERS, fmt::format("{}", fmt::join(here, ",")));
  out.add_rank(PMIX_LOCALLDR, here.front());
  out.add_rank(PMIX_APPLDR, 0);
  out.add(PMIX_NODE_MAP, std::string(nodes));
  out.add(PMIX_PROC_MAP, std::string(ranks));
  std::free(nodes);
  std::free(ranks);
  for (std::uint32_t node = 0; node < step.nodes.size(); ++node)
    for (std::size_t local = 0; local < step.ranks[node].size(); ++local) {
      Info task;
      describe_task(step, node, local, task);
      out.add_array(PMIX_PROC_DATA, task);
    }
  return {};
}

void free_text(void* text) {
  delete static_cast<std::string*>(text);
}

}  // namespace

Status PmixNode::start(const StepMap& step, const std::string& directory, PmixEvents events) {
  static Server only;
  server = &only;
  only.step = step;
  only.events = std::move(events);
  for (const auto& of_node : step.ranks) only.size += of_node.size();
  static pmix_server_module_t calls = module();
  Info setup;
  setup.add(PMIX_SERVER_TMPDIR, directory);
  setup.add(PMIX_SYSTEM_TMPDIR, directory);
  setup.add(PMIX_HOSTNAME, step.nodes[step.node]);
  setup.add(PMIX_SERVER_NSPACE, step.name + ".server");
  setup.add_rank(PMIX_SERVER_RANK, step.node);
  SPUR_TRY(check(PMIx_server_init(&calls, setup.data(), setup.size()), "cannot start the server"));
  const auto size = static_cast<std::uint32_t>(only.size);
  Info told;
  SPUR_TRY(describe_step(step, size, told));
  Answer registered;
  const auto local = static_cast<int>(step.ranks[step.node].size());
  SPUR_TRY(check(registered.wait(PMIx_server_register_nspace(step.name.c_str(), local, told.data(), told.size(),
                                                             Answer::take, &registered)),
                 "cannot describe the step"));
  for (const std::uint32_t rank : step.ranks[step.node]) {
    pmix_proc_t task;
    PMIX_LOAD_PROCID(&task, step.name.c_str(), rank);
    Answer known;
    SPUR_TRY(check(known.wait(PMIx_server_register_client(&task, step.uid, step.gid, nullptr, Answer::take, &known)),
                   "cannot describe a task"));
  }
  return {};
}

Result<std::vector<std::string>> PmixNode::environment(const StepMap& step, std::uint32_t rank) {
  pmix_proc_t task;
  PMIX_LOAD_PROCID(&task, step.name.c_str(), rank);
  char** env = nullptr;
  SPUR_TRY(check(PMIx_server_setup_fork(&task, &env), "cannot make a task's environment"));
  std::vector<std::string> out;
  for (char** entry = env; entry && *entry; ++entry) {
    out.emplace_back(*entry);
    std::free(*entry);
  }
  std::free(env);
  return out;
}

void PmixNode::pass_fence(std::string data) {
  pmix_modex_cbfunc_t done = nullptr;
  void* object = nullptr;
  {
    const std::lock_guard lock(server->mutex);
    done = std::exchange(server->fenced, nullptr);
    object = std::exchange(server->fence_object, nullptr);
  }
  if (!done) return;
  auto* kept = new std::string(std::move(data));
  done(PMIX_SUCCESS, kept->data(), kept->size(), object, free_text, kept);
}

void PmixNode::stop() {
  PMIx_server_finalize();
}

}  // namespace spur::pmix
