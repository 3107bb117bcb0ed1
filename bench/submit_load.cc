// SPDX-License-Identifier: Apache-2.0
// spur-submit-load: submits batch jobs over one connection with many calls in flight, through a stock grpc++ client, and prints
// how many were acknowledged (and are therefore durable) per second.
//   spur-submit-load --count N --in-flight K [--run] [--array TASKS] [--nodes N] [--tasks-per-node N]
//                    [--minutes M [--vary N]]
// Without --run the jobs are held. --vary gives the jobs N different time limits, from M on.
#include <fmt/format.h>
#include <getopt.h>
#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <random>
#include <string>

#include "config/load.h"
#include "spur/v1/controller.grpc.pb.h"
#include "wire/credential_client.h"

extern char** environ;

namespace {

using namespace spur;

struct Load {
  std::unique_ptr<v1::Controller::Stub> stub;
  std::string credential;
  v1::SubmitJobRequest prototype;
  std::uint64_t run_id = 0;
  long count = 0;
  std::uint32_t minutes = 0, vary = 1;
  std::atomic<long> next{0};
  std::mutex mutex;
  std::condition_variable all_done;
  long open = 0;
  std::string error;

  struct Call {
    grpc::ClientContext context;
    v1::SubmitJobRequest request;
    v1::SubmitJobReply reply;
  };

  void finish(const std::string& why) {
    std::lock_guard lock(mutex);
    if (!why.empty() && error.empty()) error = why;
    if (--open == 0) all_done.notify_one();
  }

  // Sends one and, when it is answered, the next: as many chains as calls in flight.
  void go() {
    const long number = next.fetch_add(1);
    if (number >= count) return finish({});
    auto* call = new Call;
    call->request = prototype;
    call->request.set_token(fmt::format("{:x}-{}", run_id, number));
    // A prime's multiples: neighbours in the queue differ.
    if (minutes > 0)
      call->request.mutable_spec()->set_time_limit(minutes + static_cast<std::uint32_t>(number) * 7919u % vary);
    call->context.AddMetadata("spur-credential-bin", credential);
    stub->async()->SubmitJob(&call->context, &call->request, &call->reply, [this, call](grpc::Status status) {
      delete call;
      status.ok() ? go() : finish(status.error_message());
    });
  }
};

struct Wish {
  long in_flight = 64;
  bool run = false;
  std::uint32_t array = 0, nodes = 0, tasks_per_node = 0;
};

bool parse(int argc, char** argv, Load& load, Wish& wish) {
  static const option kOptions[] = {{"count", required_argument, nullptr, 'c'},
                                    {"in-flight", required_argument, nullptr, 'i'},
                                    {"run", no_argument, nullptr, 'r'},
                                    {"array", required_argument, nullptr, 'a'},
                                    {"nodes", required_argument, nullptr, 'N'},
                                    {"tasks-per-node", required_argument, nullptr, 'n'},
                                    {"minutes", required_argument, nullptr, 't'},
                                    {"vary", required_argument, nullptr, 'v'},
                                    {nullptr, 0, nullptr, 0}};
  const auto number = [] { return static_cast<std::uint32_t>(std::strtoul(optarg, nullptr, 10)); };
  for (int c; (c = getopt_long(argc, argv, "", kOptions, nullptr)) != -1;) {
    if (c == 'c') load.count = std::atol(optarg);
    else if (c == 'i') wish.in_flight = std::atol(optarg);
    else if (c == 'r') wish.run = true;
    else if (c == 'a') wish.array = number();
    else if (c == 'N') wish.nodes = number();
    else if (c == 'n') wish.tasks_per_node = number();
    else if (c == 't') load.minutes = number();
    else if (c == 'v') load.vary = std::max(1u, number());
    else return false;
  }
  return true;
}

void describe(const Wish& wish, v1::JobSpec* spec) {
  spec->set_name("load");
  spec->set_script("#!/bin/sh\ntrue\n");
  std::string environment;
  for (char** e = environ; *e; ++e) environment.append(*e).push_back('\0');
  spec->set_environment(environment);
  spec->set_work_dir("/tmp");
  spec->set_std_out("/dev/null");
  spec->set_hold(!wish.run);
  if (wish.array > 0) {
    spec->mutable_array()->mutable_tasks()->add_bounds(0);
    spec->mutable_array()->mutable_tasks()->add_bounds(wish.array - 1);
  }
  if (wish.nodes > 0) {
    spec->set_min_nodes(wish.nodes);
    spec->set_max_nodes(wish.nodes);
    spec->set_nodes_given(true);
    spec->set_tasks(wish.nodes * std::max(1u, wish.tasks_per_node));
  }
  if (wish.tasks_per_node > 0) spec->set_tasks_per_node(wish.tasks_per_node);
}

}  // namespace

int main(int argc, char** argv) {
  Load load;
  load.count = 1000;
  Wish wish;
  if (!parse(argc, argv, load, wish)) return 2;
  const auto endpoints = config::client_options();
  if (!endpoints) return std::fprintf(stderr, "%s\n", endpoints.error().message.c_str()), 1;
  auto credential = wire::ask_credential(endpoints->auth_socket, "controller", endpoints->timeout);
  if (!credential) return std::fprintf(stderr, "%s\n", credential.error().message.c_str()), 1;
  load.credential = *credential;
  load.run_id = std::random_device{}() | (static_cast<std::uint64_t>(getpid()) << 32);
  load.stub = v1::Controller::NewStub(grpc::CreateChannel(endpoints->controllers.front(), grpc::InsecureChannelCredentials()));
  describe(wish, load.prototype.mutable_spec());

  const auto begin = std::chrono::steady_clock::now();
  load.open = wish.in_flight;
  for (long i = 0; i < wish.in_flight; ++i) load.go();
  std::unique_lock lock(load.mutex);
  load.all_done.wait(lock, [&] { return load.open == 0; });
  if (!load.error.empty()) return std::fprintf(stderr, "submit: %s\n", load.error.c_str()), 1;
  const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  fmt::print("{:.1f} submits/s\n", static_cast<double>(load.count) / took);
  return 0;
}
