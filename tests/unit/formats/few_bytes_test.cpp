// SPDX-License-Identifier: Apache-2.0
// Opening reads pickles and headers, whatever the size of the rest; and where only some ranges are at hand it asks for those it needs.
#include <algorithm>
#include <filesystem>
#include <map>

#include "containers/zip.hpp"
#include "unit/containers/tar_builder.hpp"
#include "unit/formats/formats_testing.hpp"
#include "unit/formats/torch_builder.hpp"
#include "unit/formats/torch_values.hpp"

namespace assay::testing {
namespace {

constexpr std::size_t kBig = std::size_t{8} << 20;

/// Bytes that count how often they are read. Never mapped, so that nothing is looked at without being counted. What lies beyond `front` and
/// before `back` is zeros.
class CountingSource final : public ByteSource {
 public:
  CountingSource(std::string front, std::uint64_t hole, std::string back = {})
      : front_(std::move(front)), back_(std::move(back)), hole_(hole) {}
  std::uint64_t size() const override { return front_.size() + hole_ + back_.size(); }
  Result<void> read(std::uint64_t offset, std::span<std::byte> out) const override {
    if (auto there = available(offset, out.size()); !there) return there;
    count += out.size();
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = at(offset + i);
    return {};
  }
  mutable std::uint64_t count = 0;

 private:
  std::byte at(std::uint64_t i) const {
    if (i < front_.size()) return static_cast<std::byte>(front_[static_cast<std::size_t>(i)]);
    const std::uint64_t back = front_.size() + hole_;
    return i < back ? std::byte{0} : static_cast<std::byte>(back_[static_cast<std::size_t>(i - back)]);
  }
  std::string front_, back_;
  std::uint64_t hole_;
};

struct Big {
  const char* name;
  Files (*files)();
  const char* primary;
  std::size_t tensors;
};
void PrintTo(const Big& big, std::ostream* out) { *out << big.name; }

std::string text_of(const Bytes& bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }
std::string data(const std::string& name) { return text_of(test::read_data(name, ".")); }
const std::string& zeros() {
  static const std::string text(kBig, '\0');
  return text;
}

/// The same archive with a record of kBig bytes before the others and one behind them.
std::string stretched_zip(const std::string& name) {
  const auto source = std::make_shared<MemorySource>(test::read_data(name, "."));
  const auto directory = zip::read_directory(*source, {});
  EXPECT_TRUE(directory) << name;
  ZipBuilder builder;
  const Bytes blob(kBig, std::byte{0});
  const std::string_view first = directory->members[0].name;
  const std::string root(first.substr(0, first.find('/') == std::string_view::npos ? 0 : first.find('/') + 1));
  builder.add({.name = root + "extra/before", .data = blob, .crc = 0});
  for (const zip::Member& member : directory->members) {
    const auto bytes = zip::read_member(*source, member, kBig, {});
    const auto span = bytes->view().span();
    builder.add(std::string(member.name), Bytes(span.begin(), span.end()));
  }
  builder.add({.name = root + "extra/behind", .data = blob, .crc = 0});
  return text_of(builder.build());
}

Files folder(const std::string& name, bool zips) {
  Files files;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(ASSAY_TEST_DATA) + "/" + name)) {
    const std::string file = entry.path().filename().string();
    if (entry.is_regular_file())
      files.push_back({file, zips                  ? stretched_zip(name + "/" + file)
                             : file == ".metadata" ? data(name + "/" + file)
                                                   : data(name + "/" + file) + zeros()});
  }
  std::ranges::sort(files);
  return files;
}

std::string torch_zip() {
  ZipBuilder zip;
  zip.add(torch_member(
      "archive/data.pkl",
      bytes_of(test::dict({{"w", test::tensor({.storage = test::storage("0", std::to_string(kBig / 4)), .size = test::tuple({"4"})})}}) +
               ".")));
  zip.add({.name = "archive/data/0", .data = Bytes(kBig, std::byte{0}), .crc = 0});
  zip.add(torch_member("archive/version", bytes_of("3\n")));
  return text_of(zip.build_torch());
}

