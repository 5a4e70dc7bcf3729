// SPDX-License-Identifier: Apache-2.0
// model.safetensors.index.json and pytorch_model.bin.index.json:
//
//   {"metadata": {"total_size": 123, "total_parameters": 45}, "weight_map": {"tensor": "file", …}}
//
// The metadata may be empty or absent, other keys may follow.
#include "formats/shard_index.hpp"

#include <algorithm>
#include <utility>

#include "base/plain_text.hpp"
#include "base/same_text.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "containers/json.hpp"

namespace assay::formats {

namespace {

/// Collects entries; file names are few and come in runs.
class Collector {
 public:
  explicit Collector(ShardIndex& index) : index_(index) {}

  void add(std::string_view tensor, std::string_view file) {
    while (file.starts_with("./")) file.remove_prefix(2);
    if (index_.files.empty() || index_.files[last_] != file) {
      const auto fresh = static_cast<std::uint32_t>(index_.files.size());
      const std::uint32_t known = table_.insert(file, fresh, [this](std::uint32_t i) { return index_.files[i]; });
      last_ = known == kNone ? fresh : known;
      if (known == kNone) {
        index_.files.push_back(file);
        index_.first.push_back(static_cast<std::uint32_t>(index_.entries.size()));
        last_of_file_.push_back(kNone);
      }
    }
    add_to_last(tensor);
  }
  /// A tensor in the file of the one before.
  void add_to_last(std::string_view tensor) {
    const std::uint32_t before = std::exchange(last_of_file_[last_], static_cast<std::uint32_t>(index_.entries.size()));
    if (before != kNone) index_.entries[before].next = last_of_file_[last_];
    index_.entries.push_back({tensor, last_});
  }
  void reserve(std::size_t entries) { index_.entries.reserve(entries); }
  std::size_t size() const { return index_.entries.size(); }

 private:
  ShardIndex& index_;
  NameTable table_;
  std::uint32_t last_ = 0;                   // the file of the entry before
  std::vector<std::uint32_t> last_of_file_;  // by file: its last entry
};

/// Reads the plain spelling: texts of printable ASCII without escapes, metadata of plain numbers and texts, no other keys.
class IndexScanner {
 public:
  IndexScanner(std::string_view text, ShardIndex& index) : p_(text.data()), end_(p_ + text.size()), index_(index), collector_(index) {}

  bool run() {
    std::string_view key;
    bool map = false;
    if (!token('{')) return false;
    do {
      if (!text(key) || !token(':')) return false;
      if (key == "metadata" ? !metadata() : key != "weight_map" || std::exchange(map, true) || !weight_map()) return false;
    } while (token(','));
    if (!map || !token('}')) return false;
    blanks();
    return p_ == end_;
  }

 private:
  void blanks() {
    while (p_ != end_ && (*p_ == ' ' || *p_ == '\n' || *p_ == '\r' || *p_ == '\t')) ++p_;
  }
  bool token(char c) {
    blanks();
    if (p_ == end_ || *p_ != c) return false;
    ++p_;
    return true;
  }
  bool text(std::string_view& out) {
    if (!token('"')) return false;
    const char* stop = plain_text_end(p_, end_, '"');
    if (stop == end_ || *stop != '"') return false;
    out = {p_, static_cast<std::size_t>(stop - p_)};
    p_ = stop + 1;
    return true;
  }
  bool metadata() {
    if (std::exchange(metadata_, true) || !token('{')) return false;
    if (token('}')) return true;
    do {
      std::string_view key, value;
      if (!text(key) || !token(':')) return false;
      blanks();
      if (p_ != end_ && *p_ == '"') {
        if (!text(value)) return false;
        continue;
      }
      const char* from = p_;
      while (p_ != end_ && *p_ >= '0' && *p_ <= '9') ++p_;
      if (p_ == from || (*from == '0' && p_ - from > 1) || p_ - from > 19) return false;
      const std::string_view digits(from, static_cast<std::size_t>(p_ - from));
      if (key == "total_size") index_.total_size = json::to_f64(digits);
      if (key == "total_parameters") index_.total_parameters = json::to_f64(digits);
    } while (token(','));
    return token('}');
  }
  bool weight_map() {
    if (!token('{')) return false;
    if (token('}')) return true;
    const char* from = p_;
    std::string_view between;  // from the end of one tensor's name to the beginning of the next, as the entry before has it
    if (!token('"')) return false;
    while (true) {
      const char* stop = plain_text_end(p_, end_, '"');
      if (stop == end_ || *stop != '"') return false;
      const std::string_view tensor(p_, static_cast<std::size_t>(stop - p_));
      if (collector_.size() == kFirstEntries) make_room(from);
      if (!between.empty() && begins_with({stop, static_cast<std::size_t>(end_ - stop)}, between)) {
        collector_.add_to_last(tensor);
        p_ = stop + between.size();
        continue;
      }
      std::string_view file;
      p_ = stop + 1;
      if (!token(':') || !text(file)) return false;
      collector_.add(tensor, file);
      if (!token(',')) return token('}');
      if (!token('"')) return false;
      between = {stop, static_cast<std::size_t>(p_ - stop)};
    }
  }

