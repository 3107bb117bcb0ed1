// SPDX-License-Identifier: Apache-2.0
#include "text/mount_spec.h"

#include "fuzz.h"

namespace spur::text {

SPUR_FUZZ(mount_spec, "/data:/mnt:ro", "/a,/b:/c:rw+nodev", "tmpfs:/x", "./rel:/y/../z", "/a:/b:bind+noexec+nosuid") {
  const auto mounts = parse_mounts(input, "/home/u");
  if (!mounts) return fuzz::check_message(mounts.error());
  for (const MountSpec& mount : *mounts) {
    SPUR_CHECK(mount.target.starts_with('/') && mount.target != "/");
    SPUR_CHECK(mount.source.empty() || mount.source.starts_with('/'));
    SPUR_CHECK((mount.target + "/").find("/../") == std::string::npos);
    const auto again = parse_mount(mount_text(mount), "");
    SPUR_CHECK(again && *again == mount);
  }
}

}  // namespace spur::text
