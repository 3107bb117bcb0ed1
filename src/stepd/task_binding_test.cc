// SPDX-License-Identifier: Apache-2.0
#include "stepd/task_binding.h"

#include <gtest/gtest.h>

#include "model/distribution.h"

namespace spur::stepd {
namespace {

// Two sockets of two cores of two threads; the kernel numbers second threads behind all first ones.
os::CpuMap eight() {
  os::CpuMap map;
  for (std::uint32_t socket = 0; socket < 2; ++socket)
    for (std::uint32_t core = 0; core < 2; ++core)
      for (std::uint32_t thread = 0; thread < 2; ++thread)
        map.cpus.push_back({.os = thread * 4 + socket * 2 + core, .socket = socket, .core = core, .numa = socket});
  return map;
}
os::CpuMap two() {
  return {{{.os = 0, .socket = 0, .core = 0, .numa = 0}, {.os = 1, .socket = 0, .core = 1, .numa = 0}}};
}

// The tasks' masks "0x1 0x2"; "-" for one that is not bound.
std::string masks(const os::CpuMap& map, std::vector<model::CpuNumber> cpus, std::uint32_t tasks,
                  std::uint32_t per_task, const char* bind, const char* distribution = "") {
  BindingSource source{.map = map, .cpus = std::move(cpus), .tasks = tasks, .cpus_per_task = per_task};
  source.cpu = *text::parse_cpu_bind(bind);
  if (*distribution) source.distribution = *model::parse_distribution(distribution, {});
  const auto bound = bind_tasks(source);
  if (!bound) return bound.error().message;
  std::string out;
  for (const auto& task : bound->tasks)
    out += (out.empty() ? "" : " ") + (task.cpus.empty() ? "-" : text::mask_text(task.cpus));
  return out;
}

TEST(TaskBinding, ByItself) {
  EXPECT_EQ(masks(two(), {0, 1}, 1, 1, ""), "0x3");
  EXPECT_EQ(masks(two(), {0, 1}, 2, 1, ""), "0x1 0x2");
  EXPECT_EQ(masks(two(), {0}, 1, 1, ""), "0x1");
  EXPECT_EQ(masks(two(), {0, 1}, 1, 2, ""), "0x3");
  EXPECT_EQ(masks(two(), {0, 1}, 3, 1, ""), "0x3 0x3 0x3");
  EXPECT_EQ(masks(eight(), {0, 1, 2, 3, 4, 5, 6, 7}, 2, 1, ""), "0x33 0xcc") << "a socket each";
  EXPECT_EQ(masks(eight(), {0, 1, 2, 3, 4, 5, 6, 7}, 4, 1, ""), "0x11 0x44 0x22 0x88")
      << "a core each, socket by socket in turn";
  EXPECT_EQ(masks(eight(), {0, 1, 2, 3, 4, 5, 6, 7}, 4, 1, "", "block:block"), "0x11 0x22 0x44 0x88");
  EXPECT_EQ(masks(eight(), {0, 1, 2, 3, 4, 5, 6, 7}, 8, 1, ""), "0x1 0x4 0x2 0x8 0x10 0x40 0x20 0x80");
  EXPECT_EQ(masks(eight(), {0, 1, 2, 3, 4, 5, 6, 7}, 8, 1, "", "block:block:block"),
            "0x1 0x10 0x2 0x20 0x4 0x40 0x8 0x80");
  EXPECT_EQ(masks(eight(), {0, 1, 2, 3, 4, 5, 6, 7}, 4, 2, ""), "0x11 0x44 0x22 0x88");
  EXPECT_EQ(masks(eight(), {0, 1, 2, 3, 4, 5, 6, 7}, 3, 1, ""), "0xff 0xff 0xff");
  EXPECT_EQ(masks(two(), {0, 1, 2, 3}, 4, 1, ""), "- - - -") << "CPUs that are not there";
}

TEST(TaskBinding, AsTold) {
  const std::vector<model::CpuNumber> all{0, 1, 2, 3, 4, 5, 6, 7};
  EXPECT_EQ(masks(eight(), all, 2, 1, "none"), "- -");
  EXPECT_EQ(masks(eight(), all, 2, 1, "rank"), "0x1 0x10");
  EXPECT_EQ(masks(eight(), all, 3, 1, "map_cpu:7,0"), "0x80 0x1 0x80");
  EXPECT_EQ(masks(eight(), all, 2, 1, "mask_cpu:0x3,f0"), "0x3 0xf0");
  EXPECT_EQ(masks(eight(), all, 2, 1, "map_ldom:1,0"), "0xcc 0x33");
  EXPECT_EQ(masks(eight(), all, 2, 1, "mask_ldom:3"), "0xff 0xff");
  EXPECT_EQ(masks(eight(), all, 3, 1, "rank_ldom"), "0x33 0xcc 0x33");
  EXPECT_EQ(masks(eight(), all, 3, 1, "sockets"), "0x33 0xcc 0x33");
  EXPECT_EQ(masks(eight(), all, 3, 1, "cores"), "0x11 0x44 0x22");
  EXPECT_EQ(masks(eight(), all, 3, 1, "threads"), "0x1 0x4 0x2");
  EXPECT_EQ(masks(eight(), all, 3, 1, "ldoms"), "0x33 0xcc 0x33");
  EXPECT_EQ(masks(eight(), all, 2, 2, "threads", "block:fcyclic"), "0x5 0xa");
  EXPECT_EQ(masks(eight(), {0, 1}, 2, 1, "map_cpu:1"),
            "CPU binding outside of job step allocation, allocated CPUs are: 0x11.");
  EXPECT_EQ(masks(two(), {0, 1}, 2, 1, "mask_cpu:ff"),
            "CPU binding outside of job step allocation, allocated CPUs are: 0x3.");
  EXPECT_EQ(masks(two(), {5, 6}, 1, 1, "map_cpu:1"), "0x2");
}

TEST(TaskBinding, IsTold) {
  const auto map = two();
  BindingSource source{.map = map, .cpus = {0, 1}, .tasks = 2};
  EXPECT_EQ(bind_tasks(source)->environment,
            (std::vector<std::string>{"SLURM_CPU_BIND=quiet,mask_cpu:0x1,0x2", "SLURM_CPU_BIND_VERBOSE=quiet",
                                      "SLURM_CPU_BIND_TYPE=mask_cpu:", "SLURM_CPU_BIND_LIST=0x1,0x2"}));
  source.cpu = *text::parse_cpu_bind("v,rank");
  source.mem = *text::parse_mem_bind("prefer,map_mem:0");
  const auto bound = *bind_tasks(source);
  EXPECT_EQ(bound.environment,
            (std::vector<std::string>{
                "SLURM_CPU_BIND=verbose,rank", "SLURM_CPU_BIND_VERBOSE=verbose", "SLURM_CPU_BIND_TYPE=rank",
                "SLURM_CPU_BIND_LIST=", "SLURM_MEM_BIND=quiet,prefer,map_mem:0", "SLURM_MEM_BIND_VERBOSE=quiet",
                "SLURM_MEM_BIND_TYPE=map_mem:", "SLURM_MEM_BIND_LIST=0", "SLURM_MEM_BIND_PREFER=prefer"}));
  EXPECT_EQ(bound.cpu_word, "RANK");
  EXPECT_EQ(bound.tasks[1].memory_nodes, std::vector<std::uint32_t>{0});
}

TEST(TaskBinding, Gpus) {
  using Lists = std::vector<std::vector<std::uint32_t>>;
  const std::vector<std::uint32_t> gpus{1, 2, 5, 7};
  const auto bind = [&](const char* text, std::uint32_t per_task = 0) {
    return bind_gpus(*text::parse_gpu_bind(text), per_task, gpus, 3);
  };
  EXPECT_EQ(*bind(""), Lists{});
  EXPECT_EQ(*bind("none", 1), Lists{});
  EXPECT_EQ(*bind("", 1), (Lists{{1}, {2}, {5}}));
  EXPECT_EQ(*bind("per_task:2"), (Lists{{1, 2}, {5, 7}, {1, 2}}));
  EXPECT_EQ(*bind("single:2"), (Lists{{1}, {1}, {2}}));
  EXPECT_EQ(*bind("map_gpu:3,0"), (Lists{{7}, {1}, {7}}));
  EXPECT_EQ(*bind("mask_gpu:0x5"), (Lists{{1, 5}, {1, 5}, {1, 5}}));
  EXPECT_FALSE(bind("map_gpu:4"));
  EXPECT_EQ(*bind("closest"), (Lists{gpus, gpus, gpus}));  // where nobody knows what is near to what
}

TEST(TaskBinding, GpusThatAreClose) {
  using Lists = std::vector<std::vector<std::uint32_t>>;
  const std::vector<std::uint32_t> gpus{1, 2, 5, 7};
  const Lists near{{0, 1}, {0, 1}, {2, 3}, {2, 3}};
  const auto bind = [&](const char* text, const Lists& cpus) {
    std::vector<TaskBinding> bound;
    for (const auto& list : cpus) bound.push_back({list, {}});
    return *bind_gpus(*text::parse_gpu_bind(text), 0, gpus, static_cast<std::uint32_t>(cpus.size()), near, bound);
  };
  EXPECT_EQ(bind("closest", {{0}, {3}, {1, 2}}), (Lists{{1, 2}, {5, 7}, {1, 2, 5, 7}}));
  EXPECT_EQ(bind("closest", {{}, {9}}), (Lists{gpus, gpus}));  // not bound; near to none
  EXPECT_EQ(bind("single:1", {{0}, {1}, {2}, {3}}), (Lists{{1}, {2}, {5}, {7}}));
  EXPECT_EQ(bind("single:2", {{2}, {3}, {2}, {3}}), (Lists{{5}, {5}, {7}, {7}}));
}

}  // namespace
}  // namespace spur::stepd
