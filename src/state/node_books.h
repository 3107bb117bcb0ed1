// SPDX-License-Identifier: Apache-2.0
// The books of one node: which CPUs, devices and memory are given out. Only these functions write the sums and
// bitmaps of model::Node, so that they stay equal to what the jobs' allocations add up to.
//
// A suspended job gives its CPUs back and keeps memory and devices, as in Slurm: its processes are stopped, but what
// they have loaded is still there.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "model/allocation.h"
#include "model/node.h"

namespace spur::state {

// Device numbers above this are refused: a gres without device files may be counted in billions, and has no bitmap.
inline constexpr std::uint64_t kMaxDevices = 65'536;

// CPUs by number. Where several jobs share cores, a CPU is in use as long as one of them has it, and counted once.
using CpuBits = std::vector<std::uint64_t>;

// Makes the bitmaps as large as the hardware needs, without losing a bit. Call after `hardware` changed.
void fit_books(model::Node& node);

// Whether CPUs (`cpus`), memory if it counts, and devices of the grant are there and free. `shareable`: CPUs that the job
// may have although others do.
Status can_take(const model::Node& node, const model::NodeGrant& grant, bool memory_counts,
                const CpuBits& shareable = {});
Status can_take_cpus(const model::Node& node, const model::NodeGrant& grant, const CpuBits& shareable = {});

// `alone`: the job holds the node for itself. Preconditions: can_take.
void take(model::Node& node, const model::NodeGrant& grant, JobId job, bool alone, const CpuBits& shareable = {});
// `holds_cpus` is false for a suspended job, `completing` tells whether it was counted in jobs_completing. `kept`: CPUs
// that others have as well.
void give_back(model::Node& node, const model::NodeGrant& grant, JobId job, bool holds_cpus, bool completing,
               const CpuBits& kept = {});

void take_cpus(model::Node& node, const model::NodeGrant& grant, bool alone, const CpuBits& shareable = {});
void give_back_cpus(model::Node& node, const model::NodeGrant& grant, const CpuBits& kept = {});

// Of one gres name, over all types.
std::uint64_t device_count(const model::Node& node, const std::string& gres);

}  // namespace spur::state
