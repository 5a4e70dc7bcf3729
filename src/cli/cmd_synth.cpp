// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cstring>

#include "base/half.hpp"
#include "base/text.hpp"
#include "cli/run.hpp"
#include "cli/write_file.hpp"
#include "formats/write.hpp"
#include "model/synthetic.hpp"
#include "report/units.hpp"

namespace assay::cli {
namespace {

template <class Code>
void append_codes(std::vector<std::byte>& out, std::span<const float> values, Code (*encode)(float)) {
  out.reserve(values.size() * sizeof(Code));
  for (const float value : values) {
    const Code code = encode(value);
    for (std::size_t i = 0; i < sizeof code; ++i) out.push_back(static_cast<std::byte>(code >> (8 * i)));
  }
}

struct Encoding {
  std::string_view word;
  DType dtype;
  void (*encode)(std::vector<std::byte>&, std::span<const float>);
};

constexpr Encoding kEncodings[] = {
    {"f32", DType::f32,
     [](auto& out, auto values) { append_codes<std::uint32_t>(out, values, [](float v) { return std::bit_cast<std::uint32_t>(v); }); }},
    {"bf16", DType::bf16, [](auto& out, auto values) { append_codes<std::uint16_t>(out, values, f32_to_bf16); }},
    {"f16", DType::f16, [](auto& out, auto values) { append_codes<std::uint16_t>(out, values, f32_to_f16); }},
};

/// The format that a file's name asks for; "" for none we write.
std::string_view format_of(std::string_view path) {
  if (path.ends_with(".safetensors")) return "safetensors";
  for (const std::string_view ending : {".pt", ".pth", ".bin", ".ckpt"})
    if (path.ends_with(ending)) return "torch-zip";
  return "";
}

/// torch.save names the archive's folder after the file: "demo" for demo.pt.
std::string_view archive_root(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  const std::string_view name = slash == std::string_view::npos ? path : path.substr(slash + 1);
  const std::size_t dot = name.rfind('.');
  return dot == std::string_view::npos || dot == 0 ? std::string_view("archive") : name.substr(0, dot);
}

}  // namespace

int run_synth(Context& context) {
  const std::string path = context.options.word(0);
  Answer answer(context);
  const std::string format = context.options.text("--format", format_of(path));
  if (format.empty())
    return answer.fail(std::move(Error(Code::usage, concat("the name ", quote(path), " says no format")))
                           .advise("end it in .safetensors or .pt, or give --format"));
  const Encoding* encoding = std::begin(kEncodings);
  while (encoding->word != context.options.text("--dtype", "f32")) ++encoding;

  const auto model = model::synthetic_model(context.options.number("--seed", model::kSyntheticSeed));
  std::vector<std::vector<std::byte>> bytes(model.size());
  std::vector<formats::TensorToWrite> tensors;
  for (std::size_t i = 0; i < model.size(); ++i) {
    encoding->encode(bytes[i], model[i].values);
    tensors.push_back({model[i].name, encoding->dtype, model[i].shape, bytes[i]});
  }
  const auto file = format == "safetensors" ? formats::write_safetensors(tensors, {{"format", "pt"}})
                                            : formats::write_torch_zip(tensors, archive_root(path));
  if (!file) return answer.fail(file.error());
  if (const auto written = write_file(path, *file, context.options.has("--force")); !written) return answer.fail(written.error());

  if (report::JsonWriter* json = answer.json()) {
    json->key("format").text(format);
    json->key("tensor_count").integer(tensors.size());
    json->key("file_size").integer(file->size());
  } else if (!context.quiet) {
    context.out.put(concat("wrote ", report::shown_name(context.style, path), ": ", tensors.size(), " tensors, ",
                           report::bytes_text(context.style, file->size()), "\n"));
  }
  return answer.done();
}

}  // namespace assay::cli
