// SPDX-License-Identifier: Apache-2.0
// One scan at work: what its parts share. Internal to this folder.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "analysis/scan/scan.hpp"
#include "analysis/scan/sniff.hpp"
#include "assay/pickle.hpp"
#include "containers/tar.hpp"
#include "containers/zip.hpp"

namespace assay::scan {

/// Bytes that are looked at as a file of their own.
struct Piece {
  const ByteSource& source;                ///< offsets from 0
  std::string name = {};                   ///< "" for the file itself
  std::optional<std::uint64_t> base = {};  ///< of byte 0 in the file, where the bytes stand there as such
  int depth = 0;                           ///< archives and wrappings around it
  bool torch_script = false;               ///< within a TorchScript archive, whose own types are no Python modules
  bool torch_tar = false;                  ///< within a tar of the earliest torch, where persistent ids are numbers
  bool raw = false;                        ///< a member that the archive's own reader takes for the bytes of a tensor, whatever they are
  bool runs_source = false;                ///< within a torch package, whose Python source is run by its loader
  std::string_view rest = {};              ///< "behind the archive": bytes that no reader of the container looks at

  /// The same piece with its bytes elsewhere: unpacked, or a window.
  Piece over(const ByteSource& other, std::optional<std::uint64_t> other_base = {}) const {
    return {other, name, other_base, depth, torch_script, torch_tar, raw, runs_source, rest};
  }
};

/// How pickles follow each other in a piece.
enum class Layout : std::uint8_t { plain, tar_storages, tar_tensors };

/// What a zip archive is to its own reader.
struct ZipKind {
  bool torch_script = false, torch_package = false;
  std::string
      raw_below[2];  ///< folders whose members are tensors' bytes: "archive/data/" those named by a number, "archive/data/weights/" all
  bool is_raw(std::string_view name) const;
};
ZipKind kind_of(const zip::Directory& directory);

class Scanner {
 public:
  Scanner(const Options& options, std::string_view name);

  /// Finds out what the piece is and looks at all of it. Adds a row to the report's members.
  Result<void> scan(const Piece& piece);
  Result<void> scan_file(const ByteSource& source);
  Report take_report() { return std::move(report_); }

 private:
  friend class Judge;
  using Row = std::size_t;  // index in report_.members

  // The report (scanner.cpp). Each raises the piece's row and the whole.
  Row add_row(const Piece& piece, std::string_view kind);
  void raise(Row row, Verdict verdict);
  void mark(Row row, Status status);
  void find(Row row, const Piece& piece, Code code, std::string message, std::optional<std::uint64_t> position = {},
            std::optional<std::uint64_t> length = {});
  /// A finding of an error that concerned this piece; limits make the scan incomplete, all else is malformed.
  void take_error(Row row, const Piece& piece, const Error& error);
  /// A pickle in `piece` names a storage of `bytes` bytes, where that is known, by this key.
  void remember_storage(const Piece& piece, std::string_view key, std::optional<std::uint64_t> bytes);
  /// True when some pickle named this archive member as a storage.
  bool is_storage(std::string_view member) const;
  Place place(const Piece& piece, std::uint64_t position, std::uint32_t stream = 1) const;

  // What is told apart by its frame (containers.cpp). Each scans all of the piece.
  /// False when the piece has none of the frames.
  Result<bool> scan_framed(const Piece& piece, Row row, ByteView head);
  static bool may_be_framed(ByteView head);
  Result<void> scan_zip_within(const Piece& piece, Row row);
  Result<bool> scan_msgpack(const Piece& piece, Row row);
  void answer_for_safetensors(const Piece& piece, const Result<std::uint64_t>& end);
  Result<bool> scan_safetensors(const Piece& piece, Row row);
  Result<void> scan_tar(const Piece& piece, Row row);
  void note_tar_path(const Piece& piece, Row row, const tar::Member& member);
  /// How many bytes the next packed stream, of `packed` bytes, may give.
  std::uint64_t may_unpack(std::uint64_t packed) const;
  Result<void> scan_packed(const Piece& piece, Row row, std::string_view kind);
  Result<void> scan_npy(const Piece& piece, Row row);
  /// Bytes that no reader of the container looks at, as a piece of their own.
  Result<void> scan_rest(const Piece& piece, Row row, std::uint64_t position, std::uint64_t end, std::string_view what);

