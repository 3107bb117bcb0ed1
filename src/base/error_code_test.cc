// SPDX-License-Identifier: Apache-2.0
#include "base/error_code.h"

#include <cerrno>
#include <set>
#include <string>

#include <gtest/gtest.h>

namespace spur {
namespace {

constexpr auto kFirst = static_cast<std::uint16_t>(ErrorCode::Internal);
constexpr auto kLast = static_cast<std::uint16_t>(kLastErrorCode);

TEST(ErrorCode, EveryCodeHasANumberASentenceAndItsOwnName) {
  std::set<std::string_view> names;
  for (std::uint16_t i = kFirst; i <= kLast; ++i) {
    const auto code = static_cast<ErrorCode>(i);
    EXPECT_GT(slurm_errno(code), 0) << i;
    EXPECT_FALSE(slurm_message(code).empty()) << i;
    EXPECT_NE(slurm_message(code).back(), '.') << i;
    EXPECT_TRUE(names.insert(name_of(code)).second) << name_of(code);
  }
}

// What clients were seen to depend on: the number on the wire and the sentence on stderr.
TEST(ErrorCode, SpeaksAsSlurm2505Does) {
  const struct {
    ErrorCode code;
    int number;
    const char* message;
  } rows[] = {
      {ErrorCode::InvalidPartition, 2000, "Invalid partition name specified"},
      {ErrorCode::PermissionDenied, 2002, "Access/permission denied"},
      {ErrorCode::PartitionGroupDenied, 2003, "User's group not permitted to use this partition"},
      {ErrorCode::StepTooLarge, 2005, "More processors requested than permitted"},
      {ErrorCode::InvalidUser, 2010, "Invalid user id"},
      {ErrorCode::NodeConfigUnavailable, 2014, "Requested node configuration is not available"},
      {ErrorCode::PartitionConfigUnavailable, 2015, "Requested partition configuration not available now"},
      {ErrorCode::NodesBusy, 2016, "Requested nodes are busy"},
      {ErrorCode::InvalidJobId, 2017, "Invalid job id specified"},
      {ErrorCode::InvalidNode, 2018, "Invalid node name specified"},
      {ErrorCode::JobAlreadyDone, 2021, "Job/step already completing or completed"},
      {ErrorCode::JobPending, 2024, "Job is pending execution"},
      {ErrorCode::InvalidFeature, 2029, "Invalid feature specification"},
      {ErrorCode::NotSupported, 2036, "Requested operation not supported on this system"},
      {ErrorCode::InvalidDependency, 2038, "Job dependency problem"},
      {ErrorCode::InvalidLicense, 2048, "Invalid license specification"},
      {ErrorCode::InvalidTimeLimit, 2051, "Requested time limit is invalid (missing or exceeds some limit)"},
      {ErrorCode::InvalidReservation, 2053, "Requested reservation is invalid"},
      {ErrorCode::ReservationDenied, 2052, "Access denied to requested reservation"},
      {ErrorCode::ReservationBusy, 2055, "Requested reservation is in use"},
      {ErrorCode::ReservationOverlap, 2058, "Requested reservation overlaps with another reservation"},
      {ErrorCode::PartitionUnavailable, 2070, "Required partition not available (inactive or drain)"},
      {ErrorCode::CircularDependency, 2071, "Circular job dependency"},
      {ErrorCode::InvalidGres, 2072, "Invalid generic resource (gres) specification"},
      {ErrorCode::InvalidArray, 2081, "Invalid job array specification"},
      {ErrorCode::InvalidNice, 2123, "Invalid --nice value"},
      {ErrorCode::TimedOut, 5004, "Socket timed out on send/recv operation"},
      {ErrorCode::Unreachable, 1800, "Unable to contact slurm controller (connect failure)"},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(slurm_errno(row.code), row.number) << name_of(row.code);
    EXPECT_EQ(slurm_message(row.code), row.message) << name_of(row.code);
  }
}

TEST(ErrorCodeDeathTest, ANumberThatIsNoCodeIsABug) {
  EXPECT_DEATH(slurm_errno(static_cast<ErrorCode>(kLast + 1)), "no ErrorCode");
}

}  // namespace
}  // namespace spur
