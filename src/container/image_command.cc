// SPDX-License-Identifier: Apache-2.0
#include "container/image_command.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <optional>

#include "container/image_source.h"
#include "text/mount_spec.h"
#include "text/printable.h"

namespace spur::container {
namespace {

constexpr std::string_view kHelp =
    "Usage: spur image import SOURCE [--name=NAME]\n"
    "       spur image list [--json]\n"
    "       spur image remove NAME...\n"
    "\n"
    "SOURCE is a path: an OCI layout, a docker or OCI archive (tar), or a squashfs file. Of several images in one,\n"
    "oci:PATH:TAG, docker-archive:PATH:TAG and oci-archive:PATH:TAG say which.\n"
    "\n"
    "  --name=NAME    what to call the image; default: as it calls itself, or as its file is called\n"
    "  --json         for programs\n"
    "\n"
    "Images are kept in $SPUR_IMAGE_DIR; else root's in the site's directory (containers.image_dir), which jobs of "
    "all\n"
    "users see, and everybody else's in ~/.spur/images.\n";

struct Stores {
  std::string own;                // where import and remove work
  std::vector<std::string> seen;  // where list looks
};

Stores find_stores(const std::string& site) {
  Stores out;
  const char* given = std::getenv("SPUR_IMAGE_DIR");
  const char* home = std::getenv("HOME");
  const std::string mine = home != nullptr && *home == '/' ? std::string(home) + "/.spur/images" : "";
  if (given != nullptr && *given != '\0') {
    char* full = ::realpath(given, nullptr);
    out.own = full != nullptr ? full : given;
    std::free(full);
  } else {
    out.own = ::geteuid() == 0 ? site : mine;
  }
  for (const std::string& path : {out.own, mine, site})
    if (!path.empty() && std::ranges::find(out.seen, path) == out.seen.end()) out.seen.push_back(path);
  return out;
}

int complain(const std::string& text) {
  fmt::print(stderr, "spur image: error: {}\n", text::printable(text));
  return 1;
}

// "/x/ubuntu.tar.gz": ubuntu
std::string name_of_path(std::string path) {
  while (path.ends_with('/')) path.pop_back();
  path = path.substr(path.rfind('/') + 1);
  for (const std::string_view ending : {".gz", ".zst", ".xz", ".bz2", ".tar", ".tgz", ".sqsh", ".squashfs", ".oci"})
    if (path.ends_with(ending) && path.size() > ending.size()) path.resize(path.size() - ending.size());
  return path;
}

int import(const Stores& stores, std::string source, std::optional<std::string> name) {
  if (stores.own.empty()) return complain("there is no place for images: neither SPUR_IMAGE_DIR nor HOME is set");
  if (source.find('/') == std::string::npos && source.find(':') == std::string::npos) source = "./" + source;
  const auto given = parse_reference(source);
  if (!given) return complain(given.error().message);
  if (given->kind == ImageReference::Kind::Name)
    return complain(
        fmt::format("{}: no path; images are not pulled from registries: save it with \"docker save\" or "
                    "\"skopeo copy ... oci:DIRECTORY\", and import that",
                    source));
  auto reference = look_at(*given);
  if (!reference) return complain(reference.error().message);
  if (char* full = ::realpath(reference->path.c_str(), nullptr)) {
    reference->path = full;
    std::free(full);
  }
  auto store = ImageStore::create(stores.own);
  if (!store) return complain(store.error().message);
  std::vector<std::string> tags;
  const auto image = import_image(*store, *reference, {.limits = {}, .shared = ::geteuid() == 0}, &tags);
  if (!image) return complain(image.error().message);
  std::erase_if(tags, [](const std::string& tag) { return !is_image_name(tag); });
  // A tag alone ("latest") says nothing of what it is a tag of.
  if (!name && !tags.empty() && tags.front().find(':') != std::string::npos) name = tags.front();
  if (!name)
    name = name_of_path(reference->path) + (tags.empty() || tags.front() == "latest" ? "" : ":" + tags.front());
  if (auto named = store->give_name(*name, image->digest); !named) return complain(named.error().message);
  fmt::print("{} {}\n", *name, image->digest);
  return 0;
}

std::string json_list(const std::vector<std::string>& texts) {
  std::string out;
  for (const auto& one : texts) out += fmt::format("{}\"{}\"", out.empty() ? "" : ", ", text::json_escape(one));
  return "[" + out + "]";
}

int list(const Stores& stores, bool json) {
  std::string out;
  if (!json) fmt::print("{:<32} {:<19} {:<19} {}\n", "NAME", "DIGEST", "IMPORTED", "STORE");
  for (const std::string& path : stores.seen) {
    const auto store = ImageStore::open(path);
    if (!store) continue;
    for (const StoredImage& image : store->list()) {
      const std::time_t when = static_cast<std::time_t>(image.imported);
      if (json) {
        out += fmt::format(
            "{}    {{\"names\": {}, \"digest\": \"{}\", \"imported\": {}, \"source\": \"{}\", \"store\": \"{}\"}}",
            out.empty() ? "" : ",\n", json_list(image.names), image.digest, when, text::json_escape(image.source),
            text::json_escape(path));
        continue;
      }
      fmt::print("{:<32} {:<19} {:%Y-%m-%dT%H:%M:%S} {}\n",
                 image.names.empty() ? "-" : fmt::format("{}", fmt::join(image.names, ",")),
                 image.digest.substr(0, 19), fmt::localtime(when), text::printable(path));
    }
  }
  if (json) fmt::print("{{\n  \"images\": [{}{}{}]\n}}\n", out.empty() ? "" : "\n", out, out.empty() ? "" : "\n  ");
  return 0;
}

int remove(const Stores& stores, const std::vector<std::string>& names) {
  int status = 0;
  auto store = ImageStore::open(stores.own);
  for (const std::string& name : names) {
    if (!store) {
      status = complain(fmt::format("no image {} in {}", text::shown(name), stores.own));
    } else if (auto removed = store->remove(name); !removed) {
      status = complain(removed.error().message);
    }
  }
  return status;
}

}  // namespace

int image_command(const std::vector<std::string>& words) {
  std::string site = "/var/spool/spur/images";
  std::optional<std::string> name;
  bool json = false;
  std::vector<std::string> rest;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--help" || word == "-h" || (rest.empty() && word == "help")) {
      fmt::print("{}", kHelp);
      return 0;
    }
    if (word.starts_with("--site=")) {
      site = word.substr(7);
    } else if (word.starts_with("--name=")) {
      name = word.substr(7);
    } else if ((word == "--name" || word == "-n") && i + 1 < words.size()) {
      name = words[++i];
    } else if (word == "--json") {
      json = true;
    } else if (word.starts_with('-') && word.size() > 1) {
      return complain(fmt::format("unrecognized option '{}'; \"spur image --help\" lists them", word));
    } else {
      rest.push_back(word);
    }
  }
  const Stores stores = find_stores(site);
  const std::string verb = rest.empty() ? "" : rest.front();
  if (!rest.empty()) rest.erase(rest.begin());
  if (verb == "import" && rest.size() == 1) return import(stores, rest.front(), name);
  if (verb == "list" && rest.empty()) return list(stores, json);
  if ((verb == "remove" || verb == "rm") && !rest.empty()) return remove(stores, rest);
  if (verb == "export" || verb == "pull") return complain(fmt::format("\"{}\" is not supported yet", verb));
  fmt::print(stderr, "{}", kHelp);
  return 1;
}

}  // namespace spur::container
