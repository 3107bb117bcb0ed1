// SPDX-License-Identifier: Apache-2.0
#include "cli/json.h"

#include "cli/context.h"

namespace spur::cli {

void add_meta(Json& json, std::string_view cluster, std::string_view program) {
  json.open_object("meta");
  json.open_object("plugin")
      .field("type", "")
      .field("name", "")
      .field("data_parser", "data_parser/v0.0.42")
      .field("accounting_storage", "")
      .close_object();
  json.open_object("client").field("source", "").field("user", "").field("group", "").close_object();
  json.open_array("command").item(program).close_array();
  json.open_object("slurm");
  json.open_object("version").field("major", "25").field("micro", "0").field("minor", "05").close_object();
  json.field("release", kSlurmVersion).field("cluster", cluster);
  json.close_object();
  json.close_object();
}

void add_no_errors(Json& json) {
  json.open_array("errors").close_array();
  json.open_array("warnings").close_array();
}

}  // namespace spur::cli
