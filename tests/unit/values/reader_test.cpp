// SPDX-License-Identifier: Apache-2.0
// Reads through strides against a reference that walks bit by bit, over random layouts and every kind of source.
#include "assay/values.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "values/blocks.hpp"
#include "values/decode.hpp"

namespace assay {
namespace {

using Bytes = std::vector<std::byte>;
using Numbers = std::vector<std::uint64_t>;

/// A file that can only be read, as pread does it; counts the reads.
class ReadSource final : public ByteSource {
 public:
  explicit ReadSource(Bytes bytes) : bytes_(std::move(bytes)) {}
  std::uint64_t size() const override { return bytes_.size(); }
  Result<void> read(std::uint64_t offset, std::span<std::byte> out) const override {
    ++reads;
    if (offset > bytes_.size() || out.size() > bytes_.size() - offset) return fail(Code::truncated, "past the end");
    std::memcpy(out.data(), bytes_.data() + offset, out.size());
    return {};
  }
  mutable int reads = 0;

 private:
  Bytes bytes_;
};

/// A large file without bytes: each 8-byte word holds its own offset.
class CountingSource final : public ByteSource {
 public:
  explicit CountingSource(std::uint64_t size) : size_(size) {}
  std::uint64_t size() const override { return size_; }
  Result<void> read(std::uint64_t offset, std::span<std::byte> out) const override {
    ++reads;
    bytes_read += out.size();
    for (std::size_t i = 0; i < out.size(); ++i) {
      const std::uint64_t at = offset + i;
      out[i] = static_cast<std::byte>((at & ~std::uint64_t{7}) >> (8 * (at % 8)) & 0xff);
    }
    return {};
  }
  mutable std::uint64_t reads = 0, bytes_read = 0;

 private:
  std::uint64_t size_;
};

class FakeProducer final : public Producer {
 public:
  FakeProducer(Bytes bytes, int* loads) : bytes_(std::move(bytes)), loads_(loads) {}
  Result<ByteBlock> load(const ByteSource&) const override {
    ++*loads_;
    auto copy = std::make_unique<std::byte[]>(bytes_.size());
    std::memcpy(copy.get(), bytes_.data(), bytes_.size());
    return ByteBlock(std::move(copy), bytes_.size(), 0);
  }

 private:
  Bytes bytes_;
  int* loads_;
};

/// One tensor on one storage, and what owns its dimensions.
struct Fixture {
  Checkpoint checkpoint;
  Numbers shape, stride;

