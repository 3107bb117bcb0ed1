// SPDX-License-Identifier: Apache-2.0
#include "stepd/pmi_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace spur::stepd {
namespace {

// What Slurm tells and MPI libraries count on.
constexpr std::size_t kMostName = 256, kMostKey = 64, kMostValue = 1024;
// Of all pairs of a step that a node keeps.
constexpr std::size_t kMostBytes = 256u << 20;

// Slurm's client library looks for "found", the protocol's text has "flag".
using Items = std::vector<std::pair<std::string, std::string>>;
Items yes(const std::string& value) {
  return {{"rc", "0"}, {"found", "TRUE"}, {"flag", "TRUE"}, {"value", value}};
}
Items no() {
  return {{"rc", "0"}, {"found", "FALSE"}, {"flag", "FALSE"}};
}

std::unexpected<Error> too_much(std::string what) {
  return fail(ErrorCode::ResourceLimit, std::move(what));
}

void append_text(std::string& out, std::string_view text) {
  const auto size = static_cast<std::uint32_t>(text.size());
  for (int shift = 0; shift < 32; shift += 8) out += static_cast<char>(size >> shift & 0xff);
  out += text;
}

std::optional<std::string_view> cut_text(std::string_view& in) {
  if (in.size() < 4) return std::nullopt;
  std::uint32_t size = 0;
  for (std::size_t i = 0; i < 4; ++i) size |= static_cast<std::uint32_t>(static_cast<unsigned char>(in[i])) << 8 * i;
  in.remove_prefix(4);
  if (in.size() < size) return std::nullopt;
  const std::string_view text = in.substr(0, size);
  in.remove_prefix(size);
  return text;
}

}  // namespace

PmiServer::PmiServer(PmiStep step, std::vector<std::uint32_t> ranks) : step_(std::move(step)) {
  for (const std::uint32_t rank : ranks) tasks_.push_back({.rank = rank});
  pairs_["PMI_process_mapping"] = step_.mapping;
}

Status PmiServer::receive(std::size_t task, std::string_view bytes) {
  tasks_[task].reader.add(bytes);
  while (true) {
    SPUR_ASSIGN(const auto command, tasks_[task].reader.next());
    if (!command) return {};
    SPUR_TRY(handle(task, *command));
  }
}

Status PmiServer::handle(std::size_t task, const PmiCommand& command) {
  if (command.name() == "init") return init(task, command);
  return tasks_[task].reader.version_2() ? handle_2(task, command) : handle_1(task, command);
}

Status PmiServer::init(std::size_t task, const PmiCommand& command) {
  const bool second = command.get("pmi_version") == "2";
  // Also for version 2 the answer is a line.
  answers_.push_back({task, write_pmi1({{{"cmd", "response_to_init"},
                                         {"pmi_version", second ? "2" : "1"},
                                         {"pmi_subversion", second ? "0" : "1"},
                                         {"rc", "0"}}})});
  if (second) tasks_[task].reader.use_version_2();
  return {};
}

// ---- PMI-1

Status PmiServer::handle_1(std::size_t task, const PmiCommand& command) {
  const std::string_view name = command.name();
  if (name == "get_maxes") {
    reply(task, {{{"cmd", "maxes"},
                  {"kvsname_max", std::to_string(kMostName)},
                  {"keylen_max", std::to_string(kMostKey)},
                  {"vallen_max", std::to_string(kMostValue)}}});
  } else if (name == "get_appnum") {
    reply(task, {{{"cmd", "appnum"}, {"appnum", "0"}}});
  } else if (name == "get_universe_size") {
    reply(task, {{{"cmd", "universe_size"}, {"size", std::to_string(step_.size)}}});
  } else if (name == "get_my_kvsname") {
    reply(task, {{{"cmd", "my_kvsname"}, {"kvsname", step_.name}}});
  } else if (name == "put") {
    SPUR_TRY(put(command.get("key"), command.get("value")));
    reply(task, {{{"cmd", "put_result"}, {"rc", "0"}, {"msg", "success"}}});
  } else if (name == "get") {
    const auto at = pairs_.find(command.get("key"));
    if (at != pairs_.end())
      reply(task, {{{"cmd", "get_result"}, {"rc", "0"}, {"msg", "success"}, {"value", at->second}}});
    else
      reply(task, {{{"cmd", "get_result"}, {"rc", "-1"}, {"msg", "key_not_found"}, {"value", "unknown"}}});
  } else if (name == "barrier_in") {
    tasks_[task].at_fence = true;
  } else if (name == "finalize") {
    tasks_[task].finished = true;
    reply(task, {{{"cmd", "finalize_ack"}}});
  } else if (name == "abort") {
    abort(task, command.get("exitcode"), {});
  } else if (name == "publish_name" || name == "unpublish_name" || name == "lookup_name" || name == "spawn") {
    const std::string answer = name == "publish_name"     ? "publish_result"
                               : name == "unpublish_name" ? "unpublish_result"
                               : name == "lookup_name"    ? "lookup_result"
                                                          : "spawn_result";
    reply(task, {{{"cmd", answer}, {"rc", "-1"}, {"msg", "not_supported"}}});
  } else {
    return fail(ErrorCode::InvalidArgument, fmt::format("no PMI command: {}", name));
  }
  return {};
}

// ---- PMI-2

