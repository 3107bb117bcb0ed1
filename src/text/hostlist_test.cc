// SPDX-License-Identifier: Apache-2.0
#include "text/hostlist.h"

#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace spur::text {
namespace {

using Names = std::vector<std::string>;

TEST(Hostlist, ExpandsSlurmsGrammar) {
  const struct {
    const char* list;
    Names hosts;
  } rows[] = {
      {"", {}},
      {" , ,", {}},
      {"n1", {"n1"}},
      {"n[1-4,7]", {"n1", "n2", "n3", "n4", "n7"}},
      {"n[08-11]", {"n08", "n09", "n10", "n11"}},
      {"n[001-3]", {"n001", "n002", "n003"}},
      {"n[1-010]", {"n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8", "n9", "n10"}},
      {"n[98-101]", {"n98", "n99", "n100", "n101"}},
      {"r[1-2]n[01-02]", {"r1n01", "r1n02", "r2n01", "r2n02"}},
      {"a[1-2]b[3-4]c[5-6]", {"a1b3c5", "a1b3c6", "a2b3c5", "a2b3c6", "a1b4c5", "a1b4c6", "a2b4c5", "a2b4c6"}},
      {"n[1-2][3-4]", {"n13", "n14", "n23", "n24"}},
      {"n[0-10:5]", {"n0", "n5", "n10"}},
      {"n[1-6:2,9]", {"n1", "n3", "n5", "n9"}},
      {"n[1-2]-ib0", {"n1-ib0", "n2-ib0"}},
      {"[1-3]", {"1", "2", "3"}},
      {"a,b c\td", {"a", "b", "c", "d"}},
      {",a,,b,", {"a", "b"}},
      {"n1,n1", {"n1", "n1"}},
      {"n1-2", {"n1-2"}},
      {"n[000]", {"n000"}},
      {"n[999999999999999999]", {"n999999999999999999"}},
  };
  for (const auto& row : rows) {
    const auto hosts = expand_hostlist(row.list);
    ASSERT_TRUE(hosts) << row.list << ": " << hosts.error().message;
    EXPECT_EQ(*hosts, row.hosts) << row.list;
    EXPECT_EQ(count_hosts(row.list), row.hosts.size()) << row.list;
  }
}

TEST(Hostlist, RefusesWhatIsNoList) {
  for (const char* list : {"n[",
                           "n]",
                           "n[1",
                           "n1]",
                           "n[]",
                           "n[[1]]",
                           "n[1[2]]",
                           "n[-1]",
                           "n[1-]",
                           "n[a]",
                           "n[1-a]",
                           "n[3-1]",
                           "n[1-2-3]",
                           "n[1,]",
                           "n[,1]",
                           "n[1,,2]",
                           "n[1-5:0]",
                           "n[1-5:]",
                           "n[5:2]",
                           "n[1-5:x]",
                           "n[1;2]",
                           "n[+1]",
                           "n[1 -2]",
                           "a,n[",
                           "n[9999999999999999999]",
                           "n[0-99999999999999999999999]"}) {
    const auto hosts = expand_hostlist(list);
    ASSERT_FALSE(hosts) << list;
    EXPECT_EQ(hosts.error().code, ErrorCode::InvalidArgument) << list;
    EXPECT_NE(hosts.error().message.find(list), std::string::npos) << hosts.error().message;
  }
}

TEST(Hostlist, RefusesTooManyHostsBeforeMakingThem) {
  for (const char* list :
       {"n[0-4294967295]", "n[0-999999999999999999]", "n[0-1000000]", "n[0-999999],n1",
        "n[0-99999][0-99999][0-99999][0-99999][0-99999]", "a[0-999999999999999999][0-999999999999999999]"}) {
    const auto hosts = expand_hostlist(list);
    ASSERT_FALSE(hosts) << list;
    EXPECT_NE(hosts.error().message.find("more than 1000000 hosts"), std::string::npos) << hosts.error().message;
  }
  EXPECT_EQ(count_hosts("n[0-999999]x"), 1'000'000u);
  EXPECT_EQ(expand_hostlist("n[1-5]", 5)->size(), 5u);
  EXPECT_FALSE(expand_hostlist("n[1-5]", 4));
  EXPECT_FALSE(expand_hostlist("n[1-2],n3", 2));
}

TEST(Hostlist, AnErrorOnAHugeListIsStillOneShortSentence) {
  const auto hosts = expand_hostlist(std::string(1'000'000, 'x') + "[");
  ASSERT_FALSE(hosts);
  EXPECT_LT(hosts.error().message.size(), 300u);
  EXPECT_EQ(expand_hostlist("bad\x1b[31m").error().message.find('\x1b'), std::string::npos);
}

TEST(Hostlist, CompressesInTheOrderGiven) {
  const struct {
    Names hosts;
    const char* list;
  } rows[] = {
      {{}, ""},
      {{"n1"}, "n1"},
      {{"login"}, "login"},
      {{"n1", "n2", "n3", "n4", "x7"}, "n[1-4],x7"},
      {{"n1", "n2", "n4"}, "n[1-2,4]"},
      {{"n3", "n1", "n2"}, "n[3,1-2]"},
      {{"n1", "x7", "n2"}, "n1,x7,n2"},
      {{"n1", "n1", "n2"}, "n[1,1-2]"},
      {{"n001", "n002", "n010"}, "n[001-002,010]"},
      {{"n09", "n10", "n11"}, "n[09-11]"},
      {{"n9", "n10", "n11"}, "n[9-11]"},
      {{"n099", "n100"}, "n[099-100]"},
      {{"n99", "n100"}, "n[99-100]"},
      {{"n1", "n02"}, "n[1,02]"},
      {{"n01", "n1", "n001"}, "n[01,1,001]"},
      {{"r1n01", "r1n02", "r2n01"}, "r1n[01-02],r2n01"},
      {{"1", "2", "3"}, "[1-3]"},
      {{"n1-ib0", "n2-ib0"}, "n1-ib0,n2-ib0"},
      {{"a", "b", "a"}, "a,b,a"},
  };
  for (const auto& row : rows) EXPECT_EQ(compress_hostlist(row.hosts), row.list);
}

TEST(Hostlist, SortsNumbersAsNumbers) {
  const struct {
    Names in, out;
  } rows[] = {
      {{"n10", "n9", "n1"}, {"n1", "n9", "n10"}},
      {{"r10n1", "r9n1", "r1n1"}, {"r1n1", "r9n1", "r10n1"}},
      {{"b2", "a1", "b1"}, {"a1", "b1", "b2"}},
      {{"n01", "n1", "n001"}, {"n1", "n01", "n001"}},
      {{"n011", "n02", "n10", "n1"}, {"n1", "n02", "n10", "n011"}},
      {{"ab", "a1", "a"}, {"a", "a1", "ab"}},
      {{"b", "a1", "A1"}, {"A1", "a1", "b"}},
      {{"n2-", "n3"}, {"n3", "n2-"}},
  };
  for (auto row : rows) {
    sort_hosts(row.in);
    EXPECT_EQ(row.in, row.out);
  }
  Names hosts{"n2", "n1", "n2", "n10"};
  sort_unique_hosts(hosts);
  EXPECT_EQ(hosts, (Names{"n1", "n2", "n10"}));
}

// Whatever names come in, the compressed form names the same hosts in the same order.
TEST(Hostlist, CompressedFormExpandsToWhatWentIn) {
  std::mt19937 random(3);
  const auto draw = [&](unsigned below) { return random() % below; };
  for (int round = 0; round < 3000; ++round) {
    Names hosts;
    const unsigned base = draw(120);
    for (unsigned n = draw(12); n > 0; --n) {
      std::string name(1 + draw(2), static_cast<char>('a' + draw(2)));
      if (draw(4) == 0) name += "7x";
      if (draw(6) != 0) {
        std::string digits = std::to_string(base + draw(15));
        if (draw(2) == 0) digits.insert(0, draw(3), '0');
        name += digits;
      }
      hosts.push_back(name);
    }
    const std::string list = compress_hostlist(hosts);
    const auto again = expand_hostlist(list);
    ASSERT_TRUE(again) << list;
    ASSERT_EQ(*again, hosts) << list;
  }
}

TEST(Hostlist, HostLessIsAStrictOrder) {
  const Names hosts{"n1",    "n01",   "n001", "n10", "n2", "n", "n2-", "r9n1",
                    "r10n1", "r09n1", "",     "1",   "01", "9", "a1b"};
  for (const auto& a : hosts) {
    EXPECT_FALSE(host_less(a, a)) << a;
    for (const auto& b : hosts) {
      EXPECT_TRUE(a == b || host_less(a, b) != host_less(b, a)) << a << " " << b;
      for (const auto& c : hosts)
        EXPECT_TRUE(!host_less(a, b) || !host_less(b, c) || host_less(a, c)) << a << " " << b << " " << c;
    }
  }
}

}  // namespace
}  // namespace spur::text
