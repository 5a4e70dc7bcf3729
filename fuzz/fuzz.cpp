// SPDX-License-Identifier: Apache-2.0
#include "fuzz.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "analysis/verify/verify.hpp"
#include "assay/values.hpp"
#include "base/arith.hpp"
#include "base/text.hpp"
#include "formats/format.hpp"
#include "model/byte_map.hpp"

namespace assay::fuzz {

void require(bool holds, std::string_view promise) {
  if (holds) return;
  std::fprintf(stderr, "broken promise: %.*s\n", static_cast<int>(promise.size()), promise.data());
  std::abort();
}

namespace {

Result<Checkpoint> open_source(std::shared_ptr<ByteSource> source, std::string_view name) {
  SourceSet set("set", std::string(name));
  set.add(std::string(name), std::move(source));
  return open(set);
}

}  // namespace

Result<Checkpoint> open_bytes(Bytes bytes, std::string_view name) { return open_source(MemorySource::borrow(bytes), name); }

Result<Checkpoint> open_as(std::string_view format, Bytes bytes, std::string_view name) {
  SourceSet set("set", std::string(name));
  const std::shared_ptr<ByteSource> source = MemorySource::borrow(bytes);
  set.add(std::string(name), source);
  const Limits limits;
  return formats::find_format(format)->open({set, name, source, limits});
}

Result<Checkpoint> open_by_ranges(Bytes bytes, std::string_view name) {
  constexpr std::uint64_t kSmall = 4096, kPage = 512;
  const std::uint64_t size = bytes.size(), page = size <= kSmall ? 1 : kPage;
  const auto source = std::make_shared<RangeSource>(size);
  for (;;) {
    auto opened = open_source(source, name);
    if (opened || opened.error().code() != Code::need_range) return opened;
    const Where& where = opened.error().where();
    require(where.offset && where.length && *where.length > 0, "a missing range has an offset and a length");
    require(within(*where.offset, *where.length, size), "a missing range is in the file");
    require(!source->available(*where.offset, *where.length), "a range that was given is not asked for again");
    const std::uint64_t from = *where.offset / page * page;
    const std::uint64_t to = std::min(size, (*where.offset + *where.length + page - 1) / page * page);
    const auto part = bytes.subspan(static_cast<std::size_t>(from), static_cast<std::size_t>(to - from));
    source->add(from, {part.begin(), part.end()});
  }
}

void check_whole(const Checkpoint& checkpoint) {
  require(!checkpoint.files.empty(), "a checkpoint has a file");
  for (const Storage& storage : checkpoint.storages) require(storage.file < checkpoint.files.size(), "a storage is in a file");
  const auto check = [&](const Tensor& tensor) {
    require(tensor.storage == kNone || tensor.storage < checkpoint.storages.size(), "a tensor's storage is listed");
    require(tensor.stride.empty() || tensor.stride.size() == tensor.shape.size(), "strides are as many as dimensions");
    if (!tensor.readable || tensor.storage == kNone || tensor.numel == 0) return;
    const Storage& storage = checkpoint.storages[tensor.storage];
    const CheckpointFile& file = checkpoint.files[storage.file];
    if (!storage.producer) require(within(storage.offset, storage.nbytes, file.size), "a readable tensor's storage is in its file");
    std::uint64_t product = 1;
    for (const std::uint64_t size : tensor.shape) product *= size;
    require(product == tensor.numel, "numel is the product of the shape");
  };
  bool unreadable = false;
  for (const Tensor& tensor : checkpoint.tensors) {
    check(tensor);
    unreadable = unreadable || !tensor.readable;
  }
  for (const Quantizer& quantizer : checkpoint.quantizers) {
    if (quantizer.per_channel()) check(quantizer.scales), check(quantizer.zero_points);
  }
  require(!unreadable || !checkpoint.findings.empty(), "an unreadable tensor has a finding");
  require(checkpoint.complete == !checkpoint.findings.any_at_least(Severity::damage),
          "damage and nothing else makes a checkpoint incomplete");
}

void read_some_values(const Checkpoint& checkpoint) {
  constexpr std::uint64_t kSome = 64;
  constexpr std::size_t kTensors = 64;
  std::array<double, kSome> values;
  std::size_t read = 0;
  for (const Tensor& tensor : checkpoint.tensors) {
    if (!tensor.readable || tensor.numel == 0 || ++read > kTensors) continue;
    const auto reader = TensorReader::open(checkpoint, tensor);
    if (!reader) continue;
    const auto n = static_cast<std::size_t>(std::min(kSome, tensor.numel));
    const auto first = reader->read_f64(0, std::span(values).first(n));
    const auto last = reader->read_f64(tensor.numel - n, std::span(values).first(n));
    const bool plain = tensor.storage != kNone && !checkpoint.storages[tensor.storage].producer && tensor.quantizer == kNone;
    if (plain) require(first && last, "a readable tensor in the file can be read");
    require(!reader->read_f64(tensor.numel, std::span(values).first(1)), "reading behind the last element is an error");
  }
}

bool passes_verify(const FileSet& files, const Checkpoint& checkpoint) {
  const auto maps = model::map_bytes(files, checkpoint);
  require(maps.has_value(), "a file in memory has a map");
  for (const model::ByteMap& map : *maps) {
    std::uint64_t at = 0;
    for (const model::Part& part : map.parts) {
      require(part.offset == at && part.length > 0, "the parts of a map follow each other");
      at = part.end();
    }
    require(at == map.size, "the parts of a map fill the file");
  }
  Findings findings;
  const auto headers = analysis::check_headers(checkpoint, *maps, {}, findings);
  auto pass = analysis::Pass::plan(checkpoint, {.values = true, .block_bytes = 4096});
  require(headers && pass, "a file in memory is verified");
  for (std::size_t i = 0; i < pass->blocks().size(); ++i) {
    const auto bytes = pass->read(i);
    require(bytes.has_value(), "a block of the file is read");
    pass->fold(pass->check(i, bytes->view()));
  }
  for (std::size_t i = 0; i < pass->jobs(); ++i) pass->run_job(i);
  const auto contents = analysis::check_contents(checkpoint, *pass, false, findings);
  require(contents.has_value(), "a file in memory is verified");
  const auto fails = [](const analysis::Check& check) { return check.verdict == analysis::CheckVerdict::fail; };
  return std::ranges::none_of(*headers, fails) && std::ranges::none_of(*contents, fails);
}

std::string told(const Result<Checkpoint>& opened) {
  if (!opened) {
    const Error& error = opened.error();
    return concat("error ", code_name(error.code()), ' ', error.what(), " @", error.where().offset.value_or(0), ' ', error.where().member);
  }
  const Checkpoint& checkpoint = *opened;
  std::string out = concat(checkpoint.format, ' ', checkpoint.container, checkpoint.complete ? " complete\n" : " incomplete\n");
  for (const Tensor& tensor : checkpoint.tensors) {
    out += concat(quote(tensor.name), ' ', tensor.source_dtype, '/', dtype_name(tensor.dtype), ' ', bracketed(tensor.shape), ' ',
                  bracketed(tensor.stride), '+', tensor.storage_offset, tensor.readable ? " readable" : " unreadable");
    if (tensor.storage != kNone) {
      const Storage& storage = checkpoint.storages[tensor.storage];
      out += concat(' ', quote(storage.key), " at ", storage.offset, " n ", storage.nbytes, storage.producer ? " packed" : "");
    }
    out += '\n';
  }
  for (const MetadataEntry& entry : checkpoint.metadata)
    out += concat(quote(entry.key), '=', quote(entry.text), ' ', static_cast<int>(entry.kind), ' ', entry.integer, '\n');
  for (const Finding& finding : checkpoint.findings.list())
    out += concat(severity_name(finding.severity), ' ', code_name(finding.code), ' ', finding.message, " @",
                  finding.where.offset.value_or(0), ' ', finding.where.member, ' ', finding.where.tensor, '\n');
  return out;
}

}  // namespace assay::fuzz
