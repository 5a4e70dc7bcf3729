// SPDX-License-Identifier: Apache-2.0
// The files under tests/data/old, whole, cut, flipped and supplied in ranges.
#include <map>
#include <ostream>

#include "unit/formats/formats_testing.hpp"
#include "unit/formats/torch_values.hpp"

namespace assay::test {
namespace {

using assay::testing::describe;

Result<Checkpoint> open_old(std::string name, std::shared_ptr<ByteSource> source) {
  SourceSet set("set", name);
  set.add(name, std::move(source));
  return open(set);
}

Result<Checkpoint> open_old(std::string name, std::vector<std::byte> bytes) {
  return open_old(std::move(name), std::make_shared<MemorySource>(std::move(bytes)));
}

std::string_view format_of(std::string_view name) {
  if (name.ends_with(".pt")) return "torch-legacy";
  if (name.ends_with(".tar")) return "torch-tar";
  return name.substr(name.rfind('.') + 1) == "pkl" ? "pickle" : name.substr(name.rfind('.') + 1);
}

class OldFile : public ::testing::TestWithParam<ExpectedFile> {
 protected:
  std::vector<std::byte> bytes_ = read_data(GetParam().name, "old");
};

TEST_P(OldFile, ReadsAsItsOwnLibraryDoes) {
  auto checkpoint = open_old(GetParam().name, bytes_);
  ASSERT_TRUE(checkpoint) << checkpoint.error().what();
  EXPECT_EQ(checkpoint->format, format_of(GetParam().name));
  EXPECT_TRUE(checkpoint->complete);
  EXPECT_FALSE(checkpoint->findings.any_at_least(Severity::warning) && GetParam().name != "stored.npz") << describe(*checkpoint);
  EXPECT_EQ(checkpoint->tensors.size(), GetParam().tensors.size() + (GetParam().name == "stored.npz"));  // an array of texts
  expect_tensors(*checkpoint, GetParam(), "tensor");
}

// Whatever is cut off is told, and what is still called readable has the right values.
TEST_P(OldFile, ListsWhatIsWholeWhereverItIsCut) {
  auto whole = open_old(GetParam().name, bytes_);
  ASSERT_TRUE(whole);
  std::map<std::string_view, std::vector<std::string>> values;
  for (const Tensor& tensor : whole->tensors)
    if (tensor.readable) values[tensor.name] = read_values(*whole, tensor);
  std::size_t listed = 0;
  for (std::size_t size = 0; size < bytes_.size(); ++size) {
    auto cut = open_old(GetParam().name, std::vector(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(size)));
    if (!cut) continue;
    // A tar's last zeros and the second stream or array of a file hold nothing that must be missed.
    const bool spare = format_of(GetParam().name) == "torch-tar" || GetParam().name == "twice.pt" || GetParam().name == "several.npy";
    EXPECT_TRUE(!cut->complete || spare) << size << '\n' << describe(*cut);
    for (const Tensor& tensor : cut->tensors) {
      if (!tensor.readable || tensor.dtype == DType::unknown) continue;
      ++listed;
      const auto found = values.find(tensor.name);
      if (found == values.end()) continue;
      EXPECT_EQ(read_values(*cut, tensor), found->second) << size << ' ' << tensor.name;
    }
  }
  const bool partial = format_of(GetParam().name) == "torch-legacy" || GetParam().name == "stored.npz";
  EXPECT_TRUE(listed > 0 || !partial);
}

TEST_P(OldFile, SurvivesEveryFlippedByte) {
  for (std::size_t i = 0; i < bytes_.size(); ++i) {
    for (const unsigned mask : {0xffu, 0x01u}) {
      std::vector<std::byte> flipped = bytes_;
      flipped[i] ^= std::byte{static_cast<unsigned char>(mask)};
      auto checkpoint = open_old(GetParam().name, std::move(flipped));
      if (!checkpoint) continue;
      for (const Tensor& tensor : checkpoint->tensors)
        if (tensor.readable && tensor.numel < 1000) read_values(*checkpoint, tensor);
    }
  }
}

// Opening asks for ranges until it has what it needs, and then says the same; data is passed over.
TEST_P(OldFile, SaysTheSameWhenItIsSuppliedInRanges) {
  const auto check = [&](std::vector<std::byte> bytes) {
    const std::string expected = describe(open_old(GetParam().name, bytes));
    auto ranges = std::make_shared<RangeSource>(bytes.size());
    for (int calls = 0; calls < 200; ++calls) {
      auto checkpoint = open_old(GetParam().name, ranges);
      if (checkpoint || checkpoint.error().code() != Code::need_range) {
        EXPECT_EQ(describe(checkpoint), expected) << bytes.size();
        return;
      }
      const Where where = checkpoint.error().where();
      ASSERT_TRUE(where.offset && where.length && *where.length > 0);
      const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(*where.offset);
      ranges->add(*where.offset, std::vector(begin, begin + static_cast<std::ptrdiff_t>(*where.length)));
    }
    ADD_FAILURE() << "never has enough";
  };
  check(bytes_);
  for (std::size_t size = 1; size < bytes_.size(); size += 1 + bytes_.size() / 40)
    check({bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(size)});
}

INSTANTIATE_TEST_SUITE_P(Written, OldFile, ::testing::ValuesIn(expected_files("old")), test_name);

TEST(OldFiles, AreAllThere) { EXPECT_GE(expected_files("old").size(), 30u); }

TEST(OldFiles, AStreamBehindAnotherIsNoted) {
  auto twice = open_old("twice.pt", read_data("twice.pt", "old"));
  ASSERT_TRUE(twice);
  const Finding* const more = assay::testing::find(*twice, Code::extra_pickle);
  ASSERT_NE(more, nullptr);
  EXPECT_EQ(more->severity, Severity::note);
  EXPECT_NE(more->message.find("another torch.save stream"), std::string::npos);
}

TEST(OldFiles, ABigFileNeedsItsPicklesAloneWhenSuppliedInRanges) {
  // As legacy2.pt, but with a storage of a megabyte: the counts are taken from the ids, and no data is asked for.
  const std::string id = "(Vstorage\nctorch\nByteStorage\nV7\nVcpu\nI1000000\nNtQ";
  const std::string object =
      "(dVw\nctorch._utils\n_rebuild_tensor_v2\n(" + id + "I0\n(I1000000\nt(I1\ntI00\nccollections\nOrderedDict\n(tRtRs.";
  std::string file = "L119547037146038801333356L\n.I1001\n.(d." + object + "(lV7\na." + std::string("\x40\x42\x0f\0\0\0\0\0", 8) +
                     std::string(1000000, 'x');
  auto ranges = std::make_shared<RangeSource>(file.size());
  const auto bytes = assay::testing::bytes_of(file);
  for (int calls = 0; calls < 4; ++calls) {
    auto checkpoint = open_old("m.pt", ranges);
    if (checkpoint) break;
    const Where where = checkpoint.error().where();
    const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(*where.offset);
    ranges->add(*where.offset, std::vector(begin, begin + static_cast<std::ptrdiff_t>(*where.length)));
  }
  auto checkpoint = open_old("m.pt", ranges);
  ASSERT_TRUE(checkpoint) << checkpoint.error().what();
  EXPECT_TRUE(checkpoint->find("w")->readable);
  EXPECT_LE(ranges->held(), 2 * 65536u);
}

}  // namespace
}  // namespace assay::test
