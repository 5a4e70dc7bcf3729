// SPDX-License-Identifier: Apache-2.0
// A torch zip, laid out as torch's own writer does:
//
//   records in the order data.pkl .format_version .storage_alignment byteorder data/0 data/1 … version .data/serialization_id
//   each: local header with zero sizes and CRC; extra field [ZIP64] and "FB" + length + 'Z' padding, so that the data starts at a multiple
//   of 64; data; descriptor (none for an empty record, with 64-bit sizes where a size or the offset needs them)
//   central directory, ZIP64 end record, its locator, end record
//
// data.pkl is protocol 2 and only holds what torch.load(weights_only=True) accepts.
#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "base/arith.hpp"
#include "base/endian.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "containers/inflate.hpp"
#include "formats/write.hpp"

namespace assay::formats {

namespace {

using Bytes = std::vector<std::byte>;

constexpr std::uint32_t kMax32 = 0xffffffff;
constexpr std::uint64_t kAlignment = 64;
constexpr std::size_t kBatch = 1000;  // pairs of one SETITEMS, as Python's pickler writes them

template <class T>
void put(Bytes& out, T value) {
  std::byte bytes[sizeof(T)];
  store_le(bytes, value);
  out.insert(out.end(), bytes, bytes + sizeof bytes);
}
void put_text(Bytes& out, std::string_view text) {
  const auto* const begin = reinterpret_cast<const std::byte*>(text.data());
  out.insert(out.end(), begin, begin + text.size());
}

// ---- The archive.

struct Record {
  std::string name;
  std::uint64_t header = 0, size = 0;
  std::uint32_t crc = 0;
  bool wide() const { return size >= kMax32 || header >= kMax32; }
};

class Archive {
 public:
  Archive(std::string_view root, Bytes& out) : root_(root), out_(out) {}

  void add(std::string_view name, std::span<const std::byte> data) {
    Record record{concat(root_, "/", name), out_.size(), data.size(), crc32(data)};
    put_local(record);
    out_.insert(out_.end(), data.begin(), data.end());
    if (!data.empty()) put_descriptor(record);
    records_.push_back(std::move(record));
  }
  void add(std::string_view name, std::string_view text) { add(name, std::as_bytes(std::span(text))); }

  /// 20 digits that depend on the names and 20 that depend on the contents, as torch's id does.
  std::string identity() const {
    std::uint64_t names = kHashStart, contents = kHashStart;
    for (const Record& record : records_) {
      for (const char c : record.name) names = (names ^ static_cast<unsigned char>(c)) * kHashStep;
      contents = (contents ^ record.crc) * kHashStep;
    }
    return twenty_digits(names) + twenty_digits(contents);
  }

  void finish() {
    const std::uint64_t begin = out_.size();
    for (const Record& record : records_) put_entry(record);
    const std::uint64_t end = out_.size();
    put_end(begin, end);
  }

 private:
  static constexpr std::uint64_t kHashStart = 0xcbf29ce484222325, kHashStep = 0x100000001b3;  // FNV-1a

  static std::string twenty_digits(std::uint64_t value) {
    const std::string digits = decimal(value);
    return std::string(20 - digits.size(), '0') + digits;
  }
  static std::uint16_t flags(const Record& record) { return record.size > 0 ? 0x0808 : 0x0800; }

  void put_local(const Record& record) {
    Bytes extra;
    if (record.size >= kMax32) {
      put<std::uint16_t>(extra, 1);
      put<std::uint16_t>(extra, 16);
      put(extra, record.size);
      put<std::uint64_t>(extra, 0);  // known only behind the data
    } else if (record.header >= kMax32) {
      put<std::uint16_t>(extra, 1);
      put<std::uint16_t>(extra, 8);
      put(extra, record.header);
    }
    const std::uint64_t data = record.header + 30 + record.name.size() + extra.size() + 4;
    const std::uint64_t padding = (kAlignment - data % kAlignment) % kAlignment;
    put_text(extra, "FB");
    put(extra, static_cast<std::uint16_t>(padding));
    extra.insert(extra.end(), static_cast<std::size_t>(padding), std::byte{'Z'});

    put<std::uint32_t>(out_, 0x04034b50);
    put<std::uint16_t>(out_, 0);  // version needed
    put(out_, flags(record));
    out_.insert(out_.end(), 18, std::byte{0});  // method, time, date, CRC, sizes
    put(out_, static_cast<std::uint16_t>(record.name.size()));
    put(out_, static_cast<std::uint16_t>(extra.size()));
    put_text(out_, record.name);
    out_.insert(out_.end(), extra.begin(), extra.end());
  }

