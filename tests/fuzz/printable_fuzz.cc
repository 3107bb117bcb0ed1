// SPDX-License-Identifier: Apache-2.0
#include "text/printable.h"

#include "fuzz.h"

namespace spur::text {

SPUR_FUZZ(printable, "plain", "\x1b[31mred\n", "\xc3\xa4\xf0\x9f\x9a\x80", "\xff\xc0\xaf", "quote\"back\\slash") {
  const std::string text = printable(input);
  SPUR_CHECK(printable(text) == text);
  for (const char c : text) SPUR_CHECK(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f);
  SPUR_CHECK(shown(input, 40).size() <= 40 + 16 + 3);
  for (const char c : json_escape(input)) SPUR_CHECK(static_cast<unsigned char>(c) >= 0x20);
}

}  // namespace spur::text
