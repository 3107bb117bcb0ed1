// SPDX-License-Identifier: Apache-2.0
// spur import: slurm.conf and the files beside it as one spur.conf. spur export: back again. Neither asks the
// controller; what is not in force, or has no word in the other dialect, is told on stderr, line by line.
#include "cli/cmd_translate.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "cli/commands.h"
#include "cli/options.h"
#include "config/load.h"
#include "config/translate.h"

namespace spur::cli {
namespace {

struct Translate {
  std::string output;
  bool help = false, version = false;
};
OptionStatus set_output(Translate& t, std::string_view value) {
  t.output = value;
  return {};
}
template <bool Translate::* Field>
OptionStatus flag(Translate& t, std::string_view) {
  t.*Field = true;
  return {};
}
constexpr Option<Translate> kImportOptions[] = {
    {{"output", 'o', Takes::Value, "file", "write spur.conf there, instead of to the standard output"}, set_output},
    {{"version", 'V', Takes::Nothing, nullptr, "print the version"}, flag<&Translate::version>},
    {{"help", 0, Takes::Nothing, nullptr, "show this help message"}, flag<&Translate::help>},
};
constexpr Option<Translate> kExportOptions[] = {
    {{"output", 'o', Takes::Value, "directory", "write slurm.conf and the files beside it there"}, set_output},
    {{"version", 'V', Takes::Nothing, nullptr, "print the version"}, flag<&Translate::version>},
    {{"help", 0, Takes::Nothing, nullptr, "show this help message"}, flag<&Translate::help>},
};

// Whole or not at all.
bool write_file(Context& context, const std::string& path, const std::string& text) {
  const std::string draft = path + ".new";
  const int fd = ::open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  bool good = fd >= 0;
  for (std::size_t done = 0; good && done < text.size();) {
    const ssize_t n = ::write(fd, text.data() + done, text.size() - done);
    good = n > 0;
    if (good) done += static_cast<std::size_t>(n);
  }
  int error = errno;
  if (fd >= 0 && ::close(fd) != 0) good = false, error = errno;
  if (good && ::rename(draft.c_str(), path.c_str()) != 0) good = false, error = errno;
  if (good) return true;
  if (fd >= 0) ::unlink(draft.c_str());
  context.error("cannot write {}: {}", path, std::system_category().message(error));
  return false;
}

int translate(Context& context, bool is_import) {
  Translate options;
  const auto rest = is_import ? read_line<Translate>(context, kImportOptions, options, Order::Anywhere, 1)
                              : read_line<Translate>(context, kExportOptions, options, Order::Anywhere, 1);
  if (!rest) return rest.error();
  if (options.version) return print_version(context);
  if (options.help) {
    context.out.write(is_import ? "Usage: spur import [-o FILE] [SLURM.CONF]\n" + help_text(rows_of<Translate>(kImportOptions))
                                : "Usage: spur export [-o DIRECTORY] [SPUR.CONF]\n" + help_text(rows_of<Translate>(kExportOptions)));
    return 0;
  }
  if (rest->size() > 1) return context.error("one file at a time"), 1;
  const auto draft = config::read_resolved(rest->empty() ? std::string() : rest->front());
  if (!draft) return context.error("{}", draft.error().message), 1;
  if (draft->files.empty()) return context.error("there is no configuration file: name one"), 1;
  const bool from_slurm = draft->written_in == config::Dialect::Slurm;
  if (is_import != from_slurm)
    return context.error("{} is a {} already", draft->files[0], from_slurm ? "slurm.conf" : "spur.conf"), 1;
  const auto out = is_import ? config::to_spur_conf(*draft) : config::to_slurm_conf(*draft);
  if (!out) return context.error("{}", out.error().message), 1;
  for (const std::string& warning : draft->warnings) context.plain("{}", warning);
  for (const std::string& remark : out->remarks) context.plain("{}", remark);
  if (options.output.empty()) {
    context.out.write(out->files[0].second);
    for (std::size_t i = 1; i < out->files.size(); ++i)
      context.plain("{} is written with -o DIRECTORY only", out->files[i].first);
    return 0;
  }
  for (const auto& [name, text] : out->files)
    if (!write_file(context, is_import ? options.output : options.output + "/" + name, text)) return 1;
  return 0;
}

}  // namespace

int cmd_import(Context& context) {
  return translate(context, true);
}
int cmd_export(Context& context) {
  return translate(context, false);
}

}  // namespace spur::cli
