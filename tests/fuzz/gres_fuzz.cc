// SPDX-License-Identifier: Apache-2.0
#include "text/gres.h"

#include "fuzz.h"

namespace spur::text {

SPUR_FUZZ(gres, "gpu:mi300x:8", "gpu:a100:2,shard:4", "none", "gres/gpu=2", "gpu:mi300x:8(S:0-1)",
          "gpu:8(IDX:0,2-7),x:1K", "bw:no_consume:4G", "mi300x:2", "2") {
  if (const auto items = parse_gres_request(input)) {
    SPUR_CHECK(parse_gres_request(format_gres(*items)) == *items);
  } else {
    fuzz::check_message(items.error());
  }
  if (const auto items = parse_gpu_request(input)) {
    SPUR_CHECK(parse_gres_request(format_gres(*items)) == *items);
  } else {
    fuzz::check_message(items.error());
  }
  if (const auto declarations = parse_gres_declaration(input)) {
    std::string text;
    for (const auto& d : *declarations) text.append(text.empty() ? "" : ",").append(format_gres(d));
    SPUR_CHECK(parse_gres_declaration(text) == *declarations);
  } else {
    fuzz::check_message(declarations.error());
  }
}

}  // namespace spur::text
