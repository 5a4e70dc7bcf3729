// SPDX-License-Identifier: Apache-2.0
// What stands where no reader is meant to look: in an archive and not in its directory, in text, behind a picture's first bytes.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "unit/analysis/scan_helpers.hpp"

namespace assay::scan {
namespace {

using namespace assay::testing;

constexpr auto kClean = Verdict::clean, kUnknown = Verdict::unknown, kDanger = Verdict::dangerous;
constexpr auto kComplete = Status::complete, kMalformed = Status::malformed, kIncomplete = Status::incomplete;

struct Case {
  const char* name;
  std::string bytes;
  Verdict verdict;
  Status status;
};
void PrintTo(const Case& row, std::ostream* out) { *out << row.name; }

const std::string kTextPickle = "cos\nsystem\n(S'true'\ntR.";

/// A member as it stands before a directory, which none lists.
std::string loose(ZipMember member) { return text_of(ZipBuilder().add(std::move(member)).build({.directory = false})); }
std::string loose(std::string_view name, std::string_view data) { return loose({.name = std::string(name), .data = bytes_of(data)}); }

/// A torch archive with `gap` between its last member and its directory.
std::string with_gap(std::string_view gap) {
  ZipBuilder zip = torch_zip(torch_object());
  Bytes bytes = zip.build();
  put_number(bytes, zip.end_record + 16, zip.directory_offset + gap.size(), 4);
  std::string text = text_of(bytes);
  return text.insert(zip.directory_offset, gap);
}

/// The same, with `gap` between the directory and its end record.
std::string with_late_gap(std::string_view gap) {
  ZipBuilder zip = torch_zip(torch_object());
  std::string text = text_of(zip.build());
  return text.insert(zip.end_record, gap);
}

/// The directory entries of an archive with one member at `offset`.
std::string entry_of(std::string_view name, std::string_view data, std::size_t offset) {
  ZipBuilder zip;
  zip.add(std::string(name), bytes_of(data));
  Bytes bytes = zip.build();
  put_number(bytes, zip.entry_offsets[0] + 42, offset, 4);
  return text_of(bytes).substr(zip.directory_offset, zip.end_record - zip.directory_offset);
}

/// A member's data holds another member, to which a second directory leads.
std::string second_directory() {
  ZipBuilder zip;
  const std::string hidden = loose("archive/data.pkl", kEvil);
  zip.add("archive/data.pkl", bytes_of(torch_object())).add("archive/data/0", bytes_of(std::string(16, '\0') + hidden));
  Bytes bytes = zip.build();
  const std::string other = entry_of("archive/data.pkl", kEvil, zip.data_offsets[1] + 16);
  put_number(bytes, zip.end_record + 16, zip.directory_offset + other.size(), 4);
  return text_of(bytes).insert(zip.directory_offset, other);
}

std::string with_member(std::string name, std::string_view data) {
  return text_of(torch_zip(torch_object()).add(std::move(name), bytes_of(data)).build_torch());
}

std::vector<Case> gaps() {
  const std::string deflated =
      loose({.name = "archive/data.pkl", .data = deflate_stored(bytes_of(kEvil)), .size = kEvil.size(), .crc = 0, .method = 8});
  const std::string described = loose({.name = "archive/data.pkl", .data = bytes_of(kEvil), .descriptor = true});
  return {
      {"nothing between", with_gap(""), kClean, kComplete},
      {"zeros between", with_gap(std::string(100, '\0')), kClean, kComplete},
      {"a member that is not listed", with_gap(loose("archive/data.pkl", kEvil)), kDanger, kMalformed},
      {"one of protocol 0 in text", with_gap(loose("archive/a.txt", kTextPickle)), kDanger, kMalformed},
      {"one that is benign", with_gap(loose("archive/a.txt", "hello")), kClean, kMalformed},
      {"one that is deflated", with_gap(deflated), kDanger, kMalformed},
      {"one whose size its descriptor tells", with_gap(described), kDanger, kMalformed},
      {"the second of two", with_gap(loose("archive/a", "hello") + loose("archive/b", kEvil)), kDanger, kMalformed},
      {"a pickle between", with_gap(kEvil), kDanger, kMalformed},
      {"junk between", with_gap("\xfe\xfd\xfc"), kClean, kIncomplete},
      {"a member behind the directory", with_late_gap(loose("archive/data.pkl", kEvil)), kDanger, kMalformed},
      {"a pickle behind the directory", with_late_gap(kEvil), kDanger, kMalformed},
      {"a second directory", second_directory(), kDanger, kMalformed},
      {"a pickle in the comment", text_of(torch_zip(torch_object()).build({.comment = kEvil})), kDanger, kComplete},
      {"a comment", text_of(torch_zip(torch_object()).build({.comment = "made by hand"})), kClean, kComplete},
  };
}

std::vector<Case> members() {
  const std::string picture = "\x89PNG\r\n\x1a\n" + std::string(50, '\7');
  const std::string long_text = [] {
    std::string text;
    for (int i = 0; i < 2000; ++i) text += "hello \xe2\x82\xac\n";
    return text;
  }();
  return {
      {"text", with_member("archive/a.txt", long_text), kClean, kComplete},
      {"text and then a pickle", with_member("archive/a.txt", long_text + kEvil), kDanger, kIncomplete},
      {"text and then anything", with_member("archive/a.txt", long_text + "\xfe\1\2"), kClean, kIncomplete},
      {"text around a pickle of protocol 0", with_member("archive/a.txt", "hello\n" + kTextPickle + "\n"), kDanger, kComplete},
      {"a picture", with_member("archive/a.png", picture), kClean, kComplete},
      {"a picture and then a pickle", with_member("archive/a.png", picture + kEvil), kDanger, kComplete},
      {"bytes that nobody knows", with_member("archive/a.bin", "\xfe\xff\1\2"), kClean, kIncomplete},
      {"a pickle among them", with_member("archive/a.bin", "\xfe\xff\1\2" + kEvil), kDanger, kIncomplete},
      {"a storage that no pickle names", with_member("archive/data/7", "\xfe\xff\1\2"), kClean, kComplete},
      {"a pickle within one", with_member("archive/data/7", "\xfe\xff\1\2" + kEvil), kDanger, kComplete},
      {"compiled Python", with_member("archive/a.pyc", "\xa7\r\r\n" + std::string(12, '\0') + "\xe3" + std::string(20, '\0')), kClean,
       kIncomplete},
      {"a long deflated text",
       text_of(torch_zip(torch_object())
                   .add({.name = "archive/a",
                         .data = deflate_stored(bytes_of(std::string(3 << 20, 'a'))),
                         .size = 3 << 20,
                         .crc = 0,
                         .method = 8})
                   .build_torch()),
       kClean, kComplete},
      {"a pickle far in a deflated member",
       text_of(torch_zip(torch_object())
                   .add({.name = "archive/a",
                         .data = deflate_stored(bytes_of(std::string(3 << 20, 'a') + kEvil)),
                         .size = (3 << 20) + kEvil.size(),
                         .crc = 0,
                         .method = 8})
                   .build_torch()),
       kDanger, kIncomplete},
      {"words by line", "hello\ncat\ndog\ncos\nsystem\n(in\nitem\nVanilla\nSam\n", kClean, kComplete},
      {"source of a torch package",
       text_of(ZipBuilder().add("p/.data/extern_modules", bytes_of("sys\n")).add("p/a.py", bytes_of("import os\n")).build()), kUnknown,
       kComplete},
      {"a torch package without", text_of(ZipBuilder().add("p/.data/extern_modules", bytes_of("sys\n")).add("p/a.py", {}).build()), kClean,
       kComplete},
      {"source elsewhere", with_member("archive/a.py", "import os\n"), kClean, kComplete},
      {"TorchScript that writes files",
       text_of(ZipBuilder()
                   .add("a/code/m.py", bytes_of("def f(x):\n  torch.save(x, \"y\")\n"))
                   .add("a/constants.pkl", bytes_of(kBenign))
                   .add("a/data.pkl", bytes_of(kBenign))
                   .build()),
       kUnknown, kComplete},
      {"a Keras layer", R"({"module": "keras.layers", "class_name": "Dense", "config": {"units": 3}})", kClean, kComplete},
      {"a Keras layer of code",
       R"({"module": "keras.layers", "class_name": "Lambda", "config": {"function": {"class_name": "__lambda__", "config": {"code": "4w"}}}})",
       kDanger, kComplete},
      {"a function for Keras to call", R"({"module": "os", "class_name": "function", "config": "system"})", kDanger, kComplete},
      {"a builtin for Keras to call", R"({"module": "builtins", "class_name": "function", "config": "eval"})", kDanger, kComplete},
      {"a key spelled with escapes", R"({"module": "os", "class\u005fname": "function", "config": "system"})", kDanger, kComplete},
      {"JSON as only Python reads it", R"({"x": {"module": "os", "class_name": "function", "config": "system"}, "y": NaN})", kDanger,
       kIncomplete},
      {"YAML of harmless objects",
       with_member("archive/a.yaml", "a: !!python/tuple [2, 3]\nb: !!python/object:argparse.Namespace\n  c: no!!python/name:os.system\n"),
       kClean, kComplete},
      {"YAML that calls", with_member("archive/a.yaml", "a: !!python/object/apply:os.system ['true']\n"), kDanger, kComplete},
      {"YAML that calls by its whole tag", with_member("archive/a.yml", "a: !<tag:yaml.org,2002:python/object/new:os.system> ['true']\n"),
       kDanger, kComplete},
      {"YAML that calls by an escaped tag", with_member("archive/a.yaml", "[!!pyth%6fn/object/apply:os%2Esystem ['true']]\n"), kDanger,
       kComplete},
      {"YAML that shortens tags",
       with_member("archive/a.yaml", "%TAG !p! tag:yaml.org,2002:python/\n--- !p!object/apply:os.system ['true']\n"), kUnknown, kComplete},
      {"YAML of an unknown class", with_member("archive/a.yaml", "!!python/object:mine.Config {}\n"), kUnknown, kComplete},
      {"a function of Keras's own", R"({"module": "keras.activations", "class_name": "function", "config": "relu"})", kClean, kComplete},
      {"a function of Keras's own that fetches files", R"({"module": "keras.utils", "class_name": "function", "config": "get_file"})",
       kUnknown, kComplete},
      {"a function of Keras's own that lets all in",
       R"({"module": "keras.src.config", "class_name": "function", "config": "enable_unsafe_deserialization"})", kUnknown, kComplete},
      {"a layer of Keras's own that loads a pickle",
       R"({"module": "keras.layers", "class_name": "TorchModuleWrapper", "config": {"module": "gAJ9"}})", kUnknown, kComplete},
      {"a Keras layer of code behind a byte order mark",
       "\xef\xbb\xbf"
       R"({"class_name": "__lambda__"})",
       kDanger, kComplete},
      {"a chat template", R"({"chat_template": "{% for m in messages %}{{ m['content'] }}{% endfor %} __globals__ {"})", kClean, kComplete},
      {"a chat template that reaches out", R"({"chat_template": "{{ cycler.__init__.__globals__.os.popen('true') }}"})", kDanger,
       kComplete},
      {"one of several chat templates", R"({"chat_template": [{"name": "a", "template": "{%- set x = ''.__class__ %}"}]})", kDanger,
       kComplete},
      {"a chat template with escapes", R"({"chat_template": "{{ ''['\\x5f\\x5fclass\\x5f\\x5f'] }}"})", kDanger, kComplete},
      {"a chat template with a computed attribute", R"({"chat_template": "{{ '' | attr('__cl' ~ 'ass__') }}"})", kDanger, kComplete},
      {"a class for Keras to make", R"({"module": "mine", "class_name": "Layer", "config": {}})", kUnknown, kComplete},
  };
}

class ScanHidden : public ::testing::TestWithParam<Case> {};

TEST_P(ScanHidden, Answer) {
  const Report report = scan_text(GetParam().bytes);
  const std::string said = report.findings.empty() ? "" : report.findings.list().back().message;
  EXPECT_EQ(verdict_name(report.verdict), verdict_name(GetParam().verdict)) << said;
  EXPECT_EQ(status_name(report.status), status_name(GetParam().status)) << said;
}

INSTANTIATE_TEST_SUITE_P(Gaps, ScanHidden, ::testing::ValuesIn(gaps()));
INSTANTIATE_TEST_SUITE_P(Members, ScanHidden, ::testing::ValuesIn(members()));

/// Names begin lines everywhere in a list of words; only what is called as well is told.
TEST(ScanHidden, UnlistedMembersAreNamedWithTheirOffset) {
  const Report report = scan_text(with_gap(loose("archive/evil.pkl", kEvil)));
  const auto& findings = report.findings.list();
  const auto found = std::ranges::find(findings, Code::ambiguous_archive, &Finding::code);
  ASSERT_NE(found, findings.end());
  EXPECT_EQ(found->where.member, "archive/evil.pkl");
  ZipBuilder zip = torch_zip(torch_object());
  zip.build();
  EXPECT_EQ(found->where.offset, zip.directory_offset);
  ASSERT_EQ(report.calls.size(), 1u);
  EXPECT_EQ(report.calls[0].place.member, "archive/evil.pkl");
}

}  // namespace
}  // namespace assay::scan