  void put_descriptor(const Record& record) {
    put<std::uint32_t>(out_, 0x08074b50);
    put(out_, record.crc);
    for (int i = 0; i < 2; ++i) {
      if (record.wide()) put(out_, record.size);
      else put(out_, static_cast<std::uint32_t>(record.size));
    }
  }

  void put_entry(const Record& record) {
    const auto narrow = [](std::uint64_t value) { return static_cast<std::uint32_t>(std::min<std::uint64_t>(value, kMax32)); };
    Bytes extra;
    if (record.wide()) {
      const bool big = record.size >= kMax32, far = record.header >= kMax32;
      put<std::uint16_t>(extra, 1);
      put(extra, static_cast<std::uint16_t>((big ? 16 : 0) + (far ? 8 : 0)));
      if (big) put(extra, record.size), put(extra, record.size);
      if (far) put(extra, record.header);
    }
    put<std::uint32_t>(out_, 0x02014b50);
    put<std::uint32_t>(out_, 0);  // versions made by and needed
    put(out_, flags(record));
    out_.insert(out_.end(), 6, std::byte{0});  // method, time, date
    put(out_, record.crc);
    put(out_, narrow(record.size));
    put(out_, narrow(record.size));
    put(out_, static_cast<std::uint16_t>(record.name.size()));
    put(out_, static_cast<std::uint16_t>(extra.size()));
    out_.insert(out_.end(), 10, std::byte{0});  // comment, disk, attributes
    put(out_, narrow(record.header));
    put_text(out_, record.name);
    out_.insert(out_.end(), extra.begin(), extra.end());
  }

  void put_end(std::uint64_t begin, std::uint64_t end) {
    const std::uint64_t count = records_.size();
    put<std::uint32_t>(out_, 0x06064b50);
    put<std::uint64_t>(out_, 44);  // of what follows
    put<std::uint16_t>(out_, 0x031e);
    put<std::uint16_t>(out_, 0x002d);
    put<std::uint64_t>(out_, 0);  // disks
    put(out_, count);
    put(out_, count);
    put(out_, end - begin);
    put(out_, begin);

    put<std::uint32_t>(out_, 0x07064b50);
    put<std::uint32_t>(out_, 0);
    put(out_, end);
    put<std::uint32_t>(out_, 1);

    put<std::uint32_t>(out_, 0x06054b50);
    put<std::uint32_t>(out_, 0);
    for (int i = 0; i < 2; ++i) put(out_, static_cast<std::uint16_t>(std::min<std::uint64_t>(count, 0xffff)));
    put(out_, static_cast<std::uint32_t>(std::min<std::uint64_t>(end - begin, kMax32)));
    put(out_, static_cast<std::uint32_t>(std::min<std::uint64_t>(begin, kMax32)));
    put<std::uint16_t>(out_, 0);
  }