Status PmiServer::handle_2(std::size_t task, const PmiCommand& command) {
  const std::string_view name = command.name(), thread = command.get("thrid");
  const std::string answer = std::string(name) + "-response";
  Task& who = tasks_[task];
  const auto found = [&](const std::string* value) {
    if (value)
      reply_2(task, answer, thread, yes(*value));
    else
      reply_2(task, answer, thread, no());
  };
  if (name == "fullinit") {
    reply_2(task, answer, thread,
            {{"pmi-version", "2"},
             {"pmi-subversion", "0"},
             {"rank", std::to_string(who.rank)},
             {"size", std::to_string(step_.size)},
             {"appnum", "0"},
             {"debugged", "FALSE"},
             {"pmiverbose", "FALSE"},
             {"rc", "0"}});
  } else if (name == "finalize") {
    who.finished = true;
    reply_2(task, answer, thread, {{"rc", "0"}});
  } else if (name == "abort") {
    abort(task, "1", command.get("msg"));
  } else if (name == "job-getid") {
    reply_2(task, answer, thread, {{"jobid", step_.name}, {"rc", "0"}});
  } else if (name == "kvs-put") {
    SPUR_TRY(put(command.get("key"), command.get("value")));
    reply_2(task, answer, thread, {{"rc", "0"}});
  } else if (name == "kvs-fence") {
    who.at_fence = true;
    who.fence_thread = thread;
  } else if (name == "kvs-get") {
    const auto at = pairs_.find(command.get("key"));
    found(at == pairs_.end() ? nullptr : &at->second);
  } else if (name == "info-getjobattr") {
    const auto value = job_attribute(command.get("key"));
    found(value ? &*value : nullptr);
  } else if (name == "info-putnodeattr") {
    return put_node_attribute(task, command);
  } else if (name == "info-getnodeattr") {
    get_node_attribute(task, command);
  } else {  // spawning, names, connections between jobs, what others have added
    reply_2(task, answer, thread, {{"rc", "1"}, {"errmsg", "not supported"}});
  }
  return {};
}

std::optional<std::string> PmiServer::job_attribute(std::string_view key) const {
  if (key == "PMI_process_mapping") return pairs_.find(key)->second;
  if (key == "universeSize") return std::to_string(step_.size);
  return std::nullopt;
}

Status PmiServer::put_node_attribute(std::size_t task, const PmiCommand& command) {
  const std::string key(command.get("key")), value(command.get("value"));
  bytes_ += key.size() + value.size();
  if (bytes_ > kMostBytes) return too_much("too much put into the key space");
  node_attributes_[key] = value;
  reply_2(task, "info-putnodeattr-response", command.get("thrid"), {{"rc", "0"}});
  std::erase_if(waiting_, [&](const Waiting& one) {
    if (one.key != key) return false;
    reply_2(one.task, "info-getnodeattr-response", one.thread, yes(value));
    return true;
  });
  return {};
}

void PmiServer::get_node_attribute(std::size_t task, const PmiCommand& command) {
  const std::string key(command.get("key")), thread(command.get("thrid"));
  if (const auto at = node_attributes_.find(key); at != node_attributes_.end())
    reply_2(task, "info-getnodeattr-response", thread, yes(at->second));
  else if (command.get("wait") == "TRUE")
    waiting_.push_back({task, key, thread});
  else
    reply_2(task, "info-getnodeattr-response", thread, no());
}

// ---- pairs

// Seen at once on the node itself.
Status PmiServer::put(std::string_view key, std::string_view value) {
  if (key.empty()) return fail(ErrorCode::InvalidArgument, "a pair without a key");
  bytes_ += key.size() + value.size();
  if (bytes_ > kMostBytes) return too_much("too much put into the key space");
  pairs_.insert_or_assign(std::string(key), std::string(value));
  new_pairs_.insert_or_assign(std::string(key), std::string(value));
  return {};
}

std::optional<std::string> PmiServer::take_fence() {
  // Who has finished keeps nobody waiting.
  const auto stands = [](const Task& task) { return task.at_fence || task.finished; };
  if (fence_sent_ || !std::ranges::all_of(tasks_, stands) || std::ranges::none_of(tasks_, &Task::at_fence))
    return std::nullopt;
  fence_sent_ = true;
  std::string out;
  for (const auto& [key, value] : std::exchange(new_pairs_, {})) {
    append_text(out, key);
    append_text(out, value);
  }
  return out;
}

Status PmiServer::pass_fence(std::string_view pairs) {
  while (!pairs.empty()) {
    const auto key = cut_text(pairs), value = key ? cut_text(pairs) : std::nullopt;
    if (!value) return fail(ErrorCode::Corrupt, "broken pairs of another node");
    if (pairs_.insert_or_assign(std::string(*key), std::string(*value)).second) bytes_ += key->size() + value->size();
    if (bytes_ > kMostBytes) return too_much("too much put into the key space");
  }
  fence_sent_ = false;
  for (std::size_t t = 0; t < tasks_.size(); ++t) {
    if (!std::exchange(tasks_[t].at_fence, false)) continue;
    if (tasks_[t].reader.version_2())
      reply_2(t, "kvs-fence-response", tasks_[t].fence_thread, {{"rc", "0"}});
    else
      reply(t, {{{"cmd", "barrier_out"}}});
  }
  return {};
}

void PmiServer::abort(std::size_t task, std::string_view code, std::string_view message) {
  std::int32_t exit_code = 1;
  std::from_chars(code.data(), code.data() + code.size(), exit_code);
  if (!aborted_) aborted_ = {tasks_[task].rank, exit_code, std::string(message)};
}

void PmiServer::reply(std::size_t task, PmiCommand command) {
  answers_.push_back({task, write_pmi1(command)});
}

void PmiServer::reply_2(std::size_t task, const std::string& name, std::string_view thread, Items items) {
  items.insert(items.begin(), {"cmd", name});
  if (!thread.empty()) items.insert(items.begin() + 1, {"thrid", std::string(thread)});
  answers_.push_back({task, write_pmi2({std::move(items)})});
}

}  // namespace spur::stepd
