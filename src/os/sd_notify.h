// SPDX-License-Identifier: Apache-2.0
// Telling systemd how a service (Type=notify) stands. Without systemd it does nothing.
#pragma once

#include <string>
#include <string_view>

namespace spur::os {

class ServiceNotifier {
 public:
  // Takes $NOTIFY_SOCKET out of the environment: jobs must not speak for the service. Before any thread is started.
  ServiceNotifier();

  bool present() const { return !address_.empty(); }
  void ready() const;  // names this process: after daemonising it is not the one systemd started
  void reloading() const;
  void stopping() const;
  void status(std::string_view text) const;
  // False: nobody is there, or it did not reach him.
  bool send(std::string_view state) const;

 private:
  std::string address_;
};

}  // namespace spur::os
