// SPDX-License-Identifier: Apache-2.0
#include "cli/sbatch_script.h"

#include <unistd.h>

#include <algorithm>

#include "cli/read_file.h"
#include "text/words.h"

namespace spur::cli {
namespace {

// The script's lines of complaint, empty if it may be submitted.
std::vector<std::string_view> complaints(std::string_view script) {
  if (script.empty()) return {"Batch script is empty!"};
  if (std::ranges::all_of(script, text::is_blank)) return {"Batch script contains only whitespace!"};
  if (!script.starts_with("#!")) {
    return {"This does not look like a batch script.  The first",
            "line must start with #! followed by the path to an interpreter.", "For instance: #!/bin/sh"};
  }
  if (script.find('\0') != std::string_view::npos)
    return {"The Slurm controller does not allow scripts that", "contain a NULL character '\\0'."};
  if (script.find("\r\n") != std::string_view::npos)
    return {"Batch script contains DOS line breaks (\\r\\n)", "instead of expected UNIX line breaks (\\n)."};
  return {};
}

// A name without a slash is looked for here first, then along PATH.
std::string find_script(const Context& context, const std::string& name, const std::string& directory) {
  if (name.starts_with('/')) return name;
  const std::string here = directory + "/" + name;
  if (name.find('/') != std::string::npos || ::access(here.c_str(), R_OK) == 0) return here;
  for (const std::string_view folder : text::split(context.env("PATH").value_or(""), ':')) {
    const std::string candidate = std::string(folder) + "/" + name;
    if (!folder.empty() && ::access(candidate.c_str(), R_OK) == 0) return candidate;
  }
  return here;
}

}  // namespace

std::expected<BatchScript, int> load_script(Context& context, const std::vector<std::string>& words,
                                            const std::string& directory) {
  BatchScript script;
  Result<std::string> content;
  if (words.empty()) {
    script.name = "sbatch";
    content = read_descriptor(context.input);
  } else {
    script.path = find_script(context, words.front(), directory);
    script.name = words.front().substr(words.front().rfind('/') + 1);
    script.arguments.assign(words.begin() + 1, words.end());
    if (::access(script.path.c_str(), R_OK) != 0) {
      context.error("Unable to open file {}", words.front());
      return std::unexpected(1);
    }
    content = read_file(script.path);
  }
  if (!content && content.error().code == ErrorCode::InvalidArgument) {
    context.error("Batch script is too large");
    return std::unexpected(1);
  }
  script.text = std::move(content).value_or("");  // a directory reads as nothing
  const auto lines = complaints(script.text);
  for (const std::string_view line : lines) context.error("{}", line);
  if (!lines.empty()) return std::unexpected(1);
  return script;
}

BatchScript wrap_command(const std::string& command) {
  BatchScript script;
  script.text = "#!/bin/sh\n# This script was created by sbatch --wrap.\n\n" + command + "\n";
  script.name = "wrap";
  return script;
}

}  // namespace spur::cli
