// SPDX-License-Identifier: Apache-2.0
// The file format is SQLite's (https://www.sqlite.org/fileformat2.html, part 4): a header of 32 bytes, then frames of
// a 24-byte header and one page. All numbers are big-endian. A frame's checksum continues the one before it.
#include "os/sqlite_wal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <span>
#include <vector>

#include "os/files.h"
#include "os/unique_fd.h"

namespace spur::os {
namespace {

constexpr std::size_t kWalHeaderBytes = 32, kFrameHeaderBytes = 24;
constexpr std::uint32_t kWalMagic = 0x377f0682;  // the lowest bit: checksums read big-endian words

using Bytes = std::span<const unsigned char>;

std::uint32_t big_endian(Bytes bytes, std::size_t at) {
  return std::uint32_t{bytes[at]} << 24 | std::uint32_t{bytes[at + 1]} << 16 | std::uint32_t{bytes[at + 2]} << 8 |
         std::uint32_t{bytes[at + 3]};
}

struct Checksum {
  std::uint32_t first = 0, second = 0;
  friend bool operator==(const Checksum&, const Checksum&) = default;

  void add(Bytes bytes, bool big) {
    for (std::size_t at = 0; at + 8 <= bytes.size(); at += 8) {
      std::uint32_t a = big_endian(bytes, at), b = big_endian(bytes, at + 4);
      if (!big) a = __builtin_bswap32(a), b = __builtin_bswap32(b);
      first += a + second;
      second += b + first;
    }
  }
  static Checksum stored(Bytes bytes, std::size_t at) { return {big_endian(bytes, at), big_endian(bytes, at + 4)}; }
};

// Fewer bytes than asked for only at the end of the file.
Result<std::size_t> read_fully(int fd, std::span<unsigned char> into, const std::string& path) {
  std::size_t have = 0;
  while (have < into.size()) {
    const ssize_t n = ::read(fd, into.data() + have, into.size() - have);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno(fmt::format("cannot read {}", path), errno);
    if (n == 0) break;
    have += static_cast<std::size_t>(n);
  }
  return have;
}

class Scan {
 public:
  Scan(Bytes header)
      : big_((big_endian(header, 0) & 1) != 0),
        salts_(Checksum::stored(header, 16)),
        expected_(Checksum::stored(header, 24)),
        previous_(expected_) {}

  // One frame after the other, each with the whole of its page.
  void frame(Bytes bytes) {
    position_ += bytes.size();
    const bool same_generation = Checksum::stored(bytes, 8) == salts_;
    const bool commits = big_endian(bytes, 4) != 0;
    const Checksum stored = Checksum::stored(bytes, 16);
    // Follows the frame before it, be that one good or not.
    const bool follows = same_generation && sum_of(bytes, previous_) == stored;
    if (!broken_ && !(follows && previous_ == expected_)) broken_ = true;
    if (!broken_) {
      expected_ = stored;
      if (commits) report_.whole_bytes = position_;
    } else if (follows) {
      // The transaction with the broken frame may be the one that a crash cut short. Anything after its end was
      // written only once it had been synced.
      if (commit_behind_break_) report_.damaged = true;
      commit_behind_break_ = commit_behind_break_ || commits;
    }
    if (same_generation) last_of_generation_ = position_;
    previous_ = stored;
  }

  WalReport finish(std::uint64_t trailing_bytes) {
    const std::uint64_t whole = std::max<std::uint64_t>(report_.whole_bytes, kWalHeaderBytes);
    // A piece of a frame at the end belongs to this generation unless older frames lie before it.
    const bool all_ours = last_of_generation_ == position_;
    const std::uint64_t end = last_of_generation_ + (all_ours ? trailing_bytes : 0);
    report_.dropped_bytes = end > whole ? end - whole : 0;
    return report_;
  }

 private:
  Checksum sum_of(Bytes frame, Checksum seed) const {
    seed.add(frame.first(8), big_);
    seed.add(frame.subspan(kFrameHeaderBytes), big_);
    return seed;
  }

  bool big_;
  Checksum salts_, expected_, previous_;
  bool broken_ = false, commit_behind_break_ = false;
  std::uint64_t position_ = kWalHeaderBytes, last_of_generation_ = kWalHeaderBytes;
  WalReport report_;
};

bool header_is_good(Bytes header) {
  if ((big_endian(header, 0) & ~1u) != kWalMagic) return false;
  Checksum sum;
  sum.add(header.first(24), (big_endian(header, 0) & 1) != 0);
  return sum == Checksum::stored(header, 24);
}

}  // namespace

Result<WalReport> examine_wal(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd) {
    if (errno == ENOENT) return WalReport{};
    return fail_errno(fmt::format("cannot open {}", path), errno);
  }
  std::array<unsigned char, kWalHeaderBytes> header{};
  SPUR_ASSIGN(const std::size_t got, read_fully(fd.get(), header, path));
  if (got == 0) return WalReport{};
  // A header cut short: the generation before it is whole in the database, this one had not begun.
  if (got < header.size() || !header_is_good(header)) return WalReport{.dropped_bytes = got};
  const std::uint32_t page_bytes = big_endian(header, 8);
  if (page_bytes < 512 || page_bytes > 65536) return WalReport{.dropped_bytes = got};

  Scan scan(header);
  std::vector<unsigned char> frame(kFrameHeaderBytes + page_bytes);
  for (;;) {
    SPUR_ASSIGN(const std::size_t bytes, read_fully(fd.get(), frame, path));
    if (bytes < frame.size()) return scan.finish(bytes);
    scan.frame(frame);
  }
}

}  // namespace spur::os