  std::string_view root_;
  Bytes& out_;
  std::vector<Record> records_;
};

// ---- The pickle.

class Pickler {
 public:
  Bytes take() { return std::move(out_); }
  void op(char code) { out_.push_back(static_cast<std::byte>(code)); }
  void text(std::string_view text) {
    op('X');
    put(out_, static_cast<std::uint32_t>(text.size()));
    put_text(out_, text);
  }
  void integer(std::uint64_t value) {
    if (value <= 0xff) {
      op('K');
      put(out_, static_cast<std::uint8_t>(value));
    } else if (value <= 0xffff) {
      op('M');
      put(out_, static_cast<std::uint16_t>(value));
    } else if (value <= 0x7fffffff) {
      op('J');
      put(out_, static_cast<std::uint32_t>(value));
    } else {  // LONG1, signed: 8 bytes hold every value below 2^63
      op('\x8a');
      put<std::uint8_t>(out_, 8);
      put(out_, value);
    }
  }
  void tuple(std::span<const std::uint64_t> numbers) {
    if (numbers.empty()) return op(')');
    if (numbers.size() > 3) op('(');
    for (const std::uint64_t number : numbers) integer(number);
    op(numbers.size() > 3 ? 't' : static_cast<char>(0x84 + numbers.size()));  // TUPLE1, TUPLE2, TUPLE3
  }
  /// A text or global that is written once and fetched from the memo later.
  void shared(std::string_view module, std::string_view name) {
    const auto [at, fresh] = memo_.try_emplace({std::string(module), std::string(name)}, static_cast<std::uint8_t>(memo_.size()));
    if (!fresh) {
      op('h');
      put(out_, at->second);
      return;
    }
    if (module.empty()) {
      text(name);
    } else {
      op('c');
      put_text(out_, concat(module, "\n", name, "\n"));
    }
    op('q');
    put(out_, at->second);
  }