std::string npy() {
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (" + std::to_string(kBig / 4) + ",), }";
  header.resize(117, ' ');
  return std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header + "\n" + zeros();
}

std::string npz() {
  const std::string array = npy();
  ZipBuilder zip;
  for (const char* name : {"a.npy", "b.npy"}) zip.add({.name = name, .data = bytes_of(array), .crc = 0});
  return text_of(zip.build());
}

std::string tar() {
  const auto number = [](std::int64_t n, std::size_t bytes) {
    std::string out(bytes, '\0');
    std::memcpy(out.data(), &n, bytes);
    return out;
  };
  const std::string storages = "I1\n.(I3\nVcpu\nctorch\nFloatStorage\nt." + number(kBig / 4, 8) + zeros() + "(l.";
  const std::string tensors =
      "I1\n.(I7\nI3\nctorch\nFloatTensor\nt." + number(1, 4) + number(0, 4) + number(4, 8) + number(1, 8) + number(0, 8);
  return text_of(TarBuilder()
                     .file("sys_info", "(dVprotocol_version\nI1000\ns.")
                     .file("pickle", "(dVw\nV7\nQs.")
                     .file("tensors", tensors)
                     .file("storages", storages)
                     .end());
}

std::string tensors_of(std::size_t bytes) { return concat('{', entry("w", "U8", decimal(std::uint64_t{bytes}), 0, bytes), '}'); }

const Big kBigs[] = {
    {"safetensors", [] { return Files{{"x.safetensors", safetensors(tensors_of(kBig), 0) + zeros()}}; }, "x.safetensors", 1},
    {"torch_zip", [] { return Files{{"x.pt", torch_zip()}}; }, "x.pt", 1},
    {"torch_script", [] { return Files{{"x.pt", stretched_zip("torch/script.pt")}}; }, "x.pt", 3},
    {"torch_frozen", [] { return Files{{"x.pt", stretched_zip("torch/frozen.pt")}}; }, "x.pt", 4},
    {"torch_package", [] { return Files{{"x.pt", stretched_zip("torch/packages.pt")}}; }, "x.pt", 5},
    {"torch_export", [] { return Files{{"x.pt2", stretched_zip("torch/exported.pt2")}}; }, "x.pt2", 7},
    {"torch_export_2_6", [] { return Files{{"x.pt2", stretched_zip("torch/exported_2_6.pt2")}}; }, "x.pt2", 7},
    {"compiled", [] { return Files{{"x.pt2", stretched_zip("special/compiled.pt2")}}; }, "x.pt2", 4},
    {"model_json", [] { return Files{{"x.pt", stretched_zip("special/model_json.pt")}}; }, "x.pt", 6},
    {"torch_mobile", [] { return Files{{"x.ptl", data("special/mobile.ptl") + zeros()}}; }, "x.ptl", 11},
    {"torch_tar", [] { return Files{{"x.pt", tar()}}; }, "x.pt", 1},
    {"legacy", [] { return Files{{"x.pt", data("old/legacy2.pt") + zeros()}}; }, "x.pt", 8},
    {"npy", [] { return Files{{"x.npy", npy()}}; }, "x.npy", 1},
    {"npz", [] { return Files{{"x.npz", npz()}}; }, "x.npz", 2},
    {"dcp", [] { return folder("dist/sharded", false); }, "", 9},
    {"dcp_values", [] { return folder("dist/train", false); }, "", 11},
    {"dcp_safetensors", [] { return folder("dist/safetensors", false); }, "", 9},
    {"dcp_one_file", [] { return folder("dist/sharded", false); }, "__0_0.distcp", 9},
    {"deepspeed_2", [] { return folder("deepspeed/stage2/global_step4", true); }, "", 10},
    {"deepspeed_3", [] { return folder("deepspeed/stage3/global_step4", true); }, "", 10},
};

class FewBytes : public ::testing::TestWithParam<Big> {};