  /// By the first entries' length, how many there will be.
  void make_room(const char* from) {
    const std::size_t entry = static_cast<std::size_t>(p_ - from) / kFirstEntries;
    collector_.reserve(static_cast<std::size_t>(end_ - from) / entry + 1);
  }

  static constexpr std::size_t kFirstEntries = 64;  // measured before room is made for the rest
  const char* p_;
  const char* end_;
  ShardIndex& index_;
  Collector collector_;
  bool metadata_ = false;
};

class IndexReader final : public json::Handler {
 public:
  explicit IndexReader(ShardIndex& index) : index_(index), collector_(index) {}

  bool null() override { return other("null"); }
  bool boolean(bool value) override { return other(value ? "true" : "false"); }
  bool number(std::string_view text) override {
    if (depth_ == 2 && part_ == kMetadata && field_ == "total_size") index_.total_size = json::to_f64(text);
    if (depth_ == 2 && part_ == kMetadata && field_ == "total_parameters") index_.total_parameters = json::to_f64(text);
    return other(text);
  }
  bool string(std::string_view text) override {
    if (depth_ != 2 || part_ != kMap) return other("a text");
    if (last_file_ != text) last_file_ = index_.arena->text(text);
    collector_.add(tensor_, last_file_);
    return true;
  }
  bool key(std::string_view text) override {
    if (depth_ == 1) part_ = text == "metadata" ? kMetadata : text == "weight_map" ? kMap : kOther;
    if (depth_ != 2) return true;
    if (part_ == kMap) tensor_ = index_.arena->text(text);
    else field_ = text;
    return true;
  }
  bool start_object() override {
    if (depth_ == 1 && part_ == kMap) found = true;
    return (depth_ == 1 || other("an object")) && (++depth_, true);
  }
  bool start_array() override { return other("a list") && (++depth_, true); }
  bool end_object() override { return --depth_, true; }
  bool end_array() override { return --depth_, true; }

  bool found = false;

 private:
  enum Part : std::uint8_t { kOther, kMetadata, kMap };

  /// Anything but a text is out of place in the map, and anything but an object as the map.
  bool other(std::string_view what) {
    if (part_ == kMap && depth_ == 1) return stop(Code::bad_header, concat("the index's weight_map is ", what, ", not an object"));
    if (part_ == kMap && depth_ == 2)
      return stop(Code::bad_header, concat("the index maps ", quote(tensor_), " to ", what, ", not to a file name"));
    return true;
  }

