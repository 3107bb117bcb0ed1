// SPDX-License-Identifier: Apache-2.0
#include "container/image_store.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "os/files.h"
#include "os/remove_tree.h"
#include "text/printable.h"
#include "text/words.h"

namespace spur::container {
namespace {

constexpr std::string_view kPrefix = "sha256-", kStaging = "tmp-";
constexpr std::size_t kMostConfig = 16 << 20, kLongestName = 200, kFewestDigits = 7;

std::string directory_name(std::string_view digest) {
  return std::string(kPrefix) + std::string(digest.substr(digest.find(':') + 1));
}

// Slashes cannot be in a file's name.
std::string file_of_name(std::string_view name) {
  std::string out;
  for (const char c : name) out += c == '/' ? std::string("%2F") : std::string(1, c);
  return out;
}
std::string name_of_file(std::string text) {
  for (auto at = text.find("%2F"); at != std::string::npos; at = text.find("%2F", at)) text.replace(at, 3, "/");
  return text;
}

std::vector<std::string> names_in(const std::string& path) {
  std::vector<std::string> out;
  if (DIR* stream = ::opendir(path.c_str())) {
    while (const dirent* entry = ::readdir(stream))
      if (entry->d_name[0] != '.') out.emplace_back(entry->d_name);
    ::closedir(stream);
  }
  std::ranges::sort(out);
  return out;
}

std::string one_line(const std::string& path) {
  auto text = os::read_file(path, 64 << 10);
  if (!text) return {};
  return text->substr(0, text->find('\n'));
}

// Whole or not at all; that it may be lost with the power does no harm.
Status write_small(const std::string& path, std::string_view content) {
  const std::string fresh = fmt::format("{}.{}", path, ::getpid());
  ::unlink(fresh.c_str());
  const os::UniqueFd fd(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
  if (!fd) return os::fail_errno("cannot write " + fresh, errno);
  SPUR_TRY(os::write_all(fd.get(), content, fresh));
  ::fchmod(fd.get(), 0644);
  if (::rename(fresh.c_str(), path.c_str()) != 0) return os::fail_errno("cannot write " + path, errno);
  return {};
}

}  // namespace

bool is_image_name(std::string_view name) {
  if (name.empty() || name.size() > kLongestName || name.front() == '.' || name.front() == '/' || name.front() == '-')
    return false;
  return name.find("..") == std::string_view::npos && std::ranges::all_of(name, [](char c) {
           return text::is_alpha(c) || text::is_digit(c) || std::strchr("._-+:@/", c) != nullptr;
         });
}

Result<ImageStore> ImageStore::create(const std::string& path) {
  std::string so_far;
  for (const std::string_view part : text::split(path, '/')) {
    if (part.empty()) continue;
    so_far += "/" + std::string(part);
    if (::mkdir(so_far.c_str(), 0755) != 0 && errno != EEXIST && ::access(so_far.c_str(), F_OK) != 0)
      return os::fail_errno("cannot make " + so_far, errno);
  }
  for (const char* inner : {"/names", "/seen"})
    if (::mkdir((path + inner).c_str(), 0755) != 0 && errno != EEXIST)
      return os::fail_errno("cannot make " + path + inner, errno);
  return open(path);
}

Result<ImageStore> ImageStore::open(const std::string& path) {
  os::UniqueFd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory) return os::fail_errno("cannot open the image store " + path, errno);
  return ImageStore(path, std::move(directory));
}

Result<os::UniqueFd> ImageStore::lock() const {
  os::UniqueFd fd(::openat(directory_.get(), "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd) return os::fail_errno("cannot open " + path_ + "/lock", errno);
  while (::flock(fd.get(), LOCK_EX) != 0)
    if (errno != EINTR) return os::fail_errno("cannot lock " + path_, errno);
  return fd;
}

// With the lock held nobody else is amid anything.
void ImageStore::sweep() const {
  for (const std::string& name : names_in(path_))
    if (name.starts_with(kStaging)) (void)os::remove_tree(directory_.get(), name);
}

std::vector<StoredImage> ImageStore::list() const {
  std::vector<StoredImage> out;
  for (const std::string& entry : names_in(path_)) {
    if (!entry.starts_with(kPrefix)) continue;
    StoredImage image;
    image.digest = "sha256:" + entry.substr(kPrefix.size());
    image.path = path_ + "/" + entry;
    struct stat info{};
    if (!is_digest(image.digest) || ::stat((image.path + "/config.json").c_str(), &info) != 0) continue;
    image.source = one_line(image.path + "/source");
    image.imported = info.st_mtime;
    out.push_back(std::move(image));
  }
  for (const std::string& name : names_in(path_ + "/names")) {
    const std::string digest = one_line(path_ + "/names/" + name);
    for (StoredImage& image : out)
      if (image.digest == digest) image.names.push_back(name_of_file(name));
  }
  return out;
}

std::optional<StoredImage> ImageStore::find_digest(std::string_view digest) const {
  for (StoredImage& image : list())
    if (image.digest == digest) return std::move(image);
  return std::nullopt;
}

Result<StoredImage> ImageStore::find(std::string_view name) const {
  if (is_image_name(name)) {
    const std::string digest = one_line(path_ + "/names/" + file_of_name(name));
    if (is_digest(digest))
      if (auto image = find_digest(digest)) return *std::move(image);
  }
  const std::string_view digits = name.starts_with("sha256:") ? name.substr(7) : name;
  std::vector<StoredImage> found;
  if (digits.size() >= kFewestDigits && digits.find_first_not_of("0123456789abcdef") == std::string_view::npos)
    for (StoredImage& image : list())
      if (image.digest.substr(7).starts_with(digits)) found.push_back(std::move(image));
  if (found.size() == 1) return std::move(found.front());
  if (found.size() > 1)
    return fail(ErrorCode::InvalidArgument, fmt::format("{} could be several images", text::shown(name)));
  return fail(ErrorCode::NotFound, fmt::format("no image {} in {}", text::shown(name), path_));
}

Result<UsedImage> ImageStore::use(const StoredImage& image) {
  UsedImage out;
  out.lock = os::UniqueFd(::open(image.path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!out.lock) return os::fail_errno("cannot open the image " + image.path, errno);
  if (::flock(out.lock.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    return fail(ErrorCode::NotFound, fmt::format("the image {} is being removed", image.path));
  SPUR_ASSIGN(const auto text, os::read_file(image.path + "/config.json", kMostConfig));
  SPUR_ASSIGN(out.config, parse_image_config(text));
  out.rootfs = image.rootfs();
  return out;
}

Result<StoredImage> ImageStore::add(const std::string& digest, const std::string& source, const Fill& fill) {
  SPUR_ASSIGN(const auto held, lock());
  if (auto there = find_digest(digest)) return *std::move(there);
  sweep();
  std::string staging = path_ + "/" + std::string(kStaging) + "XXXXXX";
  if (::mkdtemp(staging.data()) == nullptr) return os::fail_errno("cannot make a directory in " + path_, errno);
  const std::string name = staging.substr(path_.size() + 1);
  const auto made = [&]() -> Status {
    const os::UniqueFd directory(::open(staging.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!directory) return os::fail_errno("cannot open " + staging, errno);
    SPUR_ASSIGN(const ImageConfig config, fill(directory.get(), staging));
    SPUR_TRY(write_small(staging + "/config.json", image_config_text(config)));
    SPUR_TRY(write_small(staging + "/source", text::printable(source) + "\n"));
    if (::chmod(staging.c_str(), 0755) != 0) return os::fail_errno("cannot set the mode of " + staging, errno);
    ::syncfs(directory.get());  // an image that is there after a power loss has all its files
    if (::renameat(directory_.get(), name.c_str(), directory_.get(), directory_name(digest).c_str()) != 0)
      return os::fail_errno("cannot put the image into " + path_, errno);
    return {};
  }();
  if (!made) {
    (void)os::remove_tree(directory_.get(), name);
    return std::unexpected(made.error());
  }
  if (auto image = find_digest(digest)) return *std::move(image);
  return fail(ErrorCode::Internal, "the image vanished from " + path_);
}

Status ImageStore::give_name(std::string_view name, std::string_view digest) {
  if (!is_image_name(name))
    return fail(ErrorCode::InvalidArgument, fmt::format("an image cannot be called \"{}\"", text::shown(name)));
  SPUR_ASSIGN(const auto held, lock());
  return write_small(path_ + "/names/" + file_of_name(name), std::string(digest) + "\n");
}

Status ImageStore::remove(std::string_view name) {
  SPUR_ASSIGN(const auto held, lock());
  sweep();
  SPUR_ASSIGN(const StoredImage image, find(name));
  const bool by_name = std::ranges::find(image.names, name) != image.names.end();
  if (by_name && image.names.size() > 1) {
    if (::unlink((path_ + "/names/" + file_of_name(name)).c_str()) != 0)
      return os::fail_errno(fmt::format("cannot remove {}", name), errno);
    return {};
  }
  const os::UniqueFd used(::open(image.path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!used || ::flock(used.get(), LOCK_EX | LOCK_NB) != 0)
    return fail(ErrorCode::NodesBusy, fmt::format("the image {} is in use", text::shown(name)));
  const std::string gone = std::string(kStaging) + "removed";
  if (::renameat(directory_.get(), image.path.c_str() + path_.size() + 1, directory_.get(), gone.c_str()) != 0)
    return os::fail_errno(fmt::format("cannot remove {}", image.path), errno);
  for (const std::string& other : image.names) ::unlink((path_ + "/names/" + file_of_name(other)).c_str());
  return os::remove_tree(directory_.get(), gone);
}

std::optional<std::string> ImageStore::seen(const std::string& key) const {
  const std::string digest = one_line(path_ + "/seen/" + key);
  if (!is_digest(digest)) return std::nullopt;
  return digest;
}

void ImageStore::note_seen(const std::string& key, const std::string& digest) {
  (void)write_small(path_ + "/seen/" + key, digest + "\n");
}

}  // namespace spur::container