std::uint64_t size_of(const Files& files) {
  std::uint64_t size = 0;
  for (const auto& [name, content] : files) size += content.size();
  return size;
}

/// What an opening of small files may read of each: tails, directories, pickles.
constexpr std::uint64_t kMostPerFile = 512 << 10;

TEST_P(FewBytes, AreReadToOpen) {
  const Files files = GetParam().files();
  SourceSet set("set", GetParam().primary);
  std::map<std::string, std::shared_ptr<CountingSource>> sources;
  for (const auto& [name, content] : files) set.add(name, sources[name] = std::make_shared<CountingSource>(content, 0));
  const auto opened = open(set);
  ASSERT_TRUE(opened) << describe(opened);
  EXPECT_EQ(opened->tensors.size(), GetParam().tensors) << describe(*opened);
  ASSERT_GT(size_of(files), kBig);
  for (const auto& [name, source] : sources) EXPECT_LT(source->count, kMostPerFile) << name;
}

/// Opens with nothing at hand, supplying each range that is asked for.
class Supplied {
 public:
  Supplied(const Files& files, const std::string& primary) : files_(files), set_("set", primary) {
    for (const auto& [name, content] : files) set_.add(name, ranges_[name] = std::make_shared<RangeSource>(content.size()));
  }
  /// `usual` is the file where an error does not name one.
  template <class Fn>
  auto until_answered(Fn&& fn, const std::string& usual = {}) {
    for (;; ++rounds) {
      auto result = fn();
      if (result || result.error().code() != Code::need_range || rounds > 5000) return result;
      const Where& where = result.error().where();
      const std::string name = !where.file.empty() ? where.file : files_.size() == 1 ? files_[0].first : usual;
      const auto found = std::ranges::find(files_, name, &std::pair<std::string, std::string>::first);
      EXPECT_NE(found, files_.end()) << "which file? " << name;
      if (found == files_.end() || !where.offset || !where.length || *where.length == 0) return result;
      const auto begin = std::min<std::size_t>(static_cast<std::size_t>(*where.offset), found->second.size());
      ranges_[name]->add(begin, bytes_of(std::string_view(found->second).substr(begin, static_cast<std::size_t>(*where.length))));
    }
  }
  Result<Checkpoint> open() {
    return until_answered([&] { return assay::open(set_); });
  }
  std::uint64_t held() const {
    std::uint64_t held = 0;
    for (const auto& [name, source] : ranges_) held += source->held();
    return held;
  }
  std::size_t rounds = 0;

 private:
  const Files& files_;
  SourceSet set_;
  std::map<std::string, std::shared_ptr<RangeSource>> ranges_;
};

/// The first values of a tensor as text.
std::string values_of(const Checkpoint& checkpoint, const Tensor& tensor, Supplied* supplied) {
  const auto read = [&]() -> Result<std::vector<double>> {
    auto reader = TensorReader::open(checkpoint, tensor);
    if (!reader) return fail(std::move(reader).error());
    std::vector<double> values(static_cast<std::size_t>(std::min<std::uint64_t>(tensor.numel, 3)));
    if (auto done = reader->read_f64(0, values); !done) return fail(std::move(done).error());
    return values;
  };
  const auto values =
      supplied ? supplied->until_answered(read, checkpoint.file_of(tensor) ? checkpoint.file_of(tensor)->name : "") : read();
  if (!values) return concat(code_name(values.error().code()), ' ', values.error().what());
  std::string text;
  for (const double value : *values) text += test::hex_text(value) + ' ';
  return text;
}

void expect_same(const Files& files, const std::string& primary, std::uint64_t most_held) {
  const auto whole = open_files(files, primary);
  Supplied supplied(files, primary);
  const auto opened = supplied.open();
  ASSERT_EQ(describe(opened), describe(whole));
  EXPECT_LE(supplied.held(), most_held);
  if (!opened) return;
  for (std::size_t i = 0; i < opened->tensors.size(); i += std::max<std::size_t>(opened->tensors.size() / 8, 1))
    EXPECT_EQ(values_of(*opened, opened->tensors[i], &supplied), values_of(*whole, whole->tensors[i], nullptr)) << opened->tensors[i].name;
  EXPECT_LT(supplied.rounds, 1000u);
}

