// SPDX-License-Identifier: Apache-2.0
// The setters behind the table of job_options.cc: each takes one option's value into the request, or says why not in
// Slurm's words. Only job_options.cc includes this.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cli/job_options.h"

namespace spur::cli::job_setters {

// Plain texts and flags need no function of their own.
template <std::string model::JobSpec::* Field>
OptionStatus set_text(JobRequest& request, std::string_view value) {
  request.spec.*Field = std::string(value);
  return {};
}
template <bool model::JobSpec::* Field>
OptionStatus set_flag(JobRequest& request, std::string_view) {
  request.spec.*Field = true;
  return {};
}
template <bool JobRequest::* Field>
OptionStatus set_request_flag(JobRequest& request, std::string_view) {
  request.*Field = true;
  return {};
}
template <std::optional<std::string> JobRequest::* Field>
OptionStatus set_request_text(JobRequest& request, std::string_view value) {
  request.*Field = std::string(value);
  return {};
}

OptionStatus set_wait_all_nodes(JobRequest& request, std::string_view value);
OptionStatus set_threads(JobRequest& request, std::string_view value);
OptionStatus set_array(JobRequest& request, std::string_view value);
OptionStatus set_begin(JobRequest& request, std::string_view value);
OptionStatus set_deadline(JobRequest& request, std::string_view value);
OptionStatus set_dependency(JobRequest& request, std::string_view value);
OptionStatus set_gres(JobRequest& request, std::string_view value);
OptionStatus set_gpus(JobRequest& request, std::string_view value);
OptionStatus set_gpus_per_node(JobRequest& request, std::string_view value);
OptionStatus set_gpus_per_task(JobRequest& request, std::string_view value);
OptionStatus set_gpus_per_socket(JobRequest& request, std::string_view value);
OptionStatus set_licenses(JobRequest& request, std::string_view value);
OptionStatus set_nodelist(JobRequest& request, std::string_view value);
OptionStatus set_nodefile(JobRequest& request, std::string_view value);
OptionStatus set_exclude(JobRequest& request, std::string_view value);
OptionStatus set_signal(JobRequest& request, std::string_view value);
OptionStatus set_mincpus(JobRequest& request, std::string_view value);
OptionStatus set_ntasks_per_node(JobRequest& request, std::string_view value);
OptionStatus set_chdir(JobRequest& request, std::string_view value);
OptionStatus set_job_name(JobRequest& request, std::string_view value);
OptionStatus set_partition(JobRequest& request, std::string_view value);
OptionStatus set_nodes(JobRequest& request, std::string_view value);
OptionStatus set_ntasks_per_core(JobRequest& request, std::string_view value);
OptionStatus set_ntasks_per_gpu(JobRequest& request, std::string_view value);
OptionStatus set_ntasks_per_socket(JobRequest& request, std::string_view value);
OptionStatus set_sockets_per_node(JobRequest& request, std::string_view value);
OptionStatus set_cores_per_socket(JobRequest& request, std::string_view value);
OptionStatus set_threads_per_core(JobRequest& request, std::string_view value);
OptionStatus set_extra_node_info(JobRequest& request, std::string_view value);
OptionStatus set_hint(JobRequest& request, std::string_view value);
OptionStatus set_segment(JobRequest& request, std::string_view value);
OptionStatus set_cpus_per_gpu(JobRequest& request, std::string_view value);
OptionStatus set_mem_per_gpu(JobRequest& request, std::string_view value);
OptionStatus set_gres_flags(JobRequest& request, std::string_view value);
OptionStatus set_ntasks(JobRequest& request, std::string_view value);
OptionStatus set_cpus_per_task(JobRequest& request, std::string_view value);
OptionStatus set_mem(JobRequest& request, std::string_view value);
OptionStatus set_mem_per_cpu(JobRequest& request, std::string_view value);
OptionStatus set_tmp(JobRequest& request, std::string_view value);
OptionStatus set_time(JobRequest& request, std::string_view value);
OptionStatus set_switches(JobRequest& request, std::string_view value);
OptionStatus set_time_min(JobRequest& request, std::string_view value);
OptionStatus set_output(JobRequest& request, std::string_view value);
OptionStatus set_error(JobRequest& request, std::string_view value);
OptionStatus set_input(JobRequest& request, std::string_view value);
OptionStatus set_open_mode(JobRequest& request, std::string_view value);
OptionStatus set_requeue(JobRequest& request, std::string_view value);
OptionStatus set_no_requeue(JobRequest& request, std::string_view value);
OptionStatus set_exclusive(JobRequest& request, std::string_view value);
OptionStatus set_oversubscribe(JobRequest& request, std::string_view value);
OptionStatus set_nice(JobRequest& request, std::string_view value);
OptionStatus set_priority(JobRequest& request, std::string_view value);
OptionStatus set_kill_on_invalid_dep(JobRequest& request, std::string_view value);
OptionStatus set_mail_type(JobRequest& request, std::string_view value);
OptionStatus set_uid(JobRequest& request, std::string_view value);
OptionStatus set_gid(JobRequest& request, std::string_view value);
OptionStatus set_get_user_env(JobRequest& request, std::string_view value);
OptionStatus set_acctg_freq(JobRequest& request, std::string_view value);
OptionStatus set_profile(JobRequest& request, std::string_view value);
OptionStatus set_cpu_freq(JobRequest& request, std::string_view value);
OptionStatus set_gpu_freq(JobRequest& request, std::string_view value);
OptionStatus set_delay_boot(JobRequest& request, std::string_view value);
OptionStatus set_msg_timeout(JobRequest& request, std::string_view value);
OptionStatus set_tree_width(JobRequest& request, std::string_view value);
OptionStatus set_x11(JobRequest& request, std::string_view value);
OptionStatus set_resv_ports(JobRequest& request, std::string_view value);
OptionStatus set_job_clusters(JobRequest& request, std::string_view value);
OptionStatus set_no_kill(JobRequest& request, std::string_view value);
OptionStatus set_burst_buffer_file(JobRequest& request, std::string_view value);
OptionStatus set_always(JobRequest& request, std::string_view value);
OptionStatus set_tres_per_task(JobRequest& request, std::string_view value);
OptionStatus set_tres_bind(JobRequest& request, std::string_view value);
OptionStatus set_verbose(JobRequest& request, std::string_view value);
OptionStatus set_propagate(JobRequest& request, std::string_view value);
OptionStatus set_distribution(JobRequest& request, std::string_view value);
OptionStatus set_core_spec(JobRequest& request, std::string_view value);
OptionStatus set_thread_spec(JobRequest& request, std::string_view value);
OptionStatus set_mem_bind(JobRequest& request, std::string_view value);
OptionStatus set_accel_bind(JobRequest& request, std::string_view value);
OptionStatus set_gpu_bind(JobRequest& request, std::string_view value);
OptionStatus set_cpu_bind(JobRequest& request, std::string_view value);
OptionStatus set_bcast(JobRequest& request, std::string_view value);
OptionStatus set_bcast_exclude(JobRequest& request, std::string_view value);
OptionStatus set_compress(JobRequest& request, std::string_view value);
OptionStatus set_send_libs(JobRequest& request, std::string_view value);
OptionStatus set_mpi(JobRequest& request, std::string_view value);
OptionStatus set_job_id(JobRequest& request, std::string_view value);
OptionStatus set_bell(JobRequest& request, std::string_view value);
OptionStatus set_no_bell(JobRequest& request, std::string_view value);
OptionStatus set_kill_command(JobRequest& request, std::string_view value);
OptionStatus set_relative(JobRequest& request, std::string_view value);
OptionStatus set_exact(JobRequest& request, std::string_view value);
OptionStatus set_whole(JobRequest& request, std::string_view value);
OptionStatus set_het_groups(JobRequest& request, std::string_view value);
OptionStatus set_immediate(JobRequest& request, std::string_view value);
OptionStatus set_kill_on_bad_exit(JobRequest& request, std::string_view value);
OptionStatus set_wait_seconds(JobRequest& request, std::string_view value);

}  // namespace spur::cli::job_setters
