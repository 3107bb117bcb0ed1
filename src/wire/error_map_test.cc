// SPDX-License-Identifier: Apache-2.0
#include "wire/error_map.h"

#include <gtest/gtest.h>

#include <string>

namespace spur::wire {
namespace {

TEST(ErrorMap, EveryCodeHasAFailingStatusAndTravelsByNumber) {
  for (unsigned n = 0; n <= static_cast<unsigned>(kLastErrorCode); ++n) {
    const auto code = static_cast<ErrorCode>(n);
    const int status = grpc_status_of(code);
    EXPECT_GT(status, kGrpcOk) << n;
    EXPECT_LE(status, kGrpcUnauthenticated) << n;
    EXPECT_EQ(parse_error_number(std::to_string(n)), code);
  }
}

TEST(ErrorMap, GeneralCodesComeBackFromTheStatusAlone) {
  for (auto code : {ErrorCode::Internal, ErrorCode::InvalidArgument, ErrorCode::NotSupported, ErrorCode::NotFound,
                    ErrorCode::PermissionDenied, ErrorCode::Unauthenticated, ErrorCode::Unreachable,
                    ErrorCode::TimedOut, ErrorCode::Corrupt, ErrorCode::AlreadyExists})
    EXPECT_EQ(error_code_of(grpc_status_of(code)), code);
  for (int status : {-1, 1, 2, 10, 17, 99}) EXPECT_EQ(error_code_of(status), ErrorCode::Internal) << status;
}

TEST(ErrorMap, NumbersWeDoNotKnowAreNotTaken) {
  for (const char* text : {"", "x", "1x", "-1", " 1", "99999", "4294967296"})
    EXPECT_FALSE(parse_error_number(text)) << text;
}

}  // namespace
}  // namespace spur::wire
