// SPDX-License-Identifier: Apache-2.0
#include "container/layer_unpack.h"

#include <archive.h>
#include <archive_entry.h>
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <unordered_set>
#include <utility>
#include <vector>

#include "container/scoped_path.h"
#include "container/tar_stream.h"
#include "os/files.h"
#include "text/printable.h"
#include "text/words.h"

namespace spur::container {
namespace {

constexpr std::string_view kWhiteout = ".wh.", kOpaque = ".wh..wh..opq";
constexpr std::size_t kLongestPath = 4096, kDeepest = 256;

// Relative, without empty parts and dots; an entry with ".." is refused.
Result<std::string> inner_path(const char* raw) {
  if (raw == nullptr || *raw == '\0') return fail(ErrorCode::Corrupt, "the archive has an entry without a name");
  std::string out;
  std::size_t depth = 0;
  for (const std::string_view part : text::split(raw, '/')) {
    if (part.empty() || part == ".") continue;
    if (part == "..")
      return fail(ErrorCode::Corrupt, "an entry of the archive leaves the image: " + text::shown(raw));
    out += (out.empty() ? "" : "/") + std::string(part);
    if (part.size() > 255 || ++depth > kDeepest || out.size() >= kLongestPath)
      return fail(ErrorCode::Corrupt, "the archive has too long a name: " + text::shown(raw));
  }
  return out;
}

struct Place {
  std::string parent, name;
};
Place place_of(const std::string& path) {
  const auto slash = path.rfind('/');
  if (slash == std::string::npos) return {"", path};
  return {path.substr(0, slash), path.substr(slash + 1)};
}

std::unexpected<Error> failed(std::string_view what, const std::string& path, int error) {
  return os::fail_errno(fmt::format("cannot {} {} of the image", what, text::shown(path)), error);
}

class Layer {
 public:
  Layer(int root, const UnpackOptions& options, Unpacked& so_far, TarStream& tar)
      : root_(root), options_(options), so_far_(so_far), tar_(tar) {}

  Status run() {
    for (;;) {
      SPUR_ASSIGN(archive_entry* const entry, tar_.next());
      if (entry == nullptr) return {};
      SPUR_ASSIGN(const std::string path, inner_path(archive_entry_pathname(entry)));
      if (++so_far_.files > options_.limits.files)
        return fail(ErrorCode::InvalidArgument,
                    fmt::format("the image has more than {} files", options_.limits.files));
      SPUR_TRY(take(entry, path));
    }
  }

 private:
  Status take(archive_entry* entry, const std::string& path) {
    if (path.empty()) return {};  // the root itself
    const Place place = place_of(path);
    SPUR_TRY(go_to(place.parent));
    if (place.name == kOpaque) return hide_lower(place.parent);
    if (place.name.starts_with(kWhiteout)) return hide(place);
    if (archive_entry_hardlink(entry) != nullptr) return link(entry, path, place.name);
    switch (archive_entry_filetype(entry)) {
      case AE_IFREG:
        return file(entry, path, place.name);
      case AE_IFDIR:
        return directory(entry, path, place.name);
      case AE_IFLNK:
        return symlink(entry, path, place.name);
      case AE_IFIFO:
        SPUR_TRY(make_room(path, place.name));
        if (::mkfifoat(parent_.get(), place.name.c_str(), 0600) != 0) return failed("make", path, errno);
        return {};
      default:
        return {};  // device files and sockets
    }
  }

  // Entries of one directory mostly follow each other.
  Status go_to(const std::string& parent) {
    if (parent_ && parent == parent_path_) return {};
    SPUR_ASSIGN(parent_, make_dirs_in(root_, parent));
    parent_path_ = parent;
    return {};
  }

  // A file, or a directory where a file is to be, gives way.
  Status make_room(const std::string& path, const std::string& name) {
    made_.insert(path);
    return remove_at(parent_.get(), name);
  }

