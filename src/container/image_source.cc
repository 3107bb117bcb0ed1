// SPDX-License-Identifier: Apache-2.0
#include "container/image_source.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "container/digest.h"
#include "container/scoped_path.h"
#include "os/files.h"
#include "os/remove_tree.h"
#include "text/mount_spec.h"
#include "text/printable.h"

namespace spur::container {
namespace {

using Kind = ImageReference::Kind;
constexpr std::size_t kMostJson = 16 << 20;
constexpr int kDeepestIndex = 4;

std::unexpected<Error> about(const ImageReference& image, const Error& error) {
  return fail(error.code, fmt::format("{}: {}", text::shown(image.path), error.message));
}

Result<os::UniqueFd> open_file(const std::string& path) {
  os::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!fd) return os::fail_errno("cannot open the image " + text::shown(path), errno);
  return fd;
}

Result<std::string> read_in(int root, const std::string& path) {
  SPUR_ASSIGN(const auto fd, open_in(root, path, O_RDONLY | O_NONBLOCK));
  struct stat info{};
  if (::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) return fail(ErrorCode::Corrupt, path + " is no file");
  if (static_cast<std::size_t>(info.st_size) > kMostJson) return fail(ErrorCode::Corrupt, path + " is too large");
  std::string out(static_cast<std::size_t>(info.st_size), '\0');
  std::size_t done = 0;
  while (done < out.size()) {
    const ssize_t got = ::read(fd.get(), out.data() + done, out.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return fail(ErrorCode::Corrupt, path + " cannot be read");
    done += static_cast<std::size_t>(got);
  }
  return out;
}

std::string blob_path(std::string_view digest) {
  return "blobs/sha256/" + std::string(digest.substr(7));
}

// A JSON document among the blobs, checked.
Result<std::string> read_blob(int layout, const Descriptor& descriptor) {
  SPUR_ASSIGN(auto text, read_in(layout, blob_path(descriptor.digest)));
  if (digest_of(text) != descriptor.digest)
    return fail(ErrorCode::Corrupt, fmt::format("{} is not what its digest says", descriptor.digest));
  return text;
}

// The manifest that index.json, and indexes it refers to, lead to.
Result<Descriptor> find_manifest(int layout, std::string_view tag) {
  SPUR_ASSIGN(auto text, read_in(layout, "index.json"));
  std::string wanted(tag);
  for (int depth = 0; depth < kDeepestIndex; ++depth) {
    SPUR_ASSIGN(const auto entries, parse_index(text));
    SPUR_ASSIGN(auto chosen, choose_image(entries, wanted));
    if (!is_index_type(chosen.media_type)) return chosen;
    SPUR_ASSIGN(text, read_blob(layout, chosen));
    wanted.clear();  // what follows are machines
  }
  return fail(ErrorCode::Corrupt, "its indexes never come to an image");
}

Status check_machine(const ImageConfig& config) {
  if ((config.os.empty() || config.os == "linux") &&
      (config.architecture.empty() || config.architecture == own_architecture()))
    return {};
  return fail(ErrorCode::NotSupported,
              fmt::format("the image is for {}/{}, this node is linux/{}", text::shown(config.os),
                          text::shown(config.architecture), own_architecture()));
}

Result<os::UniqueFd> make_root(int directory) {
  if (::mkdirat(directory, "rootfs", 0755) != 0)
    return os::fail_errno("cannot make a directory for the image", errno);
  ::fchmodat(directory, "rootfs", 0755, 0);
  return open_in(directory, "rootfs", O_RDONLY | O_DIRECTORY);
}

Result<ImageConfig> fill_from_layout(int layout, const Descriptor& chosen, int directory,
                                     const UnpackOptions& options) {
  SPUR_ASSIGN(const auto manifest_text, read_blob(layout, chosen));
  SPUR_ASSIGN(const Manifest manifest, parse_manifest(manifest_text));
  SPUR_ASSIGN(const auto config_text, read_blob(layout, manifest.config));
  SPUR_ASSIGN(ImageConfig config, parse_image_config(config_text));
  SPUR_TRY(check_machine(config));
  if (!config.diff_ids.empty() && config.diff_ids.size() != manifest.layers.size())
    return fail(ErrorCode::Corrupt, "manifest and configuration disagree about the number of layers");
  SPUR_ASSIGN(const auto root, make_root(directory));
  Unpacked so_far;
  for (std::size_t i = 0; i < manifest.layers.size(); ++i) {
    const Descriptor& layer = manifest.layers[i];
    if (layer.media_type.find("encrypted") != std::string::npos)
      return fail(ErrorCode::NotSupported, "encrypted layers are not supported");
    SPUR_ASSIGN(const auto blob, open_in(layout, blob_path(layer.digest), O_RDONLY | O_NONBLOCK));
    SPUR_TRY(unpack_layer(blob.get(), root.get(), layer.digest,
                          config.diff_ids.empty() ? std::string_view() : config.diff_ids[i], options, so_far));
  }
  return config;
}

Result<StoredImage> import_layout(ImageStore& store, int layout, const ImageReference& image,
                                  const UnpackOptions& options, std::vector<std::string>* tags) {
  SPUR_ASSIGN(const auto chosen, find_manifest(layout, image.tag));
  if (tags != nullptr && !chosen.name.empty()) tags->push_back(chosen.name);
  return store.add(chosen.digest, image.path, [&](int directory, const std::string&) {
    return fill_from_layout(layout, chosen, directory, options);
  });
}

const ArchiveImage* choose_archived(const std::vector<ArchiveImage>& images, std::string_view tag) {
  if (tag.empty()) return images.size() == 1 ? &images.front() : nullptr;
  for (const ArchiveImage& image : images)
    for (const std::string& name : image.tags)
      if (name == tag || name.ends_with(":" + std::string(tag))) return &image;
  return nullptr;
}

Result<StoredImage> import_docker(ImageStore& store, int file, const ImageReference& image,
                                  const UnpackOptions& options, std::vector<std::string>* tags) {
  SPUR_ASSIGN(const auto list, read_member(file, "manifest.json", kMostJson));
  SPUR_ASSIGN(const auto images, parse_archive_manifest(list));
  const ArchiveImage* chosen = choose_archived(images, image.tag);
  if (chosen == nullptr)
    return fail(ErrorCode::InvalidArgument, image.tag.empty()
                                                ? "it has several images, say which (docker-archive:PATH:TAG)"
                                                : fmt::format("it has no image {}", text::shown(image.tag)));
  if (tags != nullptr) tags->insert(tags->end(), chosen->tags.begin(), chosen->tags.end());
  SPUR_ASSIGN(const auto config_text, read_member(file, chosen->config, kMostJson));
  return store.add(digest_of(config_text), image.path, [&](int directory, const std::string&) -> Result<ImageConfig> {
    SPUR_ASSIGN(ImageConfig config, parse_image_config(config_text));
    SPUR_TRY(check_machine(config));
    if (config.diff_ids.size() != chosen->layers.size())
      return fail(ErrorCode::Corrupt, "manifest.json and configuration disagree about the number of layers");
    if (::mkdirat(directory, "members", 0700) != 0) return os::fail_errno("cannot make a directory", errno);
    SPUR_ASSIGN(const auto members, open_in(directory, "members", O_RDONLY | O_DIRECTORY));
    SPUR_TRY(unpack_members(file, members.get(), options));
    SPUR_ASSIGN(const auto root, make_root(directory));
    Unpacked so_far;
    for (std::size_t i = 0; i < chosen->layers.size(); ++i) {
      SPUR_ASSIGN(const auto layer, open_in(members.get(), chosen->layers[i], O_RDONLY | O_NONBLOCK));
      SPUR_TRY(unpack_layer(layer.get(), root.get(), {}, config.diff_ids[i], options, so_far));
    }
    SPUR_TRY(os::remove_tree(directory, "members"));
    return config;
  });
}

Result<StoredImage> import_oci_archive(ImageStore& store, int file, const ImageReference& image,
                                       const UnpackOptions& options, std::vector<std::string>* tags) {
  std::string path = store.path() + "/seen/layout-XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) return os::fail_errno("cannot make a directory in " + store.path(), errno);
  const auto imported = [&]() -> Result<StoredImage> {
    const os::UniqueFd layout(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    SPUR_TRY(unpack_members(file, layout.get(), options));
    return import_layout(store, layout.get(), image, options, tags);
  }();
  (void)os::remove_tree(AT_FDCWD, path);
  return imported;
}

// unsquashfs, of squashfs-tools.
Status run_unsquashfs(const std::string& file, const std::string& target) {
  std::vector<std::string> words{"unsquashfs",     "-quiet", "-no-progress", "-no-xattrs",
                                 "-ignore-errors", "-dest",  target,         file};
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  for (const int fd : {0, 1, 2}) ::posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
  pid_t pid = -1;
  const int error = ::posix_spawnp(&pid, "unsquashfs", &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0)
    return fail(
        ErrorCode::NotSupported,
        fmt::format("squashfs images need unsquashfs (squashfs-tools) on this node: {}", std::strerror(error)));
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  // 2: something could not be set as it was, owners above all.
  if (!WIFEXITED(status) || (WEXITSTATUS(status) != 0 && WEXITSTATUS(status) != 2))
    return fail(ErrorCode::Corrupt, "it cannot be unpacked by unsquashfs");
  return {};
}

Status let_all_read(const std::string& root) {
  namespace fs = std::filesystem;
  std::error_code error;
  for (fs::recursive_directory_iterator it(root, error), end; !error && it != end; it.increment(error)) {
    const auto kind = it->symlink_status(error).type();
    if (kind != fs::file_type::regular && kind != fs::file_type::directory) continue;
    const auto wanted = kind == fs::file_type::directory ? fs::perms(0555) : fs::perms(0444);
    fs::permissions(it->path(), wanted, fs::perm_options::add, error);
  }
  if (error) return fail(ErrorCode::Internal, "the image cannot be made readable for all: " + error.message());
  return {};
}

Result<StoredImage> import_squashfs(ImageStore& store, int file, const ImageReference& image,
                                    const UnpackOptions& options) {
  std::uint32_t files = 0;  // in the head, after the magic number
  if (::pread(file, &files, sizeof files, 4) != sizeof files) return fail(ErrorCode::Corrupt, "it is too short");
  if (files > options.limits.files)
    return fail(ErrorCode::InvalidArgument, fmt::format("the image has more than {} files", options.limits.files));
  ::lseek(file, 0, SEEK_SET);
  SPUR_ASSIGN(const auto digest, digest_of_file(file));
  return store.add(digest, image.path, [&](int, const std::string& path) -> Result<ImageConfig> {
    SPUR_TRY(run_unsquashfs(image.path, path + "/rootfs"));
    ::chmod((path + "/rootfs").c_str(), 0755);
    if (options.shared) SPUR_TRY(let_all_read(path + "/rootfs"));
    return ImageConfig{};
  });
}

std::string file_key(const struct stat& info) {
  return fmt::format("{:x}-{:x}-{:x}-{:x}.{:x}-{:x}.{:x}", info.st_dev, info.st_ino, info.st_size,
                     info.st_mtim.tv_sec, info.st_mtim.tv_nsec, info.st_ctim.tv_sec, info.st_ctim.tv_nsec);
}

}  // namespace

Result<ImageReference> parse_reference(std::string_view text) {
  const struct {
    std::string_view prefix;
    Kind kind;
    bool tagged;
  } kKinds[] = {{"oci:", Kind::Layout, true},
                {"docker-archive:", Kind::DockerArchive, true},
                {"oci-archive:", Kind::OciArchive, true},
                {"squashfs:", Kind::Squashfs, false},
                {"dir:", Kind::Directory, false}};
  if (text.empty() || text.find('\0') != std::string_view::npos)
    return fail(ErrorCode::InvalidArgument, "the image is missing");
  if (const auto colon = text.find("://"); colon != std::string_view::npos)
    return fail(
        ErrorCode::NotSupported,
        fmt::format("{}: pulling images is not supported yet: save it with \"docker save\" or \"skopeo copy ... "
                    "oci:DIRECTORY\", and import that with \"spur image import\"",
                    text::shown(text)));
  ImageReference out;
  if (text.starts_with('/') || text.starts_with("./") || text.starts_with("../") || text == "." || text == "..") {
    out.kind = Kind::Path;
    out.path = std::string(text);
    return out;
  }
  for (const auto& row : kKinds) {
    if (!text.starts_with(row.prefix)) continue;
    out.kind = row.kind;
    out.path = std::string(text.substr(row.prefix.size()));
    const auto colon = out.path.find(':');  // a tag may have one itself
    if (row.tagged && colon != std::string::npos) {
      out.tag = out.path.substr(colon + 1);
      out.path.resize(colon);
    }
    if (out.path.empty())
      return fail(ErrorCode::InvalidArgument, fmt::format("{}: the path is missing", text::shown(text)));
    return out;
  }
  out.path = std::string(text);
  if (!is_image_name(text))
    return fail(ErrorCode::InvalidArgument,
                fmt::format("this is neither an image's name nor a path: {}", text::shown(text)));
  return out;
}

Result<ImageReference> look_at(const ImageReference& reference) {
  ImageReference out = reference;
  if (out.kind == Kind::Name) return out;
  SPUR_ASSIGN(const auto fd, open_file(out.path));
  struct stat info{};
  if (::fstat(fd.get(), &info) != 0) return os::fail_errno("cannot look at " + out.path, errno);
  const bool is_directory = S_ISDIR(info.st_mode);
  const bool wants_directory = out.kind == Kind::Layout || out.kind == Kind::Directory;
  if (out.kind != Kind::Path && is_directory != wants_directory)
    return fail(ErrorCode::InvalidArgument,
                fmt::format("{} is {} directory", text::shown(out.path), is_directory ? "a" : "no"));
  if (!is_directory && !S_ISREG(info.st_mode))
    return fail(ErrorCode::InvalidArgument,
                fmt::format("{} is no image: neither a file nor a directory", text::shown(out.path)));
  if (out.kind != Kind::Path) return out;
  if (is_directory) {
    out.kind = ::faccessat(fd.get(), "oci-layout", F_OK, 0) == 0 || ::faccessat(fd.get(), "index.json", F_OK, 0) == 0
                   ? Kind::Layout
                   : Kind::Directory;
    return out;
  }
  char magic[4] = {};
  if (::pread(fd.get(), magic, sizeof magic, 0) == sizeof magic && std::memcmp(magic, "hsqs", 4) == 0) {
    out.kind = Kind::Squashfs;
    return out;
  }
  for (const auto& [member, kind] :
       {std::pair("manifest.json", Kind::DockerArchive), std::pair("index.json", Kind::OciArchive)}) {
    const auto text = read_member(fd.get(), member, kMostJson);
    if (text) {
      out.kind = kind;
      return out;
    }
    if (text.error().code != ErrorCode::NotFound)
      return fail(text.error().code, fmt::format("{} is no image: {}", text::shown(out.path), text.error().message));
  }
  return fail(ErrorCode::Corrupt,
              fmt::format("{} is no image: neither an OCI or docker archive nor squashfs", text::shown(out.path)));
}

Result<StoredImage> import_image(ImageStore& store, const ImageReference& reference, const UnpackOptions& options,
                                 std::vector<std::string>* tags) {
  SPUR_ASSIGN(const auto fd, open_file(reference.path));
  struct stat info{};
  if (::fstat(fd.get(), &info) != 0) return os::fail_errno("cannot look at " + reference.path, errno);
  // Finding out what a large file holds takes as long as reading it.
  const bool is_file = S_ISREG(info.st_mode);
  const std::string key =
      is_file ? file_key(info) + (reference.tag.empty() ? "" : "-" + digest_of(reference.tag).substr(7, 16)) : "";
  if (is_file && tags == nullptr)
    if (const auto digest = store.seen(key))
      if (auto image = store.find_digest(*digest)) return *std::move(image);
  auto imported = [&]() -> Result<StoredImage> {
    switch (reference.kind) {
      case Kind::Layout:
        return import_layout(store, fd.get(), reference, options, tags);
      case Kind::DockerArchive:
        return import_docker(store, fd.get(), reference, options, tags);
      case Kind::OciArchive:
        return import_oci_archive(store, fd.get(), reference, options, tags);
      case Kind::Squashfs:
        return import_squashfs(store, fd.get(), reference, options);
      default:
        return fail(ErrorCode::NotSupported, "a root directory is not imported: it is used where it is");
    }
  }();
  if (!imported) return about(reference, imported.error());
  if (is_file) store.note_seen(key, imported->digest);
  return imported;
}

Result<UsedImage> use_image(std::string_view text, const std::vector<std::string>& stores, const std::string& cache,
                            const UnpackOptions& options) {
  SPUR_ASSIGN(const auto given, parse_reference(text));
  if (given.kind == Kind::Name) {
    std::vector<std::string> looked;
    for (const std::string& path : stores) {
      if (path.empty()) continue;
      looked.push_back(path);
      const auto store = ImageStore::open(path);
      if (!store) continue;
      const auto image = store->find(given.path);
      if (image) return ImageStore::use(*image);
      if (image.error().code != ErrorCode::NotFound) return std::unexpected(image.error());
    }
    return fail(ErrorCode::NotFound,
                fmt::format("there is no image {} on this node (looked in {}); images are not pulled: import it with "
                            "\"spur image import\"",
                            text::shown(given.path), fmt::join(looked, ", ")));
  }
  SPUR_ASSIGN(const auto reference, look_at(given));
  if (reference.kind == Kind::Directory) {
    UsedImage out;
    out.rootfs = text::clean_path(reference.path);
    out.lock = os::UniqueFd(::open(out.rootfs.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!out.lock) return os::fail_errno("cannot open the image " + out.rootfs, errno);
    bool any = false;
    if (DIR* stream = ::opendir(out.rootfs.c_str())) {
      while (const dirent* entry = ::readdir(stream)) any = any || entry->d_name[0] != '.';
      ::closedir(stream);
    }
    if (!any) return fail(ErrorCode::Corrupt, fmt::format("{} is no image: it is empty", text::shown(out.rootfs)));
    return out;
  }
  SPUR_ASSIGN(auto store, ImageStore::create(cache));
  SPUR_ASSIGN(const auto image, import_image(store, reference, options));
  return ImageStore::use(image);
}

}  // namespace spur::container