TEST_P(FewBytes, AreAskedFor) {
  const Files files = GetParam().files();
  expect_same(files, GetParam().primary, kMostPerFile * files.size());
}

std::string big_name(const ::testing::TestParamInfo<Big>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Formats, FewBytes, ::testing::ValuesIn(kBigs), big_name);

TEST(RangesOfWrittenFiles, AnswerAsTheWholeFileDoes) {
  std::size_t files = 0;
  for (const char* name : {"torch", "old", "special", "safetensors"}) {
    for (const auto& entry : std::filesystem::directory_iterator(std::string(ASSAY_TEST_DATA) + "/" + name)) {
      const std::string file = entry.path().filename().string();
      if (file.ends_with(".json")) continue;
      SCOPED_TRACE(file);
      expect_same({{file, data(std::string(name) + "/" + file)}}, file, kBig);
      ++files;
    }
  }
  EXPECT_GT(files, 90u);
}

TEST(LegacyStream, OfTenGigabytesIsSoughtThrough) {
  constexpr std::uint64_t kElements = std::uint64_t{10} << 28;  // of 4 bytes: 10 GiB
  std::string count(8, '\0');
  std::memcpy(count.data(), &kElements, 8);
  const std::string id = "(" + test::text("storage") + test::global("torch", "FloatStorage") + test::text("1") + test::text("cpu") + "L" +
                         std::to_string(kElements) + "L\nNtQ";
  const std::string second =
      "(" + test::text("storage") + test::global("torch", "FloatStorage") + test::text("2") + test::text("cpu") + "L2L\nNtQ";
  const std::string object = test::dict({{"huge", test::tensor({.storage = id, .size = test::tuple({std::to_string(kElements)})})},
                                         {"last", test::tensor({.storage = second, .size = test::tuple({"2"})})}});
  const std::string front = "L119547037146038801333356L\n.I1001\n.(dVprotocol_version\nI1001\ns." + object + ".(lV1\naV2\na." + count;
  const std::string back = std::string("\x02\0\0\0\0\0\0\0", 8) + std::string("\0\0\x80\x3f\0\0\0\x40", 8);
  const auto source = std::make_shared<CountingSource>(front, 4 * kElements, back);
  SourceSet set("x.pt", "x.pt");
  set.add("x.pt", source);
  const auto opened = open(set);
  ASSERT_TRUE(opened) << describe(opened);
  EXPECT_TRUE(opened->complete) << describe(*opened);
  EXPECT_LT(source->count, 400u << 10);
  EXPECT_EQ(values_of(*opened, *opened->find("last"), nullptr), "0x1p+0 0x1p+1 ");
}

/// A torch archive of `count` tensors of four numbers; `aligned` as torch writes it.
ZipBuilder many_tensors(std::size_t count, bool aligned = true) {
  std::string state = "(d";
  for (std::size_t i = 0; i < count; ++i)
    state += test::text("w" + std::to_string(i)) + test::tensor({.storage = test::storage(std::to_string(i))}) + "s";
  ZipBuilder zip;
  zip.add(torch_member("archive/data.pkl", bytes_of(state + ".")));
  for (std::size_t i = 0; i < count; ++i) {
    ZipMember member = torch_member("archive/data/" + std::to_string(i), test::numbers_1_to_4());
    if (!aligned) member.alignment = 0;
    zip.add(std::move(member));
  }
  zip.add(torch_member("archive/version", bytes_of("3\n")));
  return zip;
}

struct Listed {
  Checkpoint checkpoint;
  std::uint64_t bytes_read;
  std::size_t inferred() const { return static_cast<std::size_t>(std::ranges::count(checkpoint.storages, true, &Storage::inferred)); }
  std::size_t unreadable() const { return static_cast<std::size_t>(std::ranges::count(checkpoint.tensors, false, &Tensor::readable)); }
};

