// SPDX-License-Identifier: Apache-2.0
// Programs of the site that the leading controller runs when a reservation begins or ends (ResvProlog, ResvEpilog). What
// began or ended while nobody led is told by who leads next; what a leader was about to tell when it died is not.
#include <fmt/format.h>

#include <set>
#include <utility>

#include "ctld/controller.h"
#include "model/shown_config.h"

namespace spur::ctld {
namespace {

std::set<std::string> active_names(const model::View& view) {
  std::set<std::string> out;
  for (const model::Reservation& reservation : *view.reservations)
    if (reservation.active) out.insert(reservation.name);
  return out;
}

}  // namespace

void Controller::know_reservations() {
  active_reservations_ = active_names(cluster_->view());
}

void Controller::run_reservation_programs() {
  const auto before = std::exchange(active_reservations_, active_names(cluster_->view()));
  const auto tell = [&](const std::string& name, const char* what, const char* key) {
    doors_.log(fmt::format("about Reservation: {} {}", name, what));
    run_site_program(key, name);
  };
  for (const std::string& name : active_reservations_)
    if (!before.contains(name)) tell(name, "has begun", "ResvProlog");
  for (const std::string& name : before)
    if (!active_reservations_.contains(name)) tell(name, "has ended", "ResvEpilog");
}

void Controller::note_completions(std::vector<io::ControllerHooks::Completion> lines) {
  if (lines.empty() || !doors_.programs) return;
  doors_.programs->note_completions(std::move(lines), [this](const Status& status) {
    if (!status) doors_.log("error: jobs that are over are not noted: " + status.error().message);
  });
}

void Controller::run_site_program(const char* key, const std::string& argument) {
  const std::string path(model::given_value(config(), key));
  if (path.empty() || !doors_.programs) return;
  doors_.programs->run_site({.name = key, .words = {path, argument}, .variable = {}, .document = {}, .timeout = {}},
                            [this, key, argument](const Status& status) {
                              if (!status) doors_.log(fmt::format("error: {} {}: {}", key, argument, status.error().message));
                            });
}

}  // namespace spur::ctld