 private:
  Bytes out_;
  std::map<std::pair<std::string, std::string>, std::uint8_t> memo_;  // a few dozen at most: names of types
};

// torch has a storage class for these; the others go through _rebuild_tensor_v3, which names the dtype.
constexpr DType kTyped[] = {DType::f64, DType::f32, DType::f16, DType::bf16,  DType::i64, DType::i32,
                            DType::i16, DType::i8,  DType::u8,  DType::bool_, DType::c64, DType::c128};
constexpr DType kUntyped[] = {DType::f8_e5m2, DType::f8_e4m3, DType::f8_e8m0, DType::f8_e4m3fnuz, DType::f8_e5m2fnuz, DType::f4,
                              DType::u16,     DType::u32,     DType::u64,     DType::c32,         DType::bc32,        DType::bits1x8,
                              DType::bits2x4, DType::bits4x2, DType::bits8,   DType::bits16};

bool has(std::span<const DType> list, DType dtype) { return std::ranges::find(list, dtype) != list.end(); }

// The shape as torch counts it: pairs of 4-bit values are one element.
Result<std::vector<std::uint64_t>> torch_shape(const TensorToWrite& tensor) {
  std::vector<std::uint64_t> shape = tensor.shape;
  if (tensor.dtype != DType::f4) return shape;
  if (shape.empty() || shape.back() % 2 != 0)
    return fail(
        Error(Code::bad_shape, concat("shape ", bracketed(shape), " of 4-bit values does not end in an even size")).of_tensor(tensor.name));
  shape.back() /= 2;
  return shape;
}

Result<std::vector<std::uint64_t>> row_major(const TensorToWrite& tensor, std::span<const std::uint64_t> shape) {
  std::vector<std::uint64_t> stride(shape.size());
  std::uint64_t step = 1;
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  for (std::size_t i = shape.size(); i-- > 0;) {
    stride[i] = step;
    const auto next = checked_mul(step, std::max<std::uint64_t>(shape[i], 1));
    if (!next || *next > kMost || shape[i] > kMost)
      return fail(Error(Code::shape_overflow, concat("shape ", bracketed(shape), " does not fit 63 bits")).of_tensor(tensor.name));
    step = *next;
  }
  return stride;
}

Result<void> check(const TensorToWrite& tensor) {
  if (!has(kTyped, tensor.dtype) && !has(kUntyped, tensor.dtype))
    return fail(Error(Code::unsupported, concat("torch has no plain tensors of type ", dtype_name(tensor.dtype))).of_tensor(tensor.name));
  if (!valid_utf8(tensor.name) || tensor.name.size() >= kMax32)
    return fail(Error(Code::odd_name, concat("name ", quote(tensor.name), " is not UTF-8")).of_tensor(tensor.name));
  std::optional<std::uint64_t> bits = dtype_bits(tensor.dtype);
  for (const std::uint64_t size : tensor.shape)
    if (bits) bits = checked_mul(*bits, size);
  if (std::ranges::find(tensor.shape, 0u) != tensor.shape.end()) bits = 0;
  if (!bits || bits_to_bytes(*bits) != tensor.bytes.size())
    return fail(Error(Code::size_mismatch, concat("shape ", bracketed(tensor.shape), " of ", dtype_name(tensor.dtype),
                                                  " does not take the ", tensor.bytes.size(), " bytes given"))
                    .of_tensor(tensor.name));
  return {};
}

Result<void> put_tensor(Pickler& pickler, const TensorToWrite& tensor, std::uint64_t key) {
  ASSAY_TRY(const auto shape, torch_shape(tensor));
  ASSAY_TRY(const auto stride, row_major(tensor, shape));
  const bool typed = has(kTyped, tensor.dtype);
  pickler.shared("torch._utils", typed ? "_rebuild_tensor_v2" : "_rebuild_tensor_v3");
  pickler.op('(');
  pickler.op('(');
  pickler.shared("", "storage");
  if (typed) pickler.shared("torch", dtype_info(tensor.dtype).storage_class);
  else pickler.shared("torch.storage", "UntypedStorage");
  pickler.text(decimal(key));
  pickler.shared("", "cpu");
  pickler.integer(typed ? tensor.bytes.size() / (dtype_bits(tensor.dtype) / 8) : tensor.bytes.size());
  pickler.op('t');
  pickler.op('Q');
  pickler.integer(0);
  pickler.tuple(shape);
  pickler.tuple(stride);
  pickler.op('\x89');  // requires_grad: False
  pickler.shared("collections", "OrderedDict");
  pickler.op(')');
  pickler.op('R');
  if (!typed) pickler.shared("torch", dtype_info(tensor.dtype).torch);
  pickler.op('t');
  pickler.op('R');
  return {};
}

}  // namespace

Result<std::vector<std::byte>> write_torch_zip(std::span<const TensorToWrite> tensors, std::string_view root) {
  if (root.empty() || root.size() > 1024 || root.find_first_of("/\\") != std::string_view::npos || !valid_utf8(root))
    return fail(Code::usage, concat("archive folder ", quote(root), " is not one plain name"));
  Pickler pickler;
  for (const char code : {'\x80', '\x02'}) pickler.op(code);
  pickler.shared("collections", "OrderedDict");
  pickler.op(')');
  pickler.op('R');

  // Tensors on the same bytes stay tied.
  std::map<std::tuple<const std::byte*, std::size_t, DType>, std::uint64_t> keys;
  std::vector<std::span<const std::byte>> storages;
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const TensorToWrite& tensor = tensors[i];
    ASSAY_CHECK(check(tensor));
    if (!names.insert(tensor.name).second) return fail(Code::duplicate_name, concat("two tensors are named ", quote(tensor.name)));
    std::uint64_t key = storages.size();
    if (!tensor.bytes.empty()) key = keys.try_emplace({tensor.bytes.data(), tensor.bytes.size(), tensor.dtype}, key).first->second;
    if (key == storages.size()) storages.push_back(tensor.bytes);
    if (i % kBatch == 0) pickler.op('(');
    pickler.text(tensor.name);
    ASSAY_CHECK(put_tensor(pickler, tensor, key));
    if (i % kBatch == kBatch - 1 || i + 1 == tensors.size()) pickler.op('u');
  }
  pickler.op('.');

  Bytes out;
  Archive archive(root, out);
  archive.add("data.pkl", pickler.take());
  archive.add(".format_version", "1");
  archive.add(".storage_alignment", decimal(kAlignment));
  archive.add("byteorder", "little");
  for (std::size_t i = 0; i < storages.size(); ++i) archive.add(concat("data/", i), storages[i]);
  archive.add("version", "3\n");
  archive.add(".data/serialization_id", archive.identity());
  archive.finish();
  return out;
}

}  // namespace assay::formats