  Status file(archive_entry* entry, const std::string& path, const std::string& name) {
    SPUR_TRY(make_room(path, name));
    const os::UniqueFd fd(
        ::openat(parent_.get(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!fd) return failed("make", path, errno);
    const void* bytes = nullptr;
    std::size_t size = 0;
    std::int64_t offset = 0, end = 0;
    for (;;) {
      SPUR_ASSIGN(const bool more, tar_.data(&bytes, &size, &offset));
      if (!more) break;
      so_far_.bytes += size;
      if (so_far_.bytes > options_.limits.bytes)
        return fail(ErrorCode::InvalidArgument, "the image is larger than this node allows");
      for (std::size_t done = 0; done < size;) {
        const ssize_t n = ::pwrite(fd.get(), static_cast<const char*>(bytes) + done, size - done,
                                   offset + static_cast<std::int64_t>(done));
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return failed("write", path, errno);
        done += static_cast<std::size_t>(n);
      }
      end = std::max(end, offset + static_cast<std::int64_t>(size));
    }
    const auto whole = archive_entry_size(entry);  // a file may end in a hole
    if (whole > end && static_cast<std::uint64_t>(whole) <= options_.limits.bytes &&
        ::ftruncate(fd.get(), whole) != 0)
      return failed("write", path, errno);
    const mode_t mode = (archive_entry_perm(entry) & 0777) | (options_.shared ? 0444 : 0400);
    if (::fchmod(fd.get(), mode) != 0) return failed("set the mode of", path, errno);
    const timespec times[2] = {{0, UTIME_OMIT}, {archive_entry_mtime(entry), 0}};
    ::futimens(fd.get(), times);
    return {};
  }

  Status directory(archive_entry* entry, const std::string& path, const std::string& name) {
    struct stat info{};
    const bool there = ::fstatat(parent_.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0;
    if (!there || !S_ISDIR(info.st_mode)) {
      if (there) SPUR_TRY(remove_at(parent_.get(), name));
      if (::mkdirat(parent_.get(), name.c_str(), 0700) != 0) return failed("make", path, errno);
      made_.insert(path);
    }
    // What lies in it must be reachable for us, for further layers and for removing it.
    const mode_t mode = (archive_entry_perm(entry) & 01777) | (options_.shared ? 0755 : 0700);
    if (::fchmodat(parent_.get(), name.c_str(), mode, 0) != 0) return failed("set the mode of", path, errno);
    return {};
  }

  Status symlink(archive_entry* entry, const std::string& path, const std::string& name) {
    const char* target = archive_entry_symlink(entry);
    if (target == nullptr || *target == '\0')
      return fail(ErrorCode::Corrupt, "the archive has a link without a target: " + text::shown(path));
    SPUR_TRY(make_room(path, name));
    if (::symlinkat(target, parent_.get(), name.c_str()) != 0) return failed("make", path, errno);
    return {};
  }

  Status link(archive_entry* entry, const std::string& path, const std::string& name) {
    SPUR_ASSIGN(const std::string target, inner_path(archive_entry_hardlink(entry)));
    if (target.empty() || target == path) return {};
    const Place from = place_of(target);
    SPUR_ASSIGN(const auto directory_fd, open_in(root_, from.parent, O_PATH | O_DIRECTORY));
    SPUR_TRY(make_room(path, name));
    if (::linkat(directory_fd.get(), from.name.c_str(), parent_.get(), name.c_str(), 0) != 0)
      return failed("link", path, errno);
    return {};
  }

  bool is_of_this_layer(const std::string& path) const { return made_.contains(path); }

  Status hide(const Place& place) {
    const std::string name = place.name.substr(kWhiteout.size());
    if (name.empty() || name == "." || name == ".." || name.starts_with(kWhiteout)) return {};
    const std::string path = place.parent.empty() ? name : place.parent + "/" + name;
    if (is_of_this_layer(path)) return {};
    return remove_at(parent_.get(), name);
  }

  // All that lower layers have in the directory we stand in.
  Status hide_lower(const std::string& path) {
    const int copy = ::openat(parent_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR* stream = copy >= 0 ? ::fdopendir(copy) : nullptr;
    if (stream == nullptr) return failed("read", path, errno);
    std::vector<std::string> names;
    while (const dirent* entry = ::readdir(stream)) names.emplace_back(entry->d_name);
    ::closedir(stream);
    for (const std::string& name : names) {
      if (name == "." || name == "..") continue;
      const std::string inner = path.empty() ? name : path + "/" + name;
      const bool keep = std::ranges::any_of(made_, [&](const std::string& made) {
        return made == inner || (made.starts_with(inner) && made[inner.size()] == '/');
      });
      if (!keep) SPUR_TRY(remove_at(parent_.get(), name));
    }
    return {};
  }

  int root_;
  const UnpackOptions& options_;
  Unpacked& so_far_;
  TarStream& tar_;
  os::UniqueFd parent_;
  std::string parent_path_;
  std::unordered_set<std::string> made_;  // by this layer
};

// Room for headers and padding, too.
std::uint64_t stream_limit(const UnpackLimits& limits) {
  return limits.bytes + std::min<std::uint64_t>(limits.files, std::uint64_t{1} << 40) * 2048 + (64u << 20);
}

}  // namespace

Status unpack_layer(int fd, int root, std::string_view digest, std::string_view diff_id, const UnpackOptions& options,
                    Unpacked& so_far) {
  SPUR_ASSIGN(const auto tar, TarStream::open(fd, stream_limit(options.limits)));
  SPUR_TRY(Layer(root, options, so_far, *tar).run());
  SPUR_ASSIGN(const auto found, tar->finish());
  if (!digest.empty() && found.file != digest)
    return fail(ErrorCode::Corrupt,
                fmt::format("a layer is not what its digest says: {} instead of {}", found.file, digest));
  if (!diff_id.empty() && found.tar != diff_id)
    return fail(ErrorCode::Corrupt,
                fmt::format("a layer's content is not what the image's configuration says: {} instead of {}",
                            found.tar, diff_id));
  return {};
}

Status unpack_members(int fd, int root, const UnpackOptions& options) {
  SPUR_ASSIGN(const auto tar, TarStream::open(fd, stream_limit(options.limits)));
  std::uint64_t bytes = 0, files = 0;
  for (;;) {
    SPUR_ASSIGN(archive_entry* const entry, tar->next());
    if (entry == nullptr) return {};
    SPUR_ASSIGN(const std::string path, inner_path(archive_entry_pathname(entry)));
    if (++files > options.limits.files) return fail(ErrorCode::InvalidArgument, "the archive has too many members");
    if (path.empty()) continue;
    const Place place = place_of(path);
    // Layers of older archives are links to each other.
    const char* target = archive_entry_symlink(entry) ? archive_entry_symlink(entry) : archive_entry_hardlink(entry);
    if (target != nullptr) {
      SPUR_ASSIGN(const auto parent, make_dirs_in(root, place.parent));
      if (::symlinkat(target, parent.get(), place.name.c_str()) != 0 && errno != EEXIST)
        return failed("make", path, errno);
      continue;
    }
    if (archive_entry_filetype(entry) != AE_IFREG) continue;
    SPUR_ASSIGN(const auto parent, make_dirs_in(root, place.parent));
    SPUR_TRY(remove_at(parent.get(), place.name));
    const os::UniqueFd out(::openat(parent.get(), place.name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!out) return failed("make", path, errno);
    const void* piece = nullptr;
    std::size_t size = 0;
    std::int64_t offset = 0;
    for (;;) {
      SPUR_ASSIGN(const bool more, tar->data(&piece, &size, &offset));
      if (!more) break;
      bytes += size;
      if (bytes > options.limits.bytes)
        return fail(ErrorCode::InvalidArgument, "the image is larger than this node allows");
      SPUR_TRY(os::write_all(out.get(), {static_cast<const char*>(piece), size}, path));
    }
  }
}

Result<std::string> read_member(int fd, std::string_view name, std::size_t limit) {
  SPUR_ASSIGN(const auto tar, TarStream::open(fd, stream_limit({})));
  for (;;) {
    SPUR_ASSIGN(archive_entry* const entry, tar->next());
    if (entry == nullptr) return fail(ErrorCode::NotFound, fmt::format("the archive has no {}", name));
    const auto path = inner_path(archive_entry_pathname(entry));
    if (!path || *path != name || archive_entry_filetype(entry) != AE_IFREG) continue;
    std::string out;
    const void* piece = nullptr;
    std::size_t size = 0;
    std::int64_t offset = 0;
    for (;;) {
      SPUR_ASSIGN(const bool more, tar->data(&piece, &size, &offset));
      if (!more) return out;
      if (out.size() + size > limit) return fail(ErrorCode::Corrupt, fmt::format("{} is too large", name));
      out.append(static_cast<const char*>(piece), size);
    }
  }
}

}  // namespace spur::container
