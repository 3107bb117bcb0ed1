// SPDX-License-Identifier: Apache-2.0
#include "container/bundle.h"

#include "fuzz.h"

namespace spur::container {

SPUR_FUZZ(
    bundle,
    R"({"ociVersion":"1.0","root":{"path":"r","readonly":true},"hostname":"h","process":{"args":["a"],"env":["A=1"],"cwd":"/"},"mounts":[{"destination":"/d","type":"bind","source":"s","options":["ro","rbind"]},{"destination":"/t","type":"tmpfs","options":["size=1m"]}],"linux":{"maskedPaths":["/m"],"readonlyPaths":["/r"]}})",
    R"({"ociVersion":"1.0","root":{"path":"/r"},"hooks":{"prestart":[]}})") {
  const auto bundle = parse_bundle(input, "/bundle");
  if (!bundle) return fuzz::check_message(bundle.error());
  SPUR_CHECK(!bundle->root.empty());
  for (const auto& mount : bundle->mounts) {
    SPUR_CHECK(mount.target.starts_with('/') && mount.target != "/");
    SPUR_CHECK(mount.source.empty() || mount.source.starts_with('/'));
  }
}

}  // namespace spur::container