  Fixture(DType dtype, Numbers shape_, Numbers stride_, std::uint64_t offset, std::shared_ptr<ByteSource> source,
          std::uint64_t storage_at = 0)
      : shape(std::move(shape_)), stride(std::move(stride_)) {
    checkpoint.files.push_back({"file", source->size(), source});
    Storage storage;
    storage.offset = storage_at;
    storage.nbytes = source->size() - storage_at;
    checkpoint.storages.push_back(storage);
    Tensor tensor;
    tensor.name = "t";
    tensor.dtype = dtype;
    tensor.shape = shape;
    tensor.stride = stride;
    tensor.storage_offset = offset;
    tensor.numel = 1;
    for (const std::uint64_t size : shape) tensor.numel *= size;
    tensor.storage = 0;
    checkpoint.tensors.push_back(tensor);
  }
  Fixture(const Fixture&) = delete;
  Tensor& tensor() { return checkpoint.tensors[0]; }
  Storage& storage() { return checkpoint.storages[0]; }
  TensorReader open() {
    auto reader = TensorReader::open(checkpoint, tensor());
    EXPECT_TRUE(reader.has_value()) << reader.error().what();
    return *std::move(reader);
  }
  Code refusal() {
    const auto reader = TensorReader::open(checkpoint, tensor());
    return reader ? Code::internal : reader.error().code();
  }
};

Fixture make(DType dtype, Numbers shape, Numbers stride, std::uint64_t offset, std::shared_ptr<ByteSource> source) {
  return Fixture(dtype, std::move(shape), std::move(stride), offset, std::move(source));
}

Bytes random_bytes(std::mt19937_64& random, std::size_t n) {
  Bytes bytes(n);
  for (auto& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

/// Element number `position` in logical order, found by dividing the position through the shape and copying bit by bit.
Bytes naive_element(const Bytes& storage, const Tensor& tensor, std::uint64_t position, bool big_endian) {
  std::uint64_t element = tensor.storage_offset, row_major = 1;
  for (std::size_t d = tensor.shape.size(); d-- > 0;) {
    element += position % tensor.shape[d] * (tensor.stride.empty() ? row_major : tensor.stride[d]);
    row_major *= tensor.shape[d];
    position /= tensor.shape[d];
  }
  const unsigned bits = dtype_bits(tensor.dtype);
  Bytes code(values::decoder(tensor.dtype).raw_size);
  for (unsigned b = 0; b < bits; ++b) {
    const std::uint64_t at = element * bits + b;
    const unsigned bit = std::to_integer<unsigned>(storage[at / 8]) >> (at % 8) & 1;
    code[b / 8] |= static_cast<std::byte>(bit << (b % 8));
  }
  const std::size_t unit = values::decoder(tensor.dtype).swap_unit();
  if (big_endian)
    for (std::size_t i = 0; i < code.size(); i += unit)
      std::reverse(code.begin() + static_cast<long>(i), code.begin() + static_cast<long>(i + unit));
  return code;
}

Bytes naive(const Bytes& storage, const Tensor& tensor, std::uint64_t first, std::uint64_t n, bool big_endian) {
  Bytes all;
  for (std::uint64_t i = 0; i < n; ++i) {
    const Bytes code = naive_element(storage, tensor, first + i, big_endian);
    all.insert(all.end(), code.begin(), code.end());
  }
  return all;
}

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

struct RandomLayout {
  Numbers shape, stride;
  std::uint64_t offset = 0, elements = 1;  // `elements`: how many the storage must have
};

/// Up to 6 dimensions: row-major, permuted, gapped, zero or overlapping strides.
RandomLayout random_layout(std::mt19937_64& random) {
  RandomLayout made;
  const std::size_t rank = random() % 7;
  for (std::size_t d = 0; d < rank; ++d) made.shape.push_back(1 + random() % (rank > 3 ? 4 : 9));
  made.offset = random() % 11;
  if (rank > 0 && random() % 5 != 0) {
    Numbers order(rank);
    for (std::size_t d = 0; d < rank; ++d) order[d] = d;
    if (random() % 2 == 0) std::shuffle(order.begin(), order.end(), random);
    made.stride.resize(rank);
    std::uint64_t step = 1 + random() % 2;
    for (std::size_t d = rank; d-- > 0;) {
      made.stride[order[d]] = random() % 6 == 0 ? random() % 3 : step;
      step *= made.shape[order[d]];
      if (random() % 4 == 0) step += random() % 5;
    }
  }
  std::uint64_t last = made.offset, row_major = 1;
  for (std::size_t d = rank; d-- > 0;) {
    last += (made.shape[d] - 1) * (made.stride.empty() ? row_major : made.stride[d]);
    row_major *= made.shape[d];
  }
  made.elements = last + 1;
  return made;
}

const DType kKinds[] = {DType::f4,  DType::f6_e2m3, DType::f6_e3m2, DType::u8,  DType::bool_, DType::bf16, DType::f16,
                        DType::i32, DType::f32,     DType::c32,     DType::c64, DType::f64,   DType::u64,  DType::c128};

enum class How : int { memory, pread, ranges, producer };

/// The file: 3 bytes of something else, then the storage.
std::shared_ptr<ByteSource> source_of(How how, const Bytes& file) {
  if (how == How::pread) return std::make_shared<ReadSource>(file);
  if (how == How::memory || how == How::producer) return std::make_shared<MemorySource>(file);
  auto ranges = std::make_shared<RangeSource>(file.size());
  ranges->add(0, file);
  return ranges;
}

void expect_reads_like_naive(Fixture& fixture, const Bytes& storage, std::mt19937_64& random) {
  const TensorReader reader = fixture.open();
  const Tensor& tensor = fixture.tensor();
  const bool big = fixture.storage().big_endian;
  for (int trial = 0; trial < 4; ++trial) {
    const std::uint64_t first = trial == 0 ? 0 : random() % (tensor.numel + 1);
    const std::uint64_t n = trial == 0 ? tensor.numel : random() % (tensor.numel - first + 1);
    Bytes raw(n * reader.raw_size());
    ASSERT_TRUE(reader.read_raw(first, n, raw));
    const Bytes expected = naive(storage, tensor, first, n, big);
    ASSERT_EQ(raw, expected) << "first " << first << ", n " << n;

    const values::Decoder& decoder = values::decoder(tensor.dtype);
    std::vector<double> parts(n * decoder.reals), decoded(n);
    decoder.to_f64(expected.data(), parts.size(), parts.data());
    ASSERT_TRUE(reader.read_f64(first, decoded));
    std::vector<std::complex<double>> pairs(n);
    ASSERT_TRUE(reader.read_complex(first, pairs));
    for (std::size_t i = 0; i < n; ++i) {
      const double re = parts[i * decoder.reals], im = decoder.reals == 2 ? parts[2 * i + 1] : 0;
      const double want_re = tensor.neg ? -re : re, want_im = tensor.neg != tensor.conj ? -im : im;
      ASSERT_TRUE(same(decoded[i], want_re));
      ASSERT_TRUE(same(pairs[i].real(), want_re));
      ASSERT_TRUE(same(pairs[i].imag(), want_im));
    }
  }
  if (const auto view = reader.plain_view()) {
    ASSERT_EQ(Bytes(view->span().begin(), view->span().end()), naive(storage, tensor, 0, tensor.numel, big));
  }
}

TEST(Reader, RandomLayoutsReadAsTheReferenceDoes) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 1500; ++round) {
    const RandomLayout layout = random_layout(random);
    const DType dtype = kKinds[random() % std::size(kKinds)];
    const Bytes storage = random_bytes(random, (layout.elements * dtype_bits(dtype) + 7) / 8);
    const auto how = static_cast<How>(random() % 4);
    Bytes file(3);
    file.insert(file.end(), storage.begin(), storage.end());
    Fixture fixture(dtype, layout.shape, layout.stride, layout.offset, source_of(how, file), 3);
    SCOPED_TRACE(std::string(dtype_name(dtype)) + " round " + std::to_string(round) + " source " + std::to_string(static_cast<int>(how)));
    int loads = 0;
    if (how == How::producer) fixture.storage().producer = std::make_shared<FakeProducer>(storage, &loads);
    fixture.storage().big_endian = random() % 3 == 0;
    fixture.tensor().neg = random() % 4 == 0;
    fixture.tensor().conj = random() % 4 == 0;
    expect_reads_like_naive(fixture, storage, random);
    if (HasFatalFailure()) return;
    ASSERT_EQ(loads, how == How::producer ? 1 : 0);
  }
}

TEST(Reader, LargeStridedTensorsReadInBlocks) {
  std::mt19937_64 random(2);
  // 300 x 700 floats, transposed, and every other column: more than one block, with and without mapping.
  const Bytes storage = random_bytes(random, 300 * 700 * 4);
  for (const How how : {How::memory, How::pread, How::ranges, How::producer}) {
    for (const bool transposed : {true, false}) {
      const Numbers shape = transposed ? Numbers{700, 300} : Numbers{300, 350};
      const Numbers stride = transposed ? Numbers{1, 700} : Numbers{700, 2};
      Fixture fixture(DType::f32, shape, stride, 0, source_of(how, storage));
      int loads = 0;
      if (how == How::producer) fixture.storage().producer = std::make_shared<FakeProducer>(storage, &loads);
      const TensorReader reader = fixture.open();
      std::vector<float> out(fixture.tensor().numel);
      ASSERT_TRUE(reader.read_f32(0, out));
      Bytes raw(out.size() * 4);
      ASSERT_TRUE(reader.read_raw(0, out.size(), raw));
      ASSERT_EQ(raw, naive(storage, fixture.tensor(), 0, out.size(), false));
      for (std::size_t i = 0; i < out.size(); ++i) {
        const std::size_t at = transposed ? i % 300 * 700 + i / 300 : i / 350 * 700 + i % 350 * 2;
        float expected;
        std::memcpy(&expected, storage.data() + at * 4, 4);
        ASSERT_TRUE(out[i] == expected || (std::isnan(out[i]) && std::isnan(expected))) << i;
      }
      std::uint64_t seen = 0;
      ASSERT_TRUE(values::for_each_block(reader, [&](std::uint64_t first, std::span<const double> block) -> Result<void> {
        EXPECT_EQ(first, seen);
        for (std::size_t i = 0; i < block.size(); ++i) EXPECT_TRUE(block[i] == out[first + i] || std::isnan(out[first + i]));
        seen += block.size();
        return {};
      }));
      EXPECT_EQ(seen, out.size());
      EXPECT_EQ(loads, how == How::producer ? 1 : 0);
    }
  }
}

TEST(Reader, StridedReadsDoNotReadPerElement) {
  std::mt19937_64 random(3);
  auto source = std::make_shared<ReadSource>(random_bytes(random, 512 * 512 * 4));
  Fixture fixture(DType::f32, {512, 512}, {1, 512}, 0, source);
  const TensorReader reader = fixture.open();
  std::vector<float> out(512 * 512);
  ASSERT_TRUE(reader.read_f32(0, out));
  EXPECT_LE(source->reads, 2);
}

TEST(Reader, AStorageTooLargeToHoldIsReadThroughPages) {
  // 4096 x 4096 doubles are 128 MiB; 64 columns of it, read as rows.
  auto source = std::make_shared<CountingSource>(std::uint64_t{4096} * 4096 * 8);
  Fixture fixture(DType::u64, {64, 4096}, {1, 4096}, 100, source);
  const TensorReader reader = fixture.open();
  std::vector<std::uint64_t> out(64 * 4096);
  ASSERT_TRUE(reader.read_u64(0, out));
  for (std::uint64_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], (100 + i / 4096 + i % 4096 * 4096) * 8);
  // One page of 16 KiB for each of 4096 places, each read once.
  EXPECT_EQ(source->reads, 4096u);
  EXPECT_LE(source->bytes_read, std::uint64_t{4096} * (16 << 10));
}

TEST(Reader, PagesGiveWayToNewOnes) {
  // Three walks across 2^17 places 32 KiB apart, each a page further on: more pages than can be held at once.
  auto source = std::make_shared<CountingSource>(std::uint64_t{1} << 33);
  Fixture fixture(DType::u64, {3, 1 << 17}, {1 << 11, 1 << 12}, 0, source);
  const TensorReader reader = fixture.open();
  std::vector<std::uint64_t> out(3 << 17);
  ASSERT_TRUE(reader.read_u64(1000, std::span(out).first(200000)));
  for (std::uint64_t i = 0; i < 200000; ++i) {
    const std::uint64_t at = 1000 + i;
    ASSERT_EQ(out[i], ((at >> 17) * (1 << 11) + (at & ((1 << 17) - 1)) * (1 << 12)) * 8);
  }
}

TEST(Reader, BatchesOfTransposedMatricesAreNotReadOverAndOver) {
  // 10 transposed matrices of 1024 x 1024 doubles, 80 MiB in all: each of the 320 blocks spans 8 MiB.
  auto source = std::make_shared<CountingSource>(std::uint64_t{10} << 23);
  Fixture fixture(DType::u64, {10, 1024, 1024}, {1 << 20, 1, 1024}, 0, source);
  const TensorReader reader = fixture.open();
  std::vector<std::uint64_t> block(1 << 15);
  for (std::uint64_t first = 0; first < fixture.tensor().numel; first += block.size()) {
    ASSERT_TRUE(reader.read_u64(first, block));
    const std::uint64_t row = first >> 10 & 1023;
    ASSERT_EQ(block[5], ((first >> 20 << 20) + row + 5 * 1024) * 8);
  }
  EXPECT_LE(source->bytes_read, 4 * source->size());
}

TEST(Reader, ASmallReadOfAWideSpanAsksForNoMoreThanItNeeds) {
  auto source = std::make_shared<RangeSource>(std::uint64_t{1} << 20);
  source->add(4096, Bytes(64, std::byte{1}));
  Fixture fixture(DType::u8, {1024, 1024}, {1, 1024}, 0, source);
  const TensorReader reader = fixture.open();
  std::vector<double> out(3);
  // Elements (0, 0), (0, 1) and (0, 2) stand at bytes 0, 1024 and 2048.
  const auto missing = reader.read_f64(0, out);
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().code(), Code::need_range);
  EXPECT_EQ(missing.error().where().offset, 0u);
  EXPECT_EQ(missing.error().where().length, 2049u);
  EXPECT_EQ(missing.error().where().tensor, "t");
}