  // Zip archives (archives.cpp).
  /// One archive, or several one behind the other as a distributed checkpoint has them.
  Result<void> scan_zips(const Piece& piece, Row row);
  Result<void> scan_zip(const Piece& piece, Row row);
  Result<void> scan_members(const Piece& piece, Row row, const zip::Directory& directory, const ZipKind& kind, const Findings& local);
  void find_wrong_storages(const zip::Directory& directory);
  /// What the directory does not list: members between its members, a second directory, bytes of no use (unlisted.cpp).
  Result<void> scan_unlisted(const Piece& piece, Row row, const zip::Directory& directory, const ZipKind& kind);
  Result<void> scan_gap_members(const Piece& piece, Row row, const zip::Directory& directory, zip::Gap gap, const ZipKind& kind,
                                std::unordered_set<std::uint64_t>& seen);
  void take_zip_finding(const Piece& piece, Row row, Finding finding);
  Result<void> scan_cut(const Piece& piece, Row row, const zip::Member& member, const ZipKind& kind);
  Result<void> scan_member(const Piece& archive, Row row, const zip::Member& member, bool storage, const ZipKind& kind, bool odd);
  /// The member's bytes taken as packed with `method`, whatever the directory says.
  Result<void> scan_member_bytes(const Piece& archive, Row row, const zip::Member& member, bool storage, const ZipKind& kind,
                                 std::uint16_t method);
  Result<void> scan_unpacked(const Piece& archive, Row row, const zip::Member& member, ByteView packed, const Piece& piece, bool storage,
                             std::uint16_t method);
  bool worth_unpacking(std::span<const std::byte> front) const;
  /// Scans a piece within another, whose row takes over what is found. `crc` 0 for unknown.
  Result<void> scan_inner(Row row, const Piece& piece, bool storage, std::uint32_t crc);
  Result<void> scan_storage(const Piece& piece);

  // Pickles (streams.cpp, search.cpp).
  struct Stream {
    ByteBlock bytes;
    pickle::Graph graph;
    std::vector<pickle::Graph> nested;  ///< of arrays of objects within it
    /// The same bytes as another reader takes them, which counts from an offset on.
    struct Reading {
      pickle::Graph graph;
      std::uint64_t from;
    };
    std::vector<Reading> others;
    bool beyond_limit = false;  ///< only the front part that the limits allow was read
  };
  Result<Stream> parse_at(const Piece& piece, std::uint64_t position);
  void read_otherwise(Stream& stream, std::optional<std::uint64_t> first_array, const Limits& limits) const;
  /// Reads the piece as a pickle although it is something else: what that would run is told.
  Result<void> scan_second_reading(const Piece& piece, Row row);
  /// True when the piece was a pickle, and then all of it is scanned.
  Result<bool> scan_as_pickle(const Piece& piece, Row row);
  Result<void> scan_streams(const Piece& piece, Row row, std::uint64_t begin, Layout layout, std::optional<Stream> first = {});
  Result<void> scan_hidden(const Piece& piece, Row row, std::uint64_t position);
  /// Bytes from `begin` on that nothing explains: told with `what` ("behind the last pickle"), and searched for pickles.
  Result<void> scan_gap(const Piece& piece, Row row, std::uint64_t begin, std::string_view what, Status status);
  Result<void> search(const Piece& piece, Row row, std::uint64_t begin);
  /// The same for bytes that may stay what they are: when not all of them could be looked through, the scan is incomplete.
  Result<void> search_all(const Piece& piece, Row row, bool text = false);
  Result<std::uint64_t> try_stream(const Piece& piece, Row row, std::uint64_t begin, bool text);
  Result<bool> search_range(const Piece& piece, Row row, std::uint64_t begin, std::uint64_t end, bool text);
  // Text (text.cpp).
  Result<void> scan_text(const Piece& piece, Row row);
  void judge_source(const Piece& piece, Row row, std::string_view text);
  void judge_json(const Piece& piece, Row row, ByteView text);
  void judge_yaml(const Piece& piece, Row row, std::string_view text);
  void tell_template(const Piece& piece, Row row, std::string_view word, std::optional<std::uint64_t> position = {});
  /// What is of no kind that is looked into: the scan is incomplete; pickles in it are told.
  Result<void> scan_unknown(const Piece& piece, Row row, const Known& known);
  Result<void> judge(const Piece& piece, Row row, const Stream& stream, std::uint32_t number);
  Result<void> scan_bytes(const Piece& piece, Row row, const pickle::Graph& graph, pickle::Node node);
  void note_broken(const Piece& piece, Row row, const Stream& stream);
  void note_extension(const Piece& piece);
  void refuse_legacy(const Piece& piece, std::string_view why);
  void ask_weights_only(const Piece& piece, Row row, const Stream& stream, std::uint32_t number);

