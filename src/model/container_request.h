// SPDX-License-Identifier: Apache-2.0
// The container that a batch script or the tasks of a step run in, as asked for by the --container... options
// (docs/containers.md). What the words mean is for the node to find out: images and paths are looked up there, with
// the user's rights.
#pragma once

#include <string>
#include <vector>

namespace spur::model {

struct ContainerRequest {
  std::string image;   // a name in an image store, or a path
  std::string bundle;  // --container: directory of an OCI bundle, instead of an image
  std::string name;    // files are kept for further steps of the job under this name
  std::string workdir;
  std::vector<std::string> mounts;       // as text/mount_spec.h writes them
  std::vector<std::string> environment;  // NAME: the job's value wins over the image's; NAME=VALUE
  bool readonly = false, mount_home = false, entrypoint = false, remap_root = false;

  bool wanted() const { return !image.empty() || !bundle.empty() || !name.empty(); }
  friend bool operator==(const ContainerRequest&, const ContainerRequest&) = default;
};

}  // namespace spur::model
