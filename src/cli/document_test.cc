// SPDX-License-Identifier: Apache-2.0
#include "cli/document.h"

#include <gtest/gtest.h>

#include <set>

#include "cli/api_documents.h"

namespace spur::cli {
namespace {

std::string sample(DocumentStyle::Kind kind) {
  Document document({.kind = kind});
  document.open_array("rows");
  document.open_object().field("name", "a \"b\"\n").field("n", 3).open_array("none").close_array().close_object();
  document.open_object().close_object();
  document.field({}, "word");
  document.close_array();
  document.number("limit", std::nullopt, true).open_object("empty").close_object();
  return std::move(document).finish();
}

TEST(Document, Json) {
  EXPECT_EQ(sample(DocumentStyle::Kind::Json), R"({
  "rows": [
    {
      "name": "a \"b\"\n",
      "n": 3,
      "none": []
    },
    {},
    "word"
  ],
  "limit": {
    "set": false,
    "infinite": true,
    "number": 0
  },
  "empty": {}
}
)");
}

TEST(Document, Yaml) {
  EXPECT_EQ(sample(DocumentStyle::Kind::Yaml), R"(---
"rows": 
  - "name": "a \"b\"\n"
    "n": 3
    "none": []
  - {}
  - "word"
"limit": 
  "set": false
  "infinite": true
  "number": 0
"empty": {}
)");
}

TEST(Document, Versions) {
  using Kind = DocumentStyle::Kind;
  EXPECT_EQ(parse_document_style(Kind::Json, "")->version, 42);
  EXPECT_EQ(parse_document_style(Kind::Json, "v0.0.44")->version, 44);
  EXPECT_EQ(parse_document_style(Kind::Yaml, "data_parser/v0.0.40")->version, 40);
  EXPECT_TRUE(parse_document_style(Kind::Json, "list")->list);
  for (const char* bad : {"v0.0.39", "v0.0.99", "42", "v0.0.42+", "\xff"})
    EXPECT_FALSE(parse_document_style(Kind::Json, bad)) << bad;
}

// A path that comes back after another object would be written twice.
template <class Object>
void check_table(std::span<const ApiField<Object>> fields) {
  for (int version = 40; version <= 44; ++version) {
    std::set<std::string> seen, left;
    std::string open;
    for (const auto& field : fields) {
      if (version < field.from || version > field.until) continue;
      EXPECT_TRUE(seen.insert(field.path).second) << field.path;
      const std::string path(field.path);
      const std::string head = path.substr(0, path.find('.'));
      if (head != open) {
        EXPECT_FALSE(left.contains(head)) << field.path << " is apart from the others of " << head;
        left.insert(open);
      }
      open = head;
    }
  }
}

TEST(ApiTables, HaveEveryFieldOnce) {
  check_table(job_fields());
  check_table(node_fields());
  check_table(partition_fields());
  check_table(reservation_fields());
  check_table(statistics_fields());
  check_table(sinfo_fields());
  check_table(step_fields());
  check_table(license_fields());
  check_table(ping_fields());
}

}  // namespace
}  // namespace spur::cli