TEST(Reader, APlainViewIsTheMappedBytes) {
  std::mt19937_64 random(4);
  auto source = std::make_shared<MemorySource>(random_bytes(random, 64));
  Fixture fixture(DType::f32, {2, 4}, {4, 1}, 2, source);
  const auto view = fixture.open().plain_view();
  ASSERT_TRUE(view.has_value());
  EXPECT_EQ(view->data(), source->mapped(8, 32)->data());
  EXPECT_EQ(view->size(), 32u);
  EXPECT_EQ(view->offset(), 8u);
  EXPECT_FALSE(fixture.open().typed_view<double>().has_value());
  fixture.tensor().neg = true;
  EXPECT_FALSE(fixture.open().plain_view().has_value());
  fixture.tensor().neg = false;
  fixture.storage().big_endian = true;
  EXPECT_FALSE(fixture.open().plain_view().has_value());
  fixture.storage().big_endian = false;
  fixture.stride[0] = 1;
  EXPECT_FALSE(fixture.open().plain_view().has_value());
  auto unmapped = make(DType::f32, {4}, {}, 0, std::make_shared<ReadSource>(Bytes(16)));
  EXPECT_FALSE(unmapped.open().plain_view().has_value());
}

TEST(Reader, RequestsOutOfRangeAreErrors) {
  auto fixture = make(DType::u8, {2, 2}, {}, 0, std::make_shared<MemorySource>(Bytes(4)));
  const TensorReader reader = fixture.open();
  std::vector<double> out(3);
  EXPECT_EQ(reader.read_f64(2, out).error().code(), Code::usage);
  EXPECT_EQ(reader.read_f64(UINT64_MAX, out).error().code(), Code::usage);
  EXPECT_TRUE(reader.read_f64(4, std::span(out).first(0)));
  EXPECT_EQ(reader.read_f64(5, std::span(out).first(0)).error().code(), Code::usage);
  Bytes raw(3);
  EXPECT_EQ(reader.read_raw(0, 2, raw).error().code(), Code::usage);
  EXPECT_EQ(reader.read_raw(0, 5, raw).error().code(), Code::usage);
  EXPECT_EQ(reader.read_raw(0, UINT64_MAX, raw).error().code(), Code::usage);
}

