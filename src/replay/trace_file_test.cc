// SPDX-License-Identifier: Apache-2.0
#include "replay/trace_file.h"

#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace spur::replay {
namespace {

namespace fs = std::filesystem;

class TraceFile : public testing::Test {
 protected:
  TraceFile() {
    std::string name = (fs::temp_directory_path() / "spur-trace-XXXXXX").string();
    directory_ = ::mkdtemp(name.data());
  }
  ~TraceFile() override { fs::remove_all(directory_); }

  std::string plain(const std::string& content) {
    const std::string path = directory_ / "plain";
    std::ofstream(path) << content;
    return path;
  }
  std::string packed(const std::string& content) {
    const std::string path = directory_ / "packed.gz";
    const gzFile file = ::gzopen(path.c_str(), "wb");
    ::gzwrite(file, content.data(), static_cast<unsigned>(content.size()));
    ::gzclose(file);
    return path;
  }

  fs::path directory_;
};

TEST_F(TraceFile, ReadsPlainAndPackedAlike) {
  const std::string content(3'000'000, 'x');
  EXPECT_EQ(read_trace_file(plain(content)), content);
  EXPECT_EQ(read_trace_file(packed(content)), content);
  EXPECT_EQ(read_trace_file(plain("")), "");
}

TEST_F(TraceFile, RefusesWhatIsCutOff) {
  std::string content;
  for (int i = 0; i < 100'000; ++i) content += std::to_string(i * 7919 % 10'007);
  const std::string path = packed(content);
  fs::resize_file(path, fs::file_size(path) / 2);
  const auto read = read_trace_file(path);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::Corrupt);
}

TEST_F(TraceFile, RefusesWhatIsTooLarge) {
  EXPECT_FALSE(read_trace_file(packed(std::string(5'000'000, ' ')), 1'000'000));
}

TEST_F(TraceFile, SaysWhatIsMissing) {
  const auto read = read_trace_file((directory_ / "none").string());
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message.find("No such file"), std::string::npos);
  EXPECT_FALSE(read_trace_file(directory_.string()));
}

}  // namespace
}  // namespace spur::replay
