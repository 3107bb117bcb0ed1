// SPDX-License-Identifier: Apache-2.0
#include "main/configless.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "config/load.h"
#include "config/value.h"
#include "main/daemon_options.h"
#include "os/files.h"
#include "spur/v1/configless.pb.h"
#include "text/printable.h"
#include "wire/lean_channel.h"

namespace spur::main {

namespace {

namespace fs = std::filesystem;

constexpr auto kPatience = std::chrono::seconds(30);
constexpr auto kPause = std::chrono::seconds(1);

// A name from another host becomes a path of ours: below the directory, whatever it says.
bool is_good_name(const std::string& name) {
  const fs::path path(name);
  if (name.empty() || path.is_absolute() || text::printable(name) != name) return false;
  return std::ranges::none_of(path, [](const fs::path& part) { return part == ".." || part == "." || part.empty(); });
}

Result<v1::FetchConfigReply> ask(const std::string& servers, const std::string& token, bool patient) {
  std::vector<std::string> peers = config::split_list(servers);
  if (peers.empty()) return fail(ErrorCode::InvalidArgument, "--conf-server names no host");
  wire::LeanChannel channel(peers, config::kControllerPort);
  v1::FetchConfigRequest request;
  request.set_join_token(token);
  wire::CallOptions call;
  call.timeout = seconds(10);
  const auto until = std::chrono::steady_clock::now() + (patient ? kPatience : std::chrono::seconds(0));
  while (true) {
    auto bytes = channel.call("/spur.v1.Configless/FetchConfig", request.SerializeAsString(), call);
    if (bytes) {
      v1::FetchConfigReply reply;
      if (!reply.ParseFromString(*bytes) || reply.files().empty())
        return fail(ErrorCode::Corrupt, fmt::format("{} gave no configuration", text::shown(servers, 100)));
      return reply;
    }
    const bool away = bytes.error().code == ErrorCode::Unreachable || bytes.error().code == ErrorCode::TimedOut;
    if (!away || std::chrono::steady_clock::now() > until)
      return fail(bytes.error().code,
                  fmt::format("no configuration from {}: {}", text::shown(servers, 100), bytes.error().message));
    std::this_thread::sleep_for(kPause);
  }
}

Status write_all(const fs::path& directory, const v1::FetchConfigReply& reply) {
  for (const auto& file : reply.files()) {
    if (!is_good_name(file.name()))
      return fail(ErrorCode::ConfigInvalid, fmt::format("\"{}\" is no name of a file", text::shown(file.name(), 100)));
    const fs::path path = directory / file.name();
    std::error_code error;
    fs::create_directories(path.parent_path(), error);
    if (error)
      return fail(ErrorCode::ConfigInvalid,
                  fmt::format("cannot make {}: {}", path.parent_path().string(), error.message()));
    for (fs::path at = path.parent_path(); at != directory.parent_path(); at = at.parent_path())
      fs::permissions(at, fs::perms(0755), error);
    SPUR_TRY(os::write_file_durably(path.string(), file.text(), 0644));
  }
  return {};
}

// A directory that goes away with us.
class Draft {
 public:
  Draft() {
    std::string pattern = (fs::temp_directory_path() / "spurd-conf-XXXXXX").string();
    if (::mkdtemp(pattern.data())) path_ = pattern;
  }
  ~Draft() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace

Result<std::string> fetch_configuration(const std::string& servers, const std::string& token, const std::string& node,
                                        bool patient) {
  SPUR_ASSIGN(const auto reply, ask(servers, token, patient));
  // Where the spool is stands in the files themselves; and a file that is wrong must not take a good one's place.
  const Draft draft;
  if (draft.path().empty()) return fail(ErrorCode::ConfigInvalid, "there is no place for temporary files");
  SPUR_TRY(write_all(draft.path(), reply));
  const std::string main = reply.files(0).name();
  SPUR_ASSIGN(const auto loaded, config::load(draft.path() + "/" + main, config::Want::All));
  const std::string host = short_hostname();
  const auto* declared = config::find_node_of_host(loaded.cluster, host);
  const std::string own = !node.empty() ? node : declared ? declared->name : host;
  const std::string spool = fs::absolute(config::agent_spool_dir(loaded.daemon, own, host));
  const bool is_new = ::access(spool.c_str(), F_OK) != 0;
  std::error_code error;
  fs::create_directories(spool, error);
  if (error) return fail(ErrorCode::ConfigInvalid, fmt::format("cannot make {}: {}", spool, error.message()));
  if (is_new) fs::permissions(spool, fs::perms(0711), error);
  const std::string cache = spool + "/conf-cache";
  // What is not there any more must not be found beside what is.
  for (const auto& entry : fs::directory_iterator(cache, error)) {
    const std::string name = entry.path().filename().string();
    const bool stays = std::ranges::any_of(reply.files(), [&](const auto& file) {
      return file.name() == name || file.name().starts_with(name + "/");
    });
    if (!stays) fs::remove_all(entry.path(), error);
  }
  SPUR_TRY(write_all(cache, reply));
  return cache + "/" + main;
}

}  // namespace spur::main