TEST(Reader, NothingIsTrustedAtOpen) {
  const auto source = std::make_shared<MemorySource>(Bytes(16));
  EXPECT_EQ(make(DType::u8, {17}, {}, 0, source).refusal(), Code::out_of_storage);
  EXPECT_EQ(make(DType::u8, {16}, {}, 1, source).refusal(), Code::out_of_storage);
  EXPECT_EQ(make(DType::u8, {2, 2}, {16, 1}, 0, source).refusal(), Code::out_of_storage);
  EXPECT_EQ(make(DType::u8, {2, 2}, {UINT64_MAX, 1}, 0, source).refusal(), Code::out_of_storage);
  EXPECT_EQ(make(DType::u8, {3}, {UINT64_MAX}, 0, source).refusal(), Code::out_of_storage);
  EXPECT_EQ(make(DType::u8, {2}, {1}, UINT64_MAX, source).refusal(), Code::out_of_storage);
  EXPECT_EQ(make(DType::f64, {1}, {1}, std::uint64_t{1} << 61, source).refusal(), Code::out_of_storage);
  EXPECT_EQ(make(DType::f4, {33}, {}, 0, source).refusal(), Code::out_of_storage);
  EXPECT_EQ(make(DType::u8, {2, 2}, {1}, 0, source).refusal(), Code::bad_stride);
  EXPECT_EQ(make(DType::u8, {std::uint64_t{1} << 33, std::uint64_t{1} << 33}, {}, 0, source).refusal(), Code::shape_overflow);
  EXPECT_EQ(make(DType::u8, Numbers(65, 1), {}, 0, source).refusal(), Code::limit_exceeded);
  EXPECT_EQ(make(DType::unknown, {1}, {}, 0, source).refusal(), Code::unknown_dtype);

  auto wrong_numel = make(DType::u8, {2}, {}, 0, source);
  wrong_numel.tensor().numel = 3;
  EXPECT_EQ(wrong_numel.refusal(), Code::bad_shape);
  auto meta = make(DType::u8, {2}, {}, 0, source);
  meta.tensor().storage = kNone;
  EXPECT_EQ(meta.refusal(), Code::missing_storage);
  auto damaged = make(DType::u8, {2}, {}, 0, source);
  damaged.tensor().readable = false;
  EXPECT_EQ(damaged.refusal(), Code::unsupported);
  auto no_storage = make(DType::u8, {2}, {}, 0, source);
  no_storage.tensor().storage = 9;
  EXPECT_EQ(no_storage.refusal(), Code::internal);
}

