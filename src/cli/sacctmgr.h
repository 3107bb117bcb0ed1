// SPDX-License-Identifier: Apache-2.0
// Inside of sacctmgr: what its verbs share. A verb reads its words into conditions (where) and edits (set), looks at
// the records, says what it is going to do in Slurm's words, asks, and sends one change.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/accounts.h"
#include "cli/context.h"
#include "model/account_records.h"

namespace spur::cli {

enum class TableStyle : unsigned char { Padded, Parsable, Parsable2 };

struct Sacctmgr {
  explicit Sacctmgr(Context& given) : context(given) {}

  Context& context;
  bool immediate = false, no_header = false, read_only = false, with_associations = false, json = false;
  TableStyle style = TableStyle::Padded;
  std::unique_ptr<Accounts> accounts = {};
  int status = 0;

  // Null after a message: there is no answer, and the exit status is set.
  const model::AccountRecords* load(bool with_deleted = false);
  const model::AccountRecords& records() const { return *records_; }
  // "DELETED" for those that load(true) brought besides.
  std::vector<std::string> flags_of(model::RecordKind kind, const std::string& key) const;
  const std::string& own_cluster() const { return accounts->cluster(); }

  // "Would you like to commit changes?": true with -i, or when the answer is yes.
  bool ask(std::string_view question);
  // Checks the change, asks, makes it. What is printed before is up to the caller, `what` is printed if it can be
  // made; the rest is done here.
  // `denied`: what to say, instead of the usual, to who may not do it ("Problem adding accounts").
  void commit(model::AccountsChange change, std::string_view what = {}, std::string_view denied = {});
  void fail_with(const Error& error);
  // On standard error, with nothing in front; may be several lines.
  template <class... Args>
  void plain(fmt::format_string<Args...> format, Args&&... args) {
    plain_lines(fmt::format(format, std::forward<Args>(args)...));
  }
  int failed() { return status = 1; }

 private:
  void plain_lines(std::string_view text);
  std::optional<model::AccountRecords> records_;
  std::set<model::RecordKey> deleted_;
};

// ---- words

// "key=value", "key+=value", "key-=value", or a value alone.
struct Word {
  std::string text, key, value;
  char how = '=';
  bool has_key = false;
  // The typed key is a beginning of `name`, of at least `least` letters; any case.
  bool is(std::string_view name, std::size_t least) const;
};
std::vector<Word> read_words(std::span<const std::string> words);
// "WithDeleted" is among them.
bool asks_for_deleted(std::span<const std::string> words);
// A comma list as names are kept: lower case, quotes as Slurm turns them.
std::vector<std::string> names_in(std::string_view value);
// The same of users, as spurdbd keeps them.
std::vector<std::string> users_in(Sacctmgr& s, std::string_view value);
// "1,3"; what is no number is passed over.
std::vector<std::uint32_t> numbers_in(std::string_view value);
bool has_number(const std::vector<std::uint32_t>& list, std::uint32_t number);  // or the list is empty
bool matches(std::string_view typed, std::string_view name, std::size_t least);

// ---- columns

struct Cell {
  std::string text;
  bool number = false;  // never cut
};
struct FieldRow {
  std::string_view name;
  std::size_t least;
  std::string_view header;
  int width;
};
struct Column {
  const FieldRow* field = nullptr;
  int width = 0;  // negative: to the left
  std::string header;
};
class Table {
 public:
  // "Name,Flags%40,..."; on an unknown name prints the complaint and returns nothing.
  static std::optional<Table> make(Sacctmgr& s, std::string_view format);
  void header();
  using Render = std::function<Cell(std::string_view field)>;  // by FieldRow::name; unknown: blank
  void row(const Render& render);
  bool has(std::string_view field) const;
  std::vector<Column> columns;

