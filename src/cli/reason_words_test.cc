// SPDX-License-Identifier: Apache-2.0
#include "cli/reason_words.h"

#include <gtest/gtest.h>

#include <set>

namespace spur::cli {
namespace {

using model::Reason;

TEST(ReasonWords, EveryReasonHasItsOwn) {
  std::set<std::string> seen;
  const auto check = [&](int number) {
    const auto reason = static_cast<Reason>(number);
    const std::string words = reason_words(reason);
    EXPECT_FALSE(words.empty()) << "no words for " << model::reason_name(reason) << " (" << number << ")";
    EXPECT_EQ(words.find("{}"), std::string::npos) << words;
    EXPECT_TRUE(seen.insert(words).second) << "twice: " << words;
  };
  int known = 0;
  for (int i = 0; i < static_cast<int>(Reason::FirstTresLimit); ++i) {
    if (i > 0 && model::reason_name(static_cast<Reason>(i)) == "None") continue;  // there is no such reason
    check(i);
    ++known;
  }
  EXPECT_GE(known, 55);
  for (int i = static_cast<int>(Reason::FirstTresLimit); i <= static_cast<int>(Reason::LastTresLimit); ++i) check(i);
}

TEST(ReasonWords, Examples) {
  EXPECT_EQ(reason_words(Reason::Resources), "waits for free resources");
  EXPECT_EQ(reason_words(model::tres_reason(model::LimitOn::QosMaxPerUser, model::TresKind::Gres)),
            "the user has as many GPUs or other devices in use as the QOS allows");
  EXPECT_EQ(reason_words(model::tres_reason(model::LimitOn::AssocGrp, model::TresKind::Memory)),
            "the account has as much memory in use as it may have");
}

TEST(ReasonWords, FromNow) {
  const Time now = from_unix_seconds(1'800'000'000);
  const auto in = [&](int span) { return from_now(now + seconds(span), now); };
  EXPECT_EQ(in(-5), "now");
  EXPECT_EQ(in(59), "in 59 s");
  EXPECT_EQ(in(61), "in 2 min");
  EXPECT_EQ(in(3 * 3600), "in 3 h");
  EXPECT_EQ(in(3 * 86400), "in 3 days");
}

TEST(ReasonWords, OfAJob) {
  const Time now = from_unix_seconds(1'800'000'000);
  model::Job job;
  job.spec = std::make_shared<const model::JobSpec>();
  job.reason = Reason::Priority;
  EXPECT_EQ(why_words(job, now + seconds(600), now), "others come first, starts in 10 min");
  EXPECT_EQ(why_words(job, Time{}, now), "others come first");
  job.reason_detail = "n1 is away";
  EXPECT_EQ(why_words(job, Time{}, now), "others come first (n1 is away)");
  job.state = model::JobState::Running;
  EXPECT_EQ(why_words(job, Time{}, now), "");
}

}  // namespace
}  // namespace spur::cli