TEST(Reader, AStorageBeyondTheFileFailsAndItsWholePartDoesNot) {
  auto fixture = make(DType::u8, {8}, {}, 8, std::make_shared<MemorySource>(Bytes(16)));
  fixture.storage().nbytes = 100;
  std::vector<double> out(8);
  EXPECT_TRUE(fixture.open().read_f64(0, out));
  fixture.tensor().storage_offset = 12;
  EXPECT_EQ(fixture.open().read_f64(0, out).error().code(), Code::truncated);
  fixture.storage().offset = UINT64_MAX;
  EXPECT_EQ(fixture.open().read_f64(0, out).error().code(), Code::truncated);
}

TEST(Reader, AProducerOfTheWrongSizeIsAnError) {
  auto fixture = make(DType::u8, {8}, {}, 0, std::make_shared<MemorySource>(Bytes(16)));
  int loads = 0;
  fixture.storage().producer = std::make_shared<FakeProducer>(Bytes(7), &loads);
  std::vector<double> out(1);
  EXPECT_EQ(fixture.open().read_f64(0, out).error().code(), Code::size_mismatch);
}

TEST(Reader, EmptyTensorsReadNothingWhateverTheirStrides) {
  auto fixture = make(DType::f32, {2, 0, 5}, {7, 9, 1}, 100, std::make_shared<MemorySource>(Bytes(0)));
  const TensorReader reader = fixture.open();
  EXPECT_TRUE(reader.read_f64(0, {}));
  EXPECT_TRUE(reader.read_raw(0, 0, {}));
  auto overflowing = make(DType::f32, {0, UINT64_MAX, UINT64_MAX}, {}, 0, std::make_shared<MemorySource>(Bytes(0)));
  overflowing.tensor().numel = 0;
  EXPECT_TRUE(overflowing.open().read_f64(0, {}));
}