 private:
  explicit Table(Sacctmgr& s) : s_(&s) {}
  void line(const std::vector<std::string>& cells);
  Sacctmgr* s_;
};
std::string tres_text(model::TresCounts list);  // "cpu=4,gres/gpu=2,mem=1G"
std::string minutes_text(const std::optional<std::uint32_t>& minutes);
std::string list_text(std::vector<std::string> names);
std::string number_text(const std::optional<std::uint32_t>& number);

// ---- what add, modify and delete act on

struct EntityVerb {
  std::string_view entity;
  std::size_t least;                                             // letters that name it
  void (*run)(Sacctmgr& s, std::span<const std::string> words);  // null: not supported yet
};
// The first word names the entity; `entities` is what Slurm lists where it names none.
void run_entity(Sacctmgr& s, std::string_view command, std::span<const EntityVerb> verbs,
                std::span<const std::string> words, std::string_view entities);

// ---- limits

enum class Parsed : unsigned char { NotMine, Taken, Bad };  // Bad: the message is printed

// What `set` does to an association.
struct AssociationEdit {
  std::vector<std::function<void(model::AssociationRecord&)>> steps;
  model::AssociationRecord sample;  // a blank one with all steps done
  std::set<std::string> none;       // labels that were given as -1
  std::optional<std::string> parent;
  bool any() const { return !steps.empty(); }
  void apply(model::AssociationRecord& record) const {
    for (const auto& step : steps) step(record);
  }
};
Parsed parse_association_edit(Sacctmgr& s, const Word& word, AssociationEdit* edit);
// "  Fairshare     = 5" and so on.
void print_association_edit(Sacctmgr& s, const AssociationEdit& edit);
// A cell of the association's limits; nothing if the field is none of them.
std::optional<Cell> association_cell(std::string_view field, const model::Association& row);

struct QosEdit {
  std::vector<std::function<void(model::Qos&)>> steps;
  model::Qos sample;
  std::set<std::string> given;
  bool any() const { return !steps.empty(); }
};
Parsed parse_qos_edit(Sacctmgr& s, const Word& word, QosEdit* edit);
void print_qos_edit(Sacctmgr& s, const QosEdit& edit);
std::optional<Cell> qos_cell(std::string_view field, const model::Qos& qos);

std::optional<model::AdminLevel> parse_admin(std::string_view text);
std::string_view admin_word(model::AdminLevel level);

// ---- RawUsage

// RawUsage=0, in the account of `set` that is read. False after a complaint.
bool read_raw_usage(Sacctmgr& s, const Word& w, bool* reset);
// The cluster whose usage is meant: this one, which is all that can be reached.
bool own_cluster_meant(Sacctmgr& s, const std::vector<std::string>& clusters);
void send_reset(Sacctmgr& s, const std::vector<std::uint32_t>& associations, const std::vector<std::string>& qos);
// What these accounts, or users in them, have used is forgotten. Slurm changes nothing else then.
void reset_usage(Sacctmgr& s, const std::vector<std::string>& clusters, const std::vector<std::string>& accounts,
                 const std::vector<std::string>& users);

// ---- verbs; the words behind the entity
void sacctmgr_add(Sacctmgr& s, std::span<const std::string> words);
void sacctmgr_modify(Sacctmgr& s, std::span<const std::string> words);
void sacctmgr_delete(Sacctmgr& s, std::span<const std::string> words);
void sacctmgr_show(Sacctmgr& s, std::span<const std::string> words);
void sacctmgr_dump(Sacctmgr& s, std::span<const std::string> words);
void sacctmgr_load(Sacctmgr& s, std::span<const std::string> words);

// ---- parts of show
// Reads the words by `take`; unknown ones are complained about, with `hint` below. False: stop.
bool read_show_conditions(Sacctmgr& s, std::span<const std::string> words, std::string* format, std::string_view hint,
                          const std::function<bool(const Word&)>& take);
void show_associations(Sacctmgr& s, std::span<const std::string> words);
void show_accounts(Sacctmgr& s, std::span<const std::string> words);
void show_users(Sacctmgr& s, std::span<const std::string> words);
void show_clusters(Sacctmgr& s, std::span<const std::string> words);
void show_qos(Sacctmgr& s, std::span<const std::string> words);
void show_federations(Sacctmgr& s, std::span<const std::string> words);
void show_tres(Sacctmgr& s, std::span<const std::string> words);
void show_wckeys(Sacctmgr& s, std::span<const std::string> words);
void show_transactions(Sacctmgr& s, std::span<const std::string> words);
void show_resources(Sacctmgr& s, std::span<const std::string> words);
void show_problems(Sacctmgr& s, std::span<const std::string> words);
void show_events(Sacctmgr& s, std::span<const std::string> words);
void show_configuration(Sacctmgr& s);

// Conditions on associations that several verbs share.
struct AssociationFilter {
  std::vector<std::string> clusters, accounts, users, partitions, parents, qos;
  std::vector<std::uint32_t> ids;
  bool with_sub_accounts = false, only_defaults = false;
  bool takes(const model::AssociationRecord& record, const model::Association& resolved) const;
};
bool is_in(const std::vector<std::string>& list, std::string_view name);
bool is_in_or_empty(const std::vector<std::string>& list, std::string_view name);
// All associations in the order of the trees, cluster by cluster, with what they inherit.
struct PlacedRow {
  const model::AssociationRecord* record = nullptr;
  model::Association resolved;
  model::TreeRow place;
};
std::vector<PlacedRow> placed_rows(const model::AccountRecords& records);
// Accounts below one of these, themselves included.
std::set<std::string> accounts_below(const model::AccountRecords& records, const std::string& cluster,
                                     const std::vector<std::string>& accounts);

}  // namespace spur::cli
