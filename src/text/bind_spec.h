// SPDX-License-Identifier: Apache-2.0
// --cpu-bind, --mem-bind and --gpu-bind: how they are written.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace spur::text {

struct CpuBind {
  enum class Kind : std::uint8_t {
    Auto,
    None,
    Rank,
    MapCpu,
    MaskCpu,
    RankLdom,
    MapLdom,
    MaskLdom,
    Sockets,
    Cores,
    Threads,
    Ldoms
  };
  Kind kind = Kind::Auto;
  bool verbose = false;
  std::vector<std::string> list{};  // of Map* and Mask*, repetitions written out; masks without 0x
  friend bool operator==(const CpuBind&, const CpuBind&) = default;
};

struct MemBind {
  enum class Kind : std::uint8_t { Unset, None, Rank, Local, MapMem, MaskMem };
  Kind kind = Kind::Unset;
  bool verbose = false, prefer = false;
  std::vector<std::string> list{};
  bool sort = false;  // pages at the start; told to the task alone, whose runtime may do it
  friend bool operator==(const MemBind&, const MemBind&) = default;
};

struct GpuBind {
  enum class Kind : std::uint8_t { Unset, None, Closest, Single, PerTask, MapGpu, MaskGpu };
  Kind kind = Kind::Unset;
  bool verbose = false;
  std::uint32_t count = 0;  // Single: tasks of each GPU; PerTask: GPUs of each task
  std::vector<std::string> list{};
  friend bool operator==(const GpuBind&, const GpuBind&) = default;
};

// The error is what srun says, without "srun: error: ".
std::expected<CpuBind, std::string> parse_cpu_bind(std::string_view text);
std::expected<MemBind, std::string> parse_mem_bind(std::string_view text);
std::expected<GpuBind, std::string> parse_gpu_bind(std::string_view text);

// As SLURM_CPU_BIND_TYPE and SLURM_MEM_BIND_TYPE have it: "mask_cpu:", "rank"; empty for Auto and Unset.
std::string_view type_text(CpuBind::Kind kind);
std::string_view type_text(MemBind::Kind kind);

// The bits of a mask in hexadecimal, lowest first; ascending. Nothing if it is none.
std::vector<std::uint32_t> mask_bits(std::string_view hex);
std::string mask_text(const std::vector<std::uint32_t>& bits);  // "0x3"

}  // namespace spur::text