TEST(Reader, AHugeExpandIsOneElement) {
  Bytes seven(4);
  const float value = 7;
  std::memcpy(seven.data(), &value, 4);
  auto fixture = make(DType::f32, {1 << 20, 1 << 20}, {0, 0}, 0, std::make_shared<ReadSource>(seven));
  std::vector<float> out(3);
  ASSERT_TRUE(fixture.open().read_f32((std::uint64_t{1} << 40) - 3, out));
  EXPECT_EQ(out, (std::vector<float>{7, 7, 7}));
}

TEST(Reader, IntegersKeepAllTheirBitsAndRefuseWhatDoesNotFit) {
  Bytes bytes(16);
  const std::int64_t stored[] = {-3, (std::int64_t{1} << 62) + 1};
  std::memcpy(bytes.data(), stored, 16);
  const auto source = std::make_shared<MemorySource>(bytes);
  auto signed_ones = make(DType::i64, {2}, {}, 0, source);
  std::vector<std::int64_t> out(2);
  std::vector<std::uint64_t> unsigned_out(2);
  ASSERT_TRUE(signed_ones.open().read_i64(0, out));
  EXPECT_EQ(out[1], stored[1]);
  EXPECT_EQ(signed_ones.open().read_u64(0, unsigned_out).error().code(), Code::unsupported);
  EXPECT_TRUE(signed_ones.open().read_u64(1, std::span(unsigned_out).first(1)));
  EXPECT_EQ(unsigned_out[0], static_cast<std::uint64_t>(stored[1]));
  signed_ones.tensor().neg = true;
  ASSERT_TRUE(signed_ones.open().read_i64(0, out));
  EXPECT_EQ(out[0], 3);
  auto unsigned_ones = make(DType::u64, {2}, {}, 0, source);
  ASSERT_TRUE(unsigned_ones.open().read_u64(0, unsigned_out));
  EXPECT_EQ(unsigned_out[0], UINT64_MAX - 2);
  EXPECT_EQ(unsigned_ones.open().read_i64(0, out).error().code(), Code::unsupported);
  auto real = make(DType::f64, {2}, {}, 0, source);
  EXPECT_EQ(real.open().read_i64(0, out).error().code(), Code::unsupported);
}

}  // namespace
}  // namespace assay
