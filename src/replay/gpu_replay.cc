// SPDX-License-Identifier: Apache-2.0
#include "replay/gpu_replay.h"

#include <algorithm>
#include <map>
#include <queue>

namespace spur::replay {
namespace {

constexpr std::int64_t kDay = 86'400;  // so that no moment is "not set"

// The mean over time of figures that are looked at now and then: they are dear to work out.
class Samples {
 public:
  Samples(const GpuCluster& cluster, GpuReplay& result, Time begin, Time end)
      : cluster_(cluster),
        result_(result),
        last_(begin),
        every_(std::max<Duration>((end - begin) / 500, seconds(1))) {
    result_.idle_node_gpus_least = cluster.idle_node_gpus();
  }
  void look(Time now, bool at_end = false) {
    if (now - last_ < every_ && !at_end) return;
    const double span = std::chrono::duration<double>(now - last_).count();
    last_ = now;
    const std::uint32_t idle_nodes = cluster_.idle_node_gpus();
    result_.allocated_mean += span * static_cast<double>(cluster_.gpu_allocated()) / sched::kWholeGpu;
    result_.fragmented_mean += span * cluster_.fragmented(sched::Measure::AllCopies) / sched::kWholeGpu;
    result_.idle_gpus_mean += span * cluster_.idle_gpus();
    result_.idle_node_gpus_mean += span * idle_nodes;
    result_.idle_node_gpus_least = std::min(result_.idle_node_gpus_least, idle_nodes);
    all_ += span;
  }
  void finish() {
    if (all_ <= 0) return;
    for (double* sum :
         {&result_.allocated_mean, &result_.fragmented_mean, &result_.idle_gpus_mean, &result_.idle_node_gpus_mean})
      *sum /= all_;
  }

 private:
  const GpuCluster& cluster_;
  GpuReplay& result_;
  Time last_;
  Duration every_;
  double all_ = 0;
};

// Pods in the order they came, as jobs; `from` says which pod a job is.
void gather(const std::vector<OpenbPod>& pods, GpuReplay& result, std::vector<std::size_t>& from) {
  std::map<std::string, std::int32_t> numbers;
  std::vector<std::pair<ReplayJob, std::size_t>> jobs;
  for (std::size_t i = 0; i < pods.size(); ++i) {
    const OpenbPod& pod = pods[i];
    const std::int64_t began = pod.scheduled >= 0 ? pod.scheduled : pod.created;
    if (pod.created < 0 || pod.deleted <= began) {
      ++result.without_time;
      continue;
    }
    const auto [qos, is_new] = numbers.try_emplace(pod.qos, static_cast<std::int32_t>(result.qos.size()));
    if (is_new) result.qos.push_back(pod.qos);
    ReplayJob job;
    job.trace_id = static_cast<std::int64_t>(i);
    job.submit = from_unix_seconds(kDay + pod.created);
    job.run = job.limit = seconds(pod.deleted - began);
    job.processors = pod.gpus * pod.gpu_milli;
    job.user = qos->second;
    jobs.emplace_back(job, i);
  }
  std::ranges::stable_sort(jobs, {}, [](const auto& job) { return job.first.submit; });
  for (const auto& [job, pod] : jobs) {
    result.work.jobs.push_back(job);
    from.push_back(pod);
  }
}

}  // namespace

GpuReplay replay_gpus(const std::vector<OpenbNode>& nodes, const std::vector<OpenbPod>& pods, GpuScore score,
                      const Progress& progress) {
  GpuReplay result;
  std::vector<std::size_t> from;
  gather(pods, result, from);
  GpuCluster cluster(nodes, pods, score);
  const auto& jobs = result.work.jobs;
  result.work.machine.processors = static_cast<std::uint32_t>(std::max<std::uint64_t>(cluster.gpu_capacity(), 1));
  result.outcome.jobs.resize(jobs.size());
  if (jobs.empty()) return result;
  using End = std::pair<Time, std::size_t>;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends;
  std::vector<GpuCluster::Place> places(jobs.size());
  std::vector<GpuCluster::ShapeNumber> shapes(jobs.size());
  std::vector<std::size_t> waiting;
  std::vector<bool> fits_no_more;  // by shape, until one leaves
  Samples samples(cluster, result, jobs.front().submit, jobs.back().submit + jobs.back().run);
  for (std::size_t next = 0; next < jobs.size() || !ends.empty();) {
    const bool arrives = next < jobs.size() && (ends.empty() || jobs[next].submit < ends.top().first);
    const Time now = arrives ? jobs[next].submit : ends.top().first;
    samples.look(now);
    if (!ends.empty() && ends.top().first == now) fits_no_more.clear();
    for (; !ends.empty() && ends.top().first == now; ends.pop())
      cluster.remove(shapes[ends.top().second], places[ends.top().second]);
    for (; next < jobs.size() && jobs[next].submit == now; ++next) {
      shapes[next] = cluster.shape_of(pods[from[next]]);
      waiting.push_back(next);
      if (progress && next % 64 == 0) progress(static_cast<double>(next) / static_cast<double>(jobs.size()));
    }
    std::erase_if(waiting, [&](std::size_t job) {
      fits_no_more.resize(std::max<std::size_t>(fits_no_more.size(), shapes[job] + 1));
      if (fits_no_more[shapes[job]]) return false;
      const auto place = cluster.place(shapes[job]);
      if (!place) {
        fits_no_more[shapes[job]] = true;
        return false;
      }
      places[job] = *place;
      result.outcome.jobs[job] = {now, now + jobs[job].run, place->node};
      ends.push({now + jobs[job].run, job});
      return true;
    });
    result.outcome.ended = now;
  }
  samples.look(result.outcome.ended, true);
  samples.finish();
  return result;
}

}  // namespace spur::replay
