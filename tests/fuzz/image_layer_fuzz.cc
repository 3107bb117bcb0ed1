// SPDX-License-Identifier: Apache-2.0
// Layers that are tar files or nearly so, unpacked for real: whatever they hold, nothing appears outside.
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <filesystem>

#include "container/layer_unpack.h"
#include "container/test_tar.h"
#include "fuzz.h"

namespace spur::container {
namespace {

std::string_view sample() {
  static const std::string bytes = [] {
    TestTar tar;
    tar.symlink("l", "../../x").file("a/b", "content").hardlink("h", "a/b").file("a/.wh..wh..opq", "").directory("d");
    std::string out(8192, '\0');
    const ssize_t got = ::pread(tar.fd(), out.data(), out.size(), 0);
    out.resize(static_cast<std::size_t>(got > 0 ? got : 0));
    return out;
  }();
  return bytes;
}

struct Place {
  Place() {
    char name[] = "/tmp/spur-fuzz.XXXXXX";
    SPUR_CHECK(::mkdtemp(name) != nullptr);
    base = name;
  }
  ~Place() { std::filesystem::remove_all(base); }
  std::string base;
};

}  // namespace

SPUR_FUZZ(image_layer, sample(), "") {
  static const Place place;
  static std::uint64_t count = 0;
  const std::string root = place.base + "/r" + std::to_string(count++ % 16);
  std::filesystem::remove_all(root);
  std::filesystem::create_directory(root);
  const os::UniqueFd directory(::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const os::UniqueFd file(::memfd_create("layer", MFD_CLOEXEC));
  SPUR_CHECK(directory && file &&
             ::write(file.get(), input.data(), input.size()) == static_cast<ssize_t>(input.size()));
  Unpacked so_far;
  const UnpackOptions options{.limits = {.bytes = 1 << 20, .files = 100}, .shared = false};
  if (const auto done = unpack_layer(file.get(), directory.get(), {}, {}, options, so_far); !done)
    fuzz::check_message(done.error());
  for (const auto& entry : std::filesystem::directory_iterator(place.base))
    SPUR_CHECK(entry.path().filename().string().starts_with("r"));
  if (const auto member = read_member(file.get(), "manifest.json", 1000); !member)
    fuzz::check_message(member.error());
}

}  // namespace spur::container
