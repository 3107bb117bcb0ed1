// SPDX-License-Identifier: Apache-2.0
// sacctmgr dump and load: the accounts and users of a cluster as a file, in Slurm's format. A line is
//   Kind - 'name':Option=value:Option='value'
// with Cluster first, then for each account a "Parent - 'account'" followed by the accounts and users below it.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "cli/read_file.h"
#include "cli/sacctmgr.h"
#include "text/words.h"

namespace spur::cli {
namespace {

using model::AssociationRecord;

constexpr std::string_view kHeading =
    "# A cluster line, then for each account a Parent line and what is below it:\n"
    "# Cluster - 'name':Fairshare=1\n"
    "# Parent - 'root'\n"
    "# Account - 'name':Description='text':Organization='text':Fairshare=1\n"
    "# User - 'name':DefaultAccount='account':AdminLevel='None':Fairshare=1:Partition='name'\n";

std::string limits(const AssociationRecord& r) {
  static constexpr std::string_view kLimitFields[] = {
      "FairShare",        "GrpJobs",        "GrpJobsAccrue",  "GrpSubmitJobs",     "GrpTRES",
      "GrpTRESMins",      "GrpTRESRunMins", "GrpWall",        "MaxJobs",           "MaxJobsAccrue",
      "MaxSubmitJobs",    "MaxTRES",        "MaxTRESPerNode", "MaxTRESMinsPerJob", "MaxWallDurationPerJob",
      "MinPrioThreshold", "Priority",       "DefaultQOS",     "QOSLevel"};
  std::string out;
  for (const std::string_view field : kLimitFields) {
    const auto cell = association_cell(field, r.row);
    if (!cell || cell->text.empty()) continue;
    const std::string_view name = field == "QOSLevel" ? "QOS" : field == "FairShare" ? "Fairshare" : field;
    const bool quoted = field == "QOSLevel" || field == "DefaultQOS" || cell->text.find_first_of(",:") != std::string::npos;
    out += quoted ? fmt::format(":{}='{}'", name, cell->text) : fmt::format(":{}={}", name, cell->text);
  }
  return out;
}

struct FileLine {
  std::string kind, name;
  std::vector<Word> options;
};

// Nothing: the line cannot be read.
std::optional<FileLine> read_file_line(std::string_view text) {
  FileLine out;
  const std::size_t dash = text.find('-');
  if (dash == text.npos) return std::nullopt;
  out.kind = text::lower(text::trim(text.substr(0, dash)));
  // Parts between colons that are not inside quotes.
  std::vector<std::string> parts(1);
  char quote = 0;
  for (const char c : text::trim(text.substr(dash + 1))) {
    if (quote == 0 && (c == '\'' || c == '"'))
      quote = c;
    else if (c == quote)
      quote = 0;
    else if (c == ':' && quote == 0)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  if (quote != 0 || parts.front().empty()) return std::nullopt;
  out.name = names_in(parts.front()).front();
  out.options = read_words(std::span(parts).subspan(1));
  return out;
}

Status write_whole_file(const std::string& path, std::string_view text) {
  const auto fail_now = [&] {
    return fail(ErrorCode::Internal, fmt::format("Can't open {}: {}", path, std::strerror(errno)));
  };
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return fail_now();
  while (!text.empty()) {
    const ssize_t done = ::write(fd, text.data(), text.size());
    if (done < 0) {
      const Status failed = fail_now();
      ::close(fd);
      return failed;
    }
    text.remove_prefix(static_cast<std::size_t>(done));
  }
  return ::close(fd) == 0 ? Status() : fail_now();
}

class Loader {
 public:
  Loader(Sacctmgr& s, std::string cluster) : s_(s), cluster_(std::move(cluster)) {}

  // False: the complaint is printed.
  bool take(const FileLine& line) {
    if (line.kind == "cluster") return take_cluster(line);
    if (line.kind == "parent") return parent_ = line.name, true;
    if (line.kind == "account" || line.kind == "project") return take_account(line);
    if (line.kind == "user") return take_user(line);
    return complain(fmt::format("Misformatted line: {} - '{}'", line.kind, line.name));
  }
  // What the cluster has besides goes: its users before their accounts, and these from below.
  void remove_others() {
    const auto stays = [&](const AssociationRecord& r) {
      const bool root = r.row.account == model::kRootAccount;
      return root || r.cluster != cluster_ || std::ranges::any_of(change.put.associations, [&](const AssociationRecord& put) {
               return put.row.account == r.row.account && put.row.user == r.row.user && put.row.partition == r.row.partition;
             });
    };
    std::vector<const AssociationRecord*> gone;
    for (const PlacedRow& r : placed_rows(s_.records()))
      if (!stays(*r.record)) gone.push_back(r.record);
    std::ranges::reverse(gone);
    for (const AssociationRecord* r : gone) change.remove.push_back({model::RecordKind::Association, model::key_of(*r)});
  }
  model::AccountsChange change;
  std::size_t added = 0;

 private:
  bool complain(const std::string& what) {
    s_.context.error("{}", what);
    s_.failed();
    return false;
  }
  bool edit_of(const FileLine& line, AssociationEdit* edit) {
    for (const Word& w : line.options) {
      if (w.is("Description", 1) || w.is("Organization", 1) || w.is("DefaultAccount", 8) || w.is("AdminLevel", 2) ||
          w.is("Partition", 3) || w.is("DefaultWCKey", 8) || w.is("WCKeys", 1) || w.is("Coordinator", 2))
        continue;
      if (parse_association_edit(s_, w, edit) != Parsed::Taken) return complain("Unknown option: " + w.text);
    }
    return true;
  }
  static std::string option(const FileLine& line, std::string_view name, std::size_t least, std::string otherwise) {
    for (const Word& w : line.options)
      if (w.is(name, least)) return w.value;
    return otherwise;
  }
  // The row as it is or would be.
  AssociationRecord row(const std::string& account, const std::string& user, const std::string& partition) {
    for (const auto& r : s_.records().associations)
      if (r.cluster == cluster_ && r.row.account == account && r.row.user == user && r.row.partition == partition)
        return r;
    AssociationRecord fresh;
    fresh.cluster = cluster_;
    fresh.parent = user.empty() ? parent_ : account;
    fresh.row.account = account;
    fresh.row.user = user;
    fresh.row.partition = partition;
    ++added;
    return fresh;
  }
  bool take_cluster(const FileLine& line) {
    if (cluster_.empty()) cluster_ = line.name;
    const auto& all = s_.records().clusters;
    if (std::ranges::find(all, cluster_, &model::ClusterRecord::name) == all.end()) {
      model::ClusterRecord cluster;
      cluster.name = cluster_;
      change.put.clusters.push_back(cluster);
      ++added;
    }
    AssociationEdit edit;
    if (!edit_of(line, &edit)) return false;
    parent_.clear();
    AssociationRecord root = row(std::string(model::kRootAccount), "", "");
    edit.apply(root);
    change.put.associations.push_back(root);
    return true;
  }
  bool take_account(const FileLine& line) {
    if (cluster_.empty() || parent_.empty())
      return complain("A file needs a Cluster and a Parent line before its accounts");
    AssociationEdit edit;
    if (!edit_of(line, &edit)) return false;
    change.put.accounts.push_back(
        {line.name, option(line, "Description", 1, line.name), option(line, "Organization", 1, line.name)});
    AssociationRecord r = row(line.name, "", "");
    edit.apply(r);
    r.parent = parent_;
    change.put.associations.push_back(r);
    return true;
  }
  bool take_user(const FileLine& line) {
    if (cluster_.empty() || parent_.empty())
      return complain("A file needs a Cluster and a Parent line before its users");
    AssociationEdit edit;
    if (!edit_of(line, &edit)) return false;
    const auto known = [&](const auto& u) { return u.name == line.name; };
    if (std::ranges::none_of(change.put.users, known)) {
      const auto old = std::ranges::find_if(s_.records().users, known);
      model::UserRecord user{line.name, old == s_.records().users.end() ? model::AdminLevel::None : old->admin};
      if (const auto level = parse_admin(option(line, "AdminLevel", 2, ""))) user.admin = *level;
      change.put.users.push_back(user);
    }
    AssociationRecord r = row(parent_, line.name, option(line, "Partition", 3, ""));
    edit.apply(r);
    r.row.is_default = text::lower(option(line, "DefaultAccount", 8, parent_)) == parent_;
    change.put.associations.push_back(r);
    return true;
  }

  Sacctmgr& s_;
  std::string cluster_, parent_;
};

std::string account_entry(const model::AccountRecords& all, const AssociationRecord& r) {
  const auto account = std::ranges::find(all.accounts, r.row.account, &model::AccountRecord::name);
  return fmt::format("Account - '{}':Description='{}':Organization='{}'{}", r.row.account, account->description,
                     account->organization, limits(r));
}

std::string user_entry(const model::AccountRecords& all, const AssociationRecord& r) {
  const auto user = std::ranges::find(all.users, r.row.user, &model::UserRecord::name);
  std::string entry = fmt::format("User - '{}'", r.row.user);
  for (const auto& other : all.associations)
    if (other.cluster == r.cluster && other.row.user == r.row.user && other.row.is_default) {
      entry += fmt::format(":DefaultAccount='{}'", other.row.account);
      break;
    }
  if (user->admin != model::AdminLevel::None) entry += fmt::format(":AdminLevel='{}'", admin_word(user->admin));
  if (!r.row.partition.empty()) entry += fmt::format(":Partition='{}'", r.row.partition);
  return entry + limits(r);
}

// The lines of a cluster: below each account its users, then the accounts, by name.
void dump_cluster(Sacctmgr& s, const std::string& cluster, const std::function<void(const std::string&)>& line) {
  const auto& all = s.records();
  const auto tree = model::tree_of(all.associations, cluster);
  if (tree.empty()) return;
  line(fmt::format("Cluster - '{}'{}", cluster, limits(*tree.front().record)));
  const std::function<void(const model::TreeRow&)> below = [&](const model::TreeRow& parent) {
    std::vector<const model::TreeRow*> children;
    for (const auto& row : tree)
      if (row.parent == parent.record->row.id) children.push_back(&row);
    if (children.empty()) return;
    std::ranges::stable_sort(children, [](const auto* a, const auto* b) {
      const model::Association &x = a->record->row, &y = b->record->row;
      if (x.is_user() != y.is_user()) return x.is_user();
      return x.is_user() ? x.user < y.user : x.account < y.account;
    });
    line(fmt::format("Parent - '{}'", parent.record->row.account));
    for (const auto* child : children)
      line(child->record->row.is_user() ? user_entry(all, *child->record) : account_entry(all, *child->record));
    for (const auto* child : children)
      if (!child->record->row.is_user()) below(*child);
  };
  below(tree.front());
}

// Whether a file says anything that is not so already.
bool is_new(const model::AccountRecords& all, const model::AccountsChange& change) {
  const auto lacks = [](const auto& known) {
    return [&](const auto& record) { return std::ranges::find(known, record) == known.end(); };
  };
  return !change.remove.empty() || !change.put.clusters.empty() ||
         std::ranges::any_of(change.put.accounts, lacks(all.accounts)) ||
         std::ranges::any_of(change.put.users, lacks(all.users)) ||
         std::ranges::any_of(change.put.associations, lacks(all.associations));
}

}  // namespace

void sacctmgr_dump(Sacctmgr& s, std::span<const std::string> words) {
  std::string cluster, file;
  for (const Word& w : read_words(words)) {
    if (w.is("File", 1))
      file = w.value;
    else if (!w.has_key || w.is("Cluster", 1))
      cluster = names_in(w.value).front();
    else
      return s.plain(" Unknown option: {}", w.text), void(s.failed());
  }
  if (cluster.empty()) return s.plain(" We need a cluster to dump."), void(s.failed());
  if (!s.load()) return;
  const auto& all = s.records();
  if (std::ranges::find(all.clusters, cluster, &model::ClusterRecord::name) == all.clusters.end())
    return s.plain(" Cluster {} doesn't exist.", cluster), void(s.failed());
  if (file.empty()) {
    file = "./" + cluster + ".cfg";
    s.context.out.print(" No filename given, using {}.\n", file);
  }
  std::string text(kHeading);
  dump_cluster(s, cluster, [&](const std::string& entry) {
    text += entry + "\n";
    s.context.info("{}", entry);
  });
  if (const Status written = write_whole_file(file, text); !written)
    s.context.error("{}", written.error().message), s.failed();
}

void sacctmgr_load(Sacctmgr& s, std::span<const std::string> words) {
  if (s.read_only) return s.plain("Can't run this command in readonly mode."), void(s.failed());
  std::string cluster, file;
  bool clean = false;
  for (const Word& w : read_words(words)) {
    if (!w.has_key && matches(w.text, "clean", 2))
      clean = true;
    else if (w.is("Cluster", 1))
      cluster = names_in(w.value).front();
    else if (!w.has_key || w.is("File", 1))
      file = w.value;
    else
      return s.plain(" Unknown option: {}", w.text), void(s.failed());
  }
  if (file.empty()) return s.plain(" No filename specified. Use File=Filename to load from."), void(s.failed());
  const auto text = read_file(file);
  if (!text) return s.plain(" Unable to read \"{}\": {}", file, std::strerror(ENOENT)), void(s.failed());
  if (!s.load()) return;
  Loader loader(s, cluster);
  for (const std::string_view raw : text::split(*text, '\n')) {
    const std::string_view entry = text::trim(raw);
    if (entry.empty() || entry.starts_with('#')) continue;
    const auto parsed = read_file_line(entry);
    if (!parsed) return s.context.error("Misformatted line: {}", entry), void(s.failed());
    if (!loader.take(*parsed)) return;
  }
  if (clean) {
    if (!s.immediate) s.context.out.write("You requested to flush the cluster before adding it again.\n");
    if (!s.ask("Are you sure you want to continue?"))
      return s.context.out.write("Aborted\n Nothing new added.\n"), void(s.failed());
    loader.remove_others();
  }
  if (loader.change.put.associations.empty()) return s.context.out.write(" Nothing new added.\n"), void(s.failed());
  s.context.out.print("For cluster {}\n", loader.change.put.associations.front().cluster);
  if (!is_new(s.records(), loader.change)) return s.context.out.write(" Nothing new added.\n");
  s.context.out.print(" {} accounts and users are read from {}, {} of them new\n",
                      loader.change.put.associations.size(), file, loader.added);
  s.commit(std::move(loader.change));
}

}  // namespace spur::cli