  const Options& options_;
  const Limits& limits_;
  Limits unpacked_limits_;  // of pickles that were unpacked: what a few bytes can blow up
  std::string_view file_name_;
  Report report_;
  std::map<std::pair<std::string, std::string>, std::size_t> import_index_;  // member, name
  std::unordered_map<std::string, std::optional<std::uint64_t>>
      storage_keys_;  // "folder/\nkey" of what pickles refer to as storages, in lower case: their bytes
  std::unordered_map<std::string, Judgement> judged_;
  std::unordered_set<std::uint64_t> judged_streams_;  // where they begin in the file
  std::uint64_t unpacked_ = 0;                        // bytes inflated so far
  std::uint64_t work_ = 0, most_work_ = 0;            // bytes parsed and searched so far, and how many may be
  std::uint64_t searched_ = 0;                        // bytes of gaps searched so far
  std::uint64_t file_size_ = 0, tried_ = 0;           // what looking for pickles in bytes has cost so far (search.cpp)
  std::uint64_t searched_data_ = 0;                   // bytes of text, pictures and the like searched so far
  std::string weights_target_;                        // the member that torch.load reads first; "" until an archive said so
  bool legacy_ = false;                               // the file itself starts with torch's magic number
};

/// Files within each other that are looked at.
inline constexpr int kDeepest = 4;

/// Bytes that are unpacked in one scan, and of them at once: what packs further than so many times is stopped early.
inline constexpr std::uint64_t kMostUnpacked = std::uint64_t{512} << 20, kMostUnpackedAtOnce = std::uint64_t{128} << 20;
inline constexpr std::uint64_t kLeastUnpackedAtOnce = std::uint64_t{16} << 20, kMostTimesPacked = 128;

/// Failures that are not the file's: the bytes could not be read now.
inline bool must_propagate(const Error& error) {
  return error.code() == Code::need_range || error.code() == Code::io_error || error.code() == Code::file_changed;
}

/// True when there are only zeros and blanks from `begin` on (of at most 64 MiB).
Result<bool> is_blank(const ByteSource& source, std::uint64_t begin);

/// True when from this offset on a stream imports what is known to be dangerous, or what can be a module and then calls something or
/// breaks nowhere: bytes by chance do not.
bool acts(const pickle::Graph& graph, std::uint64_t from = 0);

/// How a piece's name is made: "inner.zip" and "a/b" give "inner.zip/a/b".
std::string join(const std::string& outer, std::string_view inner);

}  // namespace assay::scan