  ShardIndex& index_;
  Collector collector_;
  std::string_view tensor_, last_file_;
  std::string field_;
  Part part_ = kOther;
  std::uint32_t depth_ = 0;
};

}  // namespace

namespace detail {

std::optional<ShardIndex> scan_index(ByteView text) {
  ShardIndex index;
  if (!IndexScanner(text.text(), index).run()) return std::nullopt;
  return index;
}

Result<ShardIndex> parse_index(ByteView text, const Limits& limits) {
  ShardIndex index;
  index.arena = std::make_shared<Arena>();
  IndexReader reader(index);
  ASSAY_TRY(const std::uint64_t consumed, json::parse(text, reader, limits));
  if (!reader.found) return fail(Error(Code::bad_header, "the index has no weight_map").at(text.offset()));
  const auto rest = static_cast<std::size_t>(consumed);
  const std::size_t odd = text.text().substr(rest).find_first_not_of(" \t\r\n");
  if (odd != std::string_view::npos)
    return fail(Error(Code::bad_header, "text behind the index's closing brace").at(text.offset(rest + odd)));
  return index;
}

}  // namespace detail

std::vector<std::uint32_t> follow_index(const ShardIndex& index, std::uint32_t file, std::span<const Tensor> tensors) {
  std::vector<std::uint32_t> followed;
  followed.reserve(tensors.size());
  std::uint32_t entry = index.first[file];
  for (const Tensor& tensor : tensors) {
    if (entry == kNone || !same_text(index.entries[entry].tensor, tensor.name)) break;
    followed.push_back(entry);
    entry = index.entries[entry].next;
  }
  return followed;
}

IndexNames::IndexNames(const ShardIndex& index) : index_(index) {
  const auto& entries = index.entries;
  const auto disorder = std::ranges::adjacent_find(entries, [](const auto& a, const auto& b) { return a.tensor >= b.tensor; });
  sorted_ = disorder == entries.end();
  if (sorted_) return;
  table_ = NameTable(entries.size());
  // Each name waits a little until the table's memory has come near.
  constexpr std::size_t kAhead = 8;
  std::uint32_t tags[kAhead] = {};
  const auto take = [&](std::size_t i) {
    const auto entry = static_cast<std::uint32_t>(i);
    if (table_.insert(entries[i].tensor, tags[i % kAhead], entry, [&](std::uint32_t e) { return entries[e].tensor; }) != kNone)
      repeated_.push_back(entry);
  };
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (i >= kAhead) take(i - kAhead);
    tags[i % kAhead] = table_.announce(entries[i].tensor);
  }
  for (std::size_t i = entries.size() - std::min(entries.size(), kAhead); i < entries.size(); ++i) take(i);
}

std::uint32_t IndexNames::find(std::string_view name) {
  const auto& entries = index_.entries;
  if (next_ < entries.size() && entries[next_].tensor == name && (sorted_ || repeated_.empty())) return next_++;
  std::uint32_t found = kNone;
  if (sorted_) {
    const auto place = std::ranges::lower_bound(entries, name, {}, &ShardIndex::Entry::tensor);
    if (place != entries.end() && place->tensor == name) found = static_cast<std::uint32_t>(place - entries.begin());
  } else {
    found = table_.find(name, [&](std::uint32_t e) { return entries[e].tensor; });
  }
  if (found != kNone) next_ = found + 1;
  return found;
}

Result<ShardIndex> read_shard_index(const std::shared_ptr<ByteSource>& source, const Limits& limits) {
  const std::uint64_t size = source->size();
  if (size > limits.json_bytes)
    return fail(Error(Code::limit_exceeded, concat("the index has ", size, " bytes, more than ", limits.json_bytes)).at(0));
  constexpr std::uint64_t kLarge = 128 << 10;  // copying that costs more than faulting it in
  ASSAY_TRY(ByteBlock fetched, size < kLarge ? source->fetch(0, size) : source->view(0, size));
  auto block = std::make_shared<ByteBlock>(std::move(fetched));
  auto index = detail::scan_index(block->view());
  if (index) {
    index->arena = std::make_shared<Arena>();
    index->arena->keep(block);
    index->arena->keep(source);
  } else {
    ASSAY_TRY(index, detail::parse_index(block->view(), limits));
  }
  if (index->files.empty()) return fail(Error(Code::bad_header, "the index names no tensors").at(0));
  if (index->files.size() > limits.shards)
    return fail(Error(Code::limit_exceeded, concat("the index names ", index->files.size(), " files, more than ", limits.shards)).at(0));
  return *std::move(index);
}

}  // namespace assay::formats
