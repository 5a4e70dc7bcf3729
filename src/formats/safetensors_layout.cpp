// SPDX-License-Identifier: Apache-2.0
#include "formats/safetensors_layout.hpp"

#include <algorithm>
#include <numeric>

#include "base/arith.hpp"
#include "base/sort.hpp"
#include "base/text.hpp"
#include "containers/download.hpp"
#include "formats/cut_file.hpp"

namespace assay::formats::safetensors {

namespace {

constexpr std::size_t kNamesShown = 5, kNamesListed = 100;

std::string range(std::uint64_t begin, std::uint64_t end) { return concat('[', begin, ", ", end, ')'); }

/// Left to right as the reference multiplies, so that a zero in front saves what follows it.
std::optional<std::uint64_t> product(std::span<const std::uint64_t> shape) {
  std::uint64_t result = 1;
  for (const std::uint64_t dimension : shape) {
    const auto next = checked_mul(result, dimension);
    if (!next) return std::nullopt;
    result = *next;
  }
  return result;
}

constexpr std::uint64_t kLargestAlignment = 8;  // of any dtype

/// Elements are read at this multiple by readers that map a file; complex numbers are two floats.
std::uint64_t alignment(DType dtype) {
  const unsigned bits = dtype_bits(dtype);
  return dtype_info(dtype).kind == DTypeKind::complex ? bits / 16 : std::max(bits / 8, 1u);
}

}  // namespace

std::optional<DType> dtype_of(std::string_view name) {
  const auto dtype = dtype_from_name(name);
  // The rows behind U64 are torch's own.
  return dtype && *dtype <= DType::u64 ? dtype : std::nullopt;
}

Layout::Layout(std::uint64_t data_start, std::uint64_t file_size, std::size_t expected)
    : data_start_(data_start), data_size_(file_size - data_start), file_size_(file_size), names_(expected) {}

void Layout::reserve(std::size_t tensors) {
  tensors_.reserve(tensors);
  storages_.reserve(tensors);
}

void Layout::refuse(Tensor& tensor, const Claim& claim, Code code, std::string message) {
  tensor.readable = false;
  findings_.add(Finding(code, std::move(message), Where{.tensor = std::string(claim.name), .offset = claim.at}));
}

void Layout::check_name(std::size_t index) {
  const std::string_view name = tensors_[index].name;
  const auto [tag, at] = announced_[index % kAnnounced];
  const std::uint32_t earlier =
      names_.insert(name, tag, static_cast<std::uint32_t>(index), [this](std::uint32_t i) { return tensors_[i].name; });
  if (earlier != kNone)
    findings_.add(Finding(Code::duplicate_name, concat("the name ", quote(name), " appears twice: entries ", earlier, " and ", index),
                          Where{.tensor = std::string(name), .offset = at}));
  if (name.empty()) findings_.add(Finding(Code::odd_name, "a tensor's name is empty", Where{.offset = at}));
}

/// Lists the tensor, and its place where it has one.
Tensor& Layout::list(const Claim& claim, DType dtype) {
  const std::size_t index = tensors_.size();
  if (index >= kAnnounced) check_name(index - kAnnounced);
  announced_[index % kAnnounced] = {names_.announce(claim.name), claim.at};
  Tensor& tensor = tensors_.emplace_back();
  tensor.name = claim.name;
  tensor.source_dtype = claim.dtype;
  tensor.dtype = dtype;
  tensor.shape = claim.shape;
  if (!claim.placed) return tensor;
  tensor.storage = static_cast<std::uint32_t>(storages_.size());
  Storage& storage = storages_.emplace_back();
  storage.offset = data_start_ + claim.begin;
  storage.nbytes = claim.end - claim.begin;
  if (claim.end > data_size_) {
    tensor.readable = false;
    ++cut_;
  }
  largest_end_ = std::max(largest_end_, claim.end);
  if (claim.begin == running_end_) running_end_ = claim.end;
  else in_order_ = false;
  return tensor;
}

void Layout::add_broken(Claim claim, Code code, std::string message) {
  claim.placed = claim.placed && claim.begin <= claim.end && checked_add(data_start_, claim.end);
  unplaced_ = unplaced_ || !claim.placed;
  refuse(list(claim, dtype_of(claim.dtype).value_or(DType::unknown)), claim, code, std::move(message));
}

void Layout::check_size(Tensor& tensor, const Claim& claim) {
  // Neighbours are often of one shape and dtype.
  if (claim.shape.data() != sized_.shape.data() || claim.shape.size() != sized_.shape.size() || tensor.dtype != sized_.dtype)
    sized_ = {claim.shape, tensor.dtype, product(claim.shape), dtype_bits(tensor.dtype)};
  const auto& numel = sized_.numel;
  const auto bits = numel ? checked_mul(*numel, sized_.element_bits) : std::nullopt;
  if (numel) tensor.numel = *numel;
  if (!bits)
    return refuse(tensor, claim, Code::shape_overflow,
                  concat("shape ", bracketed(claim.shape), " of ", claim.dtype, " needs more than 2^64 ", numel ? "bits" : "elements"));
  const std::uint64_t nbytes = claim.end - claim.begin;
  if (tensor.dtype == DType::unknown) return;
  if (*bits % 8 != 0)
    refuse(tensor, claim, Code::size_mismatch,
           concat("shape ", bracketed(claim.shape), " of ", claim.dtype, " is ", *bits, " bits, not whole bytes; data_offsets ",
                  range(claim.begin, claim.end), " hold ", nbytes, " bytes"));
  else if (*bits / 8 != nbytes)
    refuse(tensor, claim, Code::size_mismatch,
           concat("shape ", bracketed(claim.shape), " of ", claim.dtype, " needs ", *bits / 8, " bytes, data_offsets ",
                  range(claim.begin, claim.end), " hold ", nbytes));
}

void Layout::add(const Claim& claim, DType dtype) {
  if (claim.begin > claim.end)
    return add_broken(claim, Code::bad_header, concat("data_offsets [", claim.begin, ", ", claim.end, "] run backwards"));
  if (!checked_add(data_start_, claim.end))
    return add_broken(claim, Code::bad_header, concat("data_offsets ", range(claim.begin, claim.end), " pass 2^64"));
  Tensor& tensor = list(claim, dtype);
  check_size(tensor, claim);
  const std::uint64_t nbytes = claim.end - claim.begin;
  if (dtype == DType::unknown) {
    const bool empty = claim.dtype.empty();
    refuse(tensor, claim, empty ? Code::bad_dtype : Code::unknown_dtype,
           empty ? std::string("the dtype is empty")
                 : concat("unknown dtype ", quote(claim.dtype), "; its data is ", nbytes, nbytes == 1 ? " byte" : " bytes"));
  } else if (((data_start_ + claim.begin) & (kLargestAlignment - 1)) != 0 && ((data_start_ + claim.begin) & (alignment(dtype) - 1)) != 0 &&
             nbytes != 0) {
    if (misaligned_++ == 0) first_misaligned_ = static_cast<std::uint32_t>(tensors_.size() - 1);
  }
}

void Layout::report_overlap(const Tensor& first, const Tensor& second) {
  const Storage& a = storages_[first.storage];
  const Storage& b = storages_[second.storage];
  // The same name twice on the same bytes is told as a duplicate.
  if (first.name == second.name && a.offset == b.offset && a.nbytes == b.nbytes) return;
  const std::uint64_t a_begin = a.offset - data_start_, b_begin = b.offset - data_start_;
  findings_.add(
      Finding(Code::overlap,
              concat(quote(second.name), ' ', range(b_begin, b_begin + b.nbytes), " overlaps ", quote(first.name), ' ',
                     range(a_begin, a_begin + a.nbytes)),
              Where{.tensor = std::string(second.name), .offset = b.offset, .length = std::min(a.offset + a.nbytes - b.offset, b.nbytes)},
              std::vector<Fact>{{"other", std::string(first.name)}}));
}

/// A tensor without bytes holds nothing that could be wrong, but the reference reader wants it where another begins or ends.
void Layout::check_empty(std::span<const std::uint32_t> order) {
  for (const Tensor& tensor : tensors_) {
    if (tensor.storage == kNone || !tensor.readable) continue;
    const Storage& empty = storages_[tensor.storage];
    if (empty.nbytes != 0 || empty.offset == data_start_) continue;
    const auto begin_of = [this](std::uint32_t i) { return storages_[tensors_[i].storage].offset; };
    const auto behind = std::ranges::upper_bound(order, empty.offset, {}, begin_of);
    if (behind != order.begin()) {
      const Storage& before = storages_[tensors_[behind[-1]].storage];
      if (before.offset == empty.offset || before.offset + before.nbytes == empty.offset) continue;
    }
    const std::uint64_t at = empty.offset - data_start_;
    Finding finding(Code::overlap,
                    concat(quote(tensor.name), ' ', range(at, at),
                           " is empty and stands where no tensor begins or ends; the reference reader ", "refuses such a file"),
                    Where{.tensor = std::string(tensor.name), .offset = empty.offset});
    finding.severity = Severity::warning;
    findings_.add(std::move(finding));
  }
}

/// Overlaps and gaps.
void Layout::check_neighbours() {
  if (in_order_) return;
  std::vector<std::uint32_t> order;
  order.reserve(tensors_.size());
  for (std::uint32_t i = 0; i < tensors_.size(); ++i)
    if (tensors_[i].storage != kNone && storages_[tensors_[i].storage].nbytes != 0) order.push_back(i);
  const auto place = [this](std::uint32_t i) -> const Storage& { return storages_[tensors_[i].storage]; };
  sort_stable(order, [&](std::uint32_t a, std::uint32_t b) {
    if (place(a).offset != place(b).offset) return place(a).offset < place(b).offset;
    return place(a).nbytes != place(b).nbytes ? place(a).nbytes < place(b).nbytes : a < b;
  });
  std::uint64_t running = data_start_;
  std::uint32_t holder = kNone;  // the tensor that reaches furthest
  for (const std::uint32_t i : order) {
    const Storage& storage = place(i);
    if (storage.offset < running) report_overlap(tensors_[holder], tensors_[i]);
    if (storage.offset > running && running < file_size_ && !unplaced_) {
      const std::uint64_t length = storage.offset - running;
      findings_.add(Finding(Code::gap,
                            concat(length, length == 1 ? " byte" : " bytes", " before ", quote(tensors_[i].name), " belong to no tensor"),
                            Where{.offset = running, .length = length}));
    }
    if (holder == kNone || storage.offset + storage.nbytes > running) running = storage.offset + storage.nbytes, holder = i;
  }
  check_empty(order);
}

void Layout::report_cut() {
  const std::uint64_t promised = data_start_ + largest_end_;
  const std::uint64_t whole = tensors_.size() - cut_;
  std::vector<std::string> names;
  for (const Tensor& tensor : tensors_) {
    if (tensor.storage == kNone) continue;
    const Storage& storage = storages_[tensor.storage];
    if (!within(storage.offset, storage.nbytes, file_size_) && names.size() < kNamesListed) names.emplace_back(tensor.name);
  }
  std::string first = names.empty() ? std::string() : names.front();
  std::string what = concat("the header promises ", grouped(promised), " bytes, the file has ", grouped(file_size_), "; ", whole, " of ",
                            counted(tensors_.size(), "tensor is", "tensors are"), " whole, lost: ", name_list(names, kNamesShown, cut_));
  findings_.add(
      Finding(Code::truncated, std::move(what),
              Where{.tensor = cut_ == 1 ? std::move(first) : std::string(), .offset = file_size_, .length = promised - file_size_},
              std::vector<Fact>{{"expected", promised},
                                {"found", file_size_},
                                {"missing", promised - file_size_},
                                {"tensors_whole", whole},
                                {"tensors_cut", cut_},
                                {"cut", std::move(names)}}));
}

void Layout::report_restart(std::uint64_t again) {
  std::uint64_t lost = 0;
  for (Tensor& tensor : tensors_) {
    if (tensor.storage == kNone || storages_[tensor.storage].offset + storages_[tensor.storage].nbytes <= again) continue;
    tensor.readable = false;
    ++lost;
  }
  Finding finding(
      Code::trailing_bytes,
      concat(words_of_restart(again), "; ", lost, " of ", counted(tensors_.size(), "tensor holds", "tensors hold"), " what is not its own"),
      Where{.offset = again, .length = end()}, std::vector<Fact>{{"tensors_cut", lost}});
  finding.severity = Severity::damage;
  findings_.add(std::move(finding));
}

void Layout::check_end(std::uint64_t again) {
  if (cut_ != 0) return report_cut();
  if (again != 0) return report_restart(again);
  // Bytes may belong to a tensor that lost its place.
  if (largest_end_ >= data_size_ || unplaced_) return;
  const std::uint64_t left = data_size_ - largest_end_;
  findings_.add(Finding(Code::trailing_bytes, concat(grouped(left), left == 1 ? " byte" : " bytes", " behind the last tensor"),
                        Where{.offset = data_start_ + largest_end_, .length = left}));
}

void Layout::break_off(Finding why) {
  unplaced_ = true;
  why.severity = Severity::damage;
  why.message += concat("; ", counted(tensors_.size(), "tensor", "tensors"), tensors_.size() == 1 ? " is" : " are", " listed before it");
  findings_.add_first(std::move(why));
}

void Layout::check_alignment() {
  if (misaligned_ == 0) return;
  const Tensor& first = tensors_[first_misaligned_];
  findings_.add(Finding(Code::misaligned,
                        concat(counted(misaligned_, "tensor does", "tensors do"), " not start at a multiple of the element size, ",
                               misaligned_ == 1 ? "" : "first ", quote(first.name), " at ", hex(storages_[first.storage].offset)),
                        Where{.tensor = std::string(first.name), .offset = storages_[first.storage].offset},
                        std::vector<Fact>{{"tensors", misaligned_}}));
}

void Layout::finish(Checkpoint& checkpoint, std::uint64_t again) {
  for (std::size_t i = tensors_.size() - std::min(tensors_.size(), kAnnounced); i < tensors_.size(); ++i) check_name(i);
  check_neighbours();
  check_end(again);
  check_alignment();
  if (tensors_.empty()) findings_.add(Finding(Code::no_tensors, "the header lists no tensors"));
  checkpoint.tensors = std::move(tensors_);
  checkpoint.storages = std::move(storages_);
  checkpoint.metadata = std::move(metadata_);
  if (findings_.any_at_least(Severity::damage)) checkpoint.complete = false;
  checkpoint.findings = std::move(findings_);
}

}  // namespace assay::formats::safetensors
