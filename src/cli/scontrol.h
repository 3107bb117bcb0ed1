// SPDX-License-Identifier: Apache-2.0
// scontrol from the inside: the state of one run (a command line, or a session of many lines), and the verbs. Each
// verb is a function over its words; cmd_scontrol.cc holds the table of keywords.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/context.h"
#include "cli/document.h"
#include "cli/scontrol_records.h"

namespace spur::cli {

struct Scontrol {
  Context& context;
  RecordStyle style;
  bool all = false;                       // hidden partitions too
  bool quiet = false;                     // -Q: no message for what went wrong, the exit status says it
  std::optional<DocumentStyle> document;  // --json, --yaml
  int exit_status = 0;
  bool quit = false;
  bool looks_back = false;  // --at
  bool future = false;      // -F: FUTURE nodes too

  // "word: text" on stderr unless quiet; the exit status becomes 1.
  template <class... Args>
  void fail(fmt::format_string<Args...> format, Args&&... args) {
    exit_status = 1;
    if (!quiet) context.plain(format, std::forward<Args>(args)...);
  }
  // The controller, or null after the message.
  Controller* controller();
};

using Words = std::vector<std::string>;

void scontrol_show(Scontrol& run, const Words& words);    // words[0] is the entity
void scontrol_update(Scontrol& run, const Words& words);  // "Key=value" pairs
void scontrol_create(Scontrol& run, const Words& words);
void scontrol_delete(Scontrol& run, const Words& words);
void scontrol_hold(Scontrol& run, const Words& words);
void scontrol_uhold(Scontrol& run, const Words& words);
void scontrol_release(Scontrol& run, const Words& words);
void scontrol_requeue(Scontrol& run, const Words& words);
void scontrol_requeuehold(Scontrol& run, const Words& words);
void scontrol_suspend(Scontrol& run, const Words& words);
void scontrol_resume(Scontrol& run, const Words& words);
void scontrol_write(Scontrol& run, const Words& words);
void scontrol_listpids(Scontrol& run, const Words& words);
void scontrol_pidinfo(Scontrol& run, const Words& words);
void scontrol_listjobs(Scontrol& run, const Words& words);
void scontrol_liststeps(Scontrol& run, const Words& words);
void scontrol_show_topology(Scontrol& run, const Words& words);
void scontrol_show_topoconf(Scontrol& run);
void scontrol_wait_job(Scontrol& run, const Words& words);
void scontrol_ping(Scontrol& run, const Words& words);
void scontrol_shutdown(Scontrol& run, const Words& words);
void scontrol_setdebug(Scontrol& run, const Words& words);
void scontrol_setdebugflags(Scontrol& run, const Words& words);
void scontrol_schedloglevel(Scontrol& run, const Words& words);
void scontrol_top(Scontrol& run, const Words& words);
void scontrol_getaddrs(Scontrol& run, const Words& words);
void scontrol_reboot(Scontrol& run, const Words& words);
void scontrol_cancel_reboot(Scontrol& run, const Words& words);
void scontrol_power(Scontrol& run, const Words& words);
void scontrol_token(Scontrol& run, const Words& words);
void scontrol_notify(Scontrol& run, const Words& words);
void scontrol_write_config(Scontrol& run, const Words& words);    // [file]
void scontrol_show_assoc_mgr(Scontrol& run, const Words& words);  // "users=..." and the like
void scontrol_takeover(Scontrol& run, const Words& words);
void scontrol_show_slurmd(Scontrol& run, const std::string& node);
void scontrol_abort(Scontrol& run, const Words& words);
void scontrol_fsdampeningfactor(Scontrol& run, const Words& words);
void scontrol_cluster(Scontrol& run, const Words& words);

// "key=value" in two; an absent "=" gives an empty value and has_value false.
struct KeyValue {
  std::string_view key, value;
  bool has_value = false;
};
KeyValue split_pair(std::string_view word);

void scontrol_create_reservation(Scontrol& run, const Words& words);
void scontrol_update_reservation(Scontrol& run, const KeyValue& entity, const Words& pairs);
void scontrol_show_reservation(Scontrol& run, const std::string& name);  // empty: all
void scontrol_show_step(Scontrol& run, const std::string& name);         // empty: all
void scontrol_update_step(Scontrol& run, const KeyValue& entity, const Words& pairs);
void scontrol_update_partition(Scontrol& run, const KeyValue& entity, const Words& pairs);

// Slurm's words for a refused update: somebody else's job or node is "Invalid user id" there.
std::string words_of_update(const Error& error);

// Those that `scontrol help` lists.
std::vector<std::string> scontrol_keywords();

// Whether `word` is a beginning of `keyword` (any case) with at least `least` letters.
bool abbreviates(std::string_view word, std::string_view keyword, std::size_t least);

// "Job is pending execution for job 5", and of one task of an array "5_1: Job is pending execution".
std::string refusal_of(std::string_view job, std::string_view why);

}  // namespace spur::cli
