// SPDX-License-Identifier: Apache-2.0
// The table of tensors. A checkpoint may have a million: rows are made twice, to be measured and to be written, and not kept.
#include <algorithm>
#include <array>
#include <bit>

#include "analysis/summary.hpp"
#include "base/text.hpp"
#include "report/screens.hpp"
#include "report/units.hpp"

namespace assay::report {
namespace {

Cell ascii(std::string_view text, Tone tone = Tone::plain) { return {text, text.size(), tone}; }

class TensorRows {
 public:
  TensorRows(const Style& style, const Checkpoint& checkpoint, const analysis::Summary& summary)
      : style_(style), checkpoint_(checkpoint), summary_(summary), many_files_(checkpoint.files.size() > 1) {}

  static TableLines lines() {
    return TableLines({{.title = "NAME", .flexible = true},
                       {.title = "DTYPE"},
                       {.title = "SHAPE"},
                       {.title = "SIZE", .right = true},
                       {.title = "OFFSET", .right = true},
                       {.title = "FILE"},
                       {.title = "NOTE"}});
  }

  /// The row of a tensor. Its texts last until the next.
  std::span<const Cell> row(std::uint32_t t) {
    const Tensor& tensor = checkpoint_.tensors[t];
    const bool known = tensor.dtype != DType::unknown;
    cells_[0] = name_cell(tensor.name, name_);
    // A dtype that no table has is shown as the file spells it.
    cells_[1] = known ? ascii(dtype_name(tensor.dtype)) : name_cell(tensor.source_dtype, dtype_);
    put_shape(tensor);
    cells_[3] = size_cell(analysis::tensor_bytes(checkpoint_, tensor));
    const auto offset = checkpoint_.file_offset(tensor);
    cells_[4] = offset ? hex_cell(*offset) : Cell();
    if (many_files_) cells_[5] = file_cell(tensor);
    cells_[6] = note_cell(t);
    return cells_;
  }

 private:
  Cell name_cell(std::string_view name, std::string& shown) const {
    if (is_plain(name)) return ascii(name);
    shown = shown_name(style_, name);
    return {shown, display_width(shown)};
  }

  // Neighbours are often of one shape and size.
  void put_shape(const Tensor& tensor) {
    if (cells_[2].width > 0 && std::ranges::equal(tensor.shape, last_shape_)) return;
    shape_ = shape_text(style_, last_shape_ = tensor.shape);
    cells_[2] = {shape_, display_width(shape_)};
  }
  Cell size_cell(std::uint64_t size) {
    if (size_.empty() || size != last_size_) size_ = bytes_text(style_, last_size_ = size);
    return ascii(size_);
  }

  Cell hex_cell(std::uint64_t value) {
    const std::size_t digits = value == 0 ? 1 : (static_cast<std::size_t>(std::bit_width(value)) + 3) / 4;
    for (std::size_t i = digits; i > 0; value >>= 4) offset_[1 + i--] = "0123456789abcdef"[value & 15];
    return ascii({offset_.data(), 2 + digits}, Tone::faint);
  }

  Cell file_cell(const Tensor& tensor) {
    const CheckpointFile* file = checkpoint_.file_of(tensor);
    return file == nullptr ? Cell() : name_cell(file->name, file_);
  }

  Cell note_cell(std::uint32_t t) {
    const Tensor& tensor = checkpoint_.tensors[t];
    if (!tensor.readable) return ascii("not readable", Tone::bad);
    if (tensor.storage == kNone) return ascii("no data", Tone::faint);
    const auto tie = std::ranges::lower_bound(summary_.ties, t, {}, &analysis::Summary::Tie::tensor);
    if (tie != summary_.ties.end() && tie->tensor == t) {
      note_ = concat("tied to ", shown_name(style_, checkpoint_.tensors[tie->to].name));
      return {note_, display_width(note_), Tone::faint};
    }
    if (!tensor.contiguous()) return ascii("strided", Tone::faint);
    return ascii(summary_.shares[t].bytes == 0 && tensor.numel > 0 ? "shared" : "", Tone::faint);
  }

  const Style& style_;
  const Checkpoint& checkpoint_;
  const analysis::Summary& summary_;
  bool many_files_;
  std::array<Cell, 7> cells_;
  std::string name_, dtype_, shape_, size_, file_, note_;
  std::array<char, 18> offset_ = {'0', 'x'};
  std::span<const std::uint64_t> last_shape_;
  std::uint64_t last_size_ = 0;
};

}  // namespace

void write_tensor_table(Writer& out, const Style& style, const Checkpoint& checkpoint, const analysis::Summary& summary,
                        std::span<const std::uint32_t> order, std::size_t chosen) {
  TensorRows rows(style, checkpoint, summary);
  TableLines lines = TensorRows::lines();
  std::uint64_t parameters = 0, bytes = 0, inferred = 0;
  for (const std::uint32_t t : order) {
    lines.measure(rows.row(t));
    parameters += summary.shares[t].parameters;
    bytes += summary.shares[t].bytes;
    const std::uint32_t storage = checkpoint.tensors[t].storage;
    inferred += storage != kNone && checkpoint.storages[storage].inferred;
  }
  if (lines.begin(out, style))
    for (const std::uint32_t t : order) lines.write(out, style, rows.row(t));
  out.put(concat(chosen > order.size() ? concat(order.size(), " of ") : "", counted(std::max(chosen, order.size()), "tensor", "tensors"),
                 ", ", bytes_text(style, bytes), style.exact_bytes ? " bytes" : "", ", ", count_text(parameters),
                 parameters == 1 ? " parameter" : " parameters"));
  if (inferred > 0)
    out.put(toned(style, Tone::faint, concat("; ", counted(inferred, "offset", "offsets"), " inferred from the archive's layout")));
  out.put("\n");
}

}  // namespace assay::report