Listed list_with(const Bytes& bytes, std::uint32_t zip_headers) {
  const auto source = std::make_shared<CountingSource>(text_of(bytes), 0);
  SourceSet set("x.pt", "x.pt");
  set.add("x.pt", source);
  auto opened = open(set, {.zip_headers = zip_headers});
  EXPECT_TRUE(opened) << describe(opened);
  return {*std::move(opened), source->count};
}

constexpr std::uint32_t kAllHeaders = Limits().zip_headers;
constexpr std::size_t kLocalHeader = 30;

TEST(ZipHeaders, AreNotReadWhereTheLayoutTellsTheOffsets) {
  constexpr std::size_t kTensors = 500;
  const Bytes bytes = many_tensors(kTensors).build_torch();
  const Listed all = list_with(bytes, kAllHeaders);
  const Listed some = list_with(bytes, 16);
  EXPECT_EQ(all.inferred(), 0u);
  EXPECT_EQ(some.inferred(), kTensors);
  EXPECT_EQ(describe(some.checkpoint), describe(all.checkpoint));
  EXPECT_EQ(all.bytes_read - some.bytes_read, (kTensors - 16) * kLocalHeader);
  EXPECT_EQ(list_with(bytes, kTensors + 2).inferred(), 0u) << "not more members than headers to read";
}

TEST(ZipHeaders, OfEveryWrittenFileMayStayUnread) {
  std::size_t inferred = 0;
  for (const char* name : {"torch", "old", "special"}) {
    for (const auto& entry : std::filesystem::directory_iterator(std::string(ASSAY_TEST_DATA) + "/" + name)) {
      const std::string file = entry.path().filename().string();
      const std::string content = data(std::string(name) + "/" + file);
      const auto all = open_file_named(file, content);
      const auto none = open_file_named(file, content, {.zip_headers = 0});
      EXPECT_EQ(describe(none), describe(all)) << file;
      if (none) inferred += static_cast<std::size_t>(std::ranges::count(none->storages, true, &Storage::inferred));
    }
  }
  EXPECT_GT(inferred, 300u);
}

TEST(ZipHeaders, OfAnotherLayoutAreRead) {
  const Bytes bytes = many_tensors(100, false).build_torch();
  const Listed some = list_with(bytes, 16);
  EXPECT_EQ(some.inferred(), 0u);
  EXPECT_EQ(describe(some.checkpoint), describe(list_with(bytes, kAllHeaders).checkpoint));
}

TEST(ZipHeaders, AreAllReadWhereOneIsWrong) {
  constexpr std::size_t kTensors = 500;
  ZipBuilder zip = many_tensors(kTensors);
  Bytes bytes = zip.build_torch();
  // A hole, as in a download whose pieces did not all come, over an eighth of the file.
  const std::size_t begin = zip.header_offsets[100], end = zip.header_offsets[164];
  std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(begin), bytes.begin() + static_cast<std::ptrdiff_t>(end), std::byte{0});
  const Listed some = list_with(bytes, 16);
  EXPECT_EQ(some.inferred(), 0u);
  EXPECT_EQ(some.unreadable(), 64u);
  EXPECT_FALSE(some.checkpoint.complete);
  EXPECT_EQ(describe(some.checkpoint), describe(list_with(bytes, kAllHeaders).checkpoint));
}

TEST(ZipHeaders, ThatLieBetweenThoseLookedAtAreLeftToFullReading) {
  ZipBuilder zip = many_tensors(500);
  Bytes bytes = zip.build_torch();
  bytes[zip.header_offsets[101]] = std::byte{0};
  EXPECT_EQ(list_with(bytes, 16).unreadable(), 0u);
  EXPECT_EQ(list_with(bytes, kAllHeaders).unreadable(), 1u);
}

}  // namespace
}  // namespace assay::testing
