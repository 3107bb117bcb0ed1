// SPDX-License-Identifier: Apache-2.0
#include "replay/gpu_cluster.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace spur::replay {
namespace {

// What is left of each resource after the placement, as a part of the largest node's.
std::int64_t left_over(const sched::GpuNode& node, const sched::GpuShape& shape) {
  const std::uint64_t idle = std::accumulate(node.free.begin(), node.free.end(), std::uint64_t{0});
  const std::int64_t gpu = static_cast<std::int64_t>(idle) - std::int64_t{shape.gpus} * shape.share;
  return (node.cpu - shape.cpu) * 1000 / 128'000 + gpu * 1000 / 8'000;
}

}  // namespace

GpuCluster::GpuCluster(const std::vector<OpenbNode>& nodes, const std::vector<OpenbPod>& typical, GpuScore score)
    : kind_(score),
      scorer_(sched::popular_shapes(shapes_of(typical)),
              score == GpuScore::OneCopy ? sched::Measure::OneCopy : sched::Measure::AllCopies) {
  for (const OpenbNode& node : nodes) {
    nodes_.push_back({node.cpu_milli, static_cast<std::int64_t>(node.memory_mib), model_number(node.model),
                      std::vector<std::uint32_t>(node.gpus, sched::kWholeGpu)});
    whole_.push_back(node.gpus);
    capacity_ += std::uint64_t{node.gpus} * sched::kWholeGpu;
  }
  version_.resize(nodes_.size());
}

// Models are numbered as they come; the 64th and all later ones share a number.
std::uint32_t GpuCluster::model_number(const std::string& model) {
  const auto next = static_cast<std::uint32_t>(std::min<std::size_t>(models_.size(), 63));
  return models_.try_emplace(model, next).first->second;
}

std::vector<sched::GpuShape> GpuCluster::shapes_of(const std::vector<OpenbPod>& pods) {
  std::vector<sched::GpuShape> shapes;
  shapes.reserve(pods.size());
  for (const OpenbPod& pod : pods) shapes.push_back(make_shape(pod));
  return shapes;
}

sched::GpuShape GpuCluster::make_shape(const OpenbPod& pod) {
  sched::GpuShape shape{pod.cpu_milli, static_cast<std::int64_t>(pod.memory_mib), pod.gpus, pod.gpu_milli};
  if (!pod.gpu_models.empty()) shape.models = 0;
  for (const std::string& model : pod.gpu_models) shape.models |= std::uint64_t{1} << model_number(model);
  return shape;
}

GpuCluster::ShapeNumber GpuCluster::shape_of(const OpenbPod& pod) {
  const sched::GpuShape shape = make_shape(pod);
  const std::vector<std::uint64_t> key = {static_cast<std::uint64_t>(shape.cpu),
                                          static_cast<std::uint64_t>(shape.memory), shape.gpus, shape.share,
                                          shape.models};
  const auto [at, is_new] = shape_numbers_.try_emplace(key, static_cast<ShapeNumber>(shapes_.size()));
  if (is_new) {
    shapes_.push_back(shape);
    scores_.emplace_back(nodes_.size());
  }
  return at->second;
}

void GpuCluster::look(const sched::GpuShape& shape, std::uint32_t node, Score& score) {
  score.seen = version_[node];
  const auto choice = scorer_.choose(nodes_[node], shape);
  score.fits = choice.has_value();
  if (!choice) return;
  score.devices = choice->devices;
  score.key = kind_ == GpuScore::BestFit ? left_over(nodes_[node], shape) : choice->growth;
}

std::optional<GpuCluster::Place> GpuCluster::place(ShapeNumber number) {
  const sched::GpuShape& shape = shapes_[number];
  std::vector<Score>& scores = scores_[number];
  const Score* best = nullptr;
  for (std::uint32_t node = 0; node < nodes_.size(); ++node) {
    Score& score = scores[node];
    if (score.seen != version_[node]) look(shape, node, score);
    if (score.fits && (best == nullptr || score.key < best->key)) best = &score;
  }
  if (best == nullptr) return std::nullopt;
  const Place place{static_cast<std::uint32_t>(best - scores.data()), best->devices};
  put(number, place);
  return place;
}

void GpuCluster::put(ShapeNumber number, const Place& place) {
  const sched::GpuShape& shape = shapes_[number];
  sched::take(nodes_[place.node], shape, place.devices);
  ++version_[place.node];
  allocated_ += std::uint64_t{shape.gpus} * shape.share;
}

void GpuCluster::remove(ShapeNumber number, const Place& place) {
  const sched::GpuShape& shape = shapes_[number];
  sched::give_back(nodes_[place.node], shape, place.devices);
  ++version_[place.node];
  allocated_ -= std::uint64_t{shape.gpus} * shape.share;
}

double GpuCluster::fragmented(sched::Measure measure) const {
  double sum = 0, weight = 0;
  for (const sched::GpuShape& shape : scorer_.popular()) weight += static_cast<double>(shape.weight);
  for (const sched::GpuNode& node : nodes_)
    sum += static_cast<double>(sched::fragmentation(node, scorer_.popular(), measure));
  return weight > 0 ? sum / weight : 0;
}

std::uint32_t GpuCluster::idle_gpus() const {
  std::uint32_t idle = 0;
  for (const sched::GpuNode& node : nodes_)
    idle += static_cast<std::uint32_t>(std::ranges::count(node.free, sched::kWholeGpu));
  return idle;
}

std::uint32_t GpuCluster::idle_node_gpus() const {
  std::uint32_t idle = 0;
  for (std::size_t n = 0; n < nodes_.size(); ++n)
    if (std::ranges::count(nodes_[n].free, sched::kWholeGpu) == whole_[n]) idle += whole_[n];
  return idle;
}

}  // namespace spur::replay
