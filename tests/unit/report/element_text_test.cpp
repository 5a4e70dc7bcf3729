// SPDX-License-Identifier: Apache-2.0
// Codes taken apart: hex and bits put together again must be the code that was stored.
#include "report/element_text.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "unit/analysis/checkpoint_builder.hpp"

namespace assay::report {
namespace {

using testing::CheckpointBuilder;

struct Texts {
  std::string number, hex, bits, fields;
};

Texts texts_of(DType dtype, const std::vector<std::uint8_t>& code) {
  CheckpointBuilder builder;
  builder.add_raw("t", dtype, {1}, code.data(), code.size());
  const Tensor& tensor = builder.made.tensors[0];
  const auto view = analysis::MatrixView::make(builder.made, tensor, analysis::whole(tensor.shape));
  EXPECT_TRUE(view.has_value());
  return {*element_text(*view, 0, 0, ElementForm::exact), *element_text(*view, 0, 0, ElementForm::hex),
          *element_text(*view, 0, 0, ElementForm::bits), *fields_text(*view, 0, 0)};
}

TEST(ElementText, EveryReal) {
  EXPECT_EQ(texts_of(DType::f32, {0, 0, 0xc0, 0xbf}).bits, "1 01111111 10000000000000000000000");
  EXPECT_EQ(texts_of(DType::f32, {0, 0, 0xc0, 0xbf}).fields, "sign 1, exponent 127, mantissa 4194304/8388608");
  EXPECT_EQ(texts_of(DType::bf16, {0x4a, 0x41}).hex, "414a");
  EXPECT_EQ(texts_of(DType::bf16, {0x4a, 0x41}).number, "12.625");
  EXPECT_EQ(texts_of(DType::f16, {0x01, 0x80}).bits, "1 00000 0000000001");
  EXPECT_EQ(texts_of(DType::f8_e4m3, {0xb8}).bits, "1 0111 000");
  EXPECT_EQ(texts_of(DType::f8_e5m2, {0x7c}).bits, "0 11111 00");
  EXPECT_EQ(texts_of(DType::f8_e8m0, {0x80}).bits, "10000000");
  EXPECT_EQ(texts_of(DType::f8_e8m0, {0x80}).fields, "exponent 128");
  EXPECT_EQ(texts_of(DType::f8_e8m0, {0x80}).number, "2");
  EXPECT_EQ(texts_of(DType::f4, {0x0d}).bits, "1 10 1");
  EXPECT_EQ(texts_of(DType::f4, {0x0d}).hex, "d");
  EXPECT_EQ(texts_of(DType::f6_e2m3, {0x3f}).bits, "1 11 111");
  EXPECT_EQ(texts_of(DType::f6_e2m3, {0x3f}).hex, "3f");
  EXPECT_EQ(texts_of(DType::f64, {1, 0, 0, 0, 0, 0, 0xf0, 0x3f}).hex, "3ff0000000000001");
}

TEST(ElementText, OtherKinds) {
  EXPECT_EQ(texts_of(DType::i16, {0xfe, 0xff}).bits, "11111111 11111110");
  EXPECT_EQ(texts_of(DType::i16, {0xfe, 0xff}).number, "-2");
  EXPECT_EQ(texts_of(DType::i16, {0xfe, 0xff}).fields, "");
  EXPECT_EQ(texts_of(DType::bool_, {1}).number, "true");
  const Texts complex = texts_of(DType::c32, {0x00, 0x3c, 0x00, 0xc0});
  EXPECT_EQ(complex.number, "1-2j");
  EXPECT_EQ(complex.hex, "3c00 c000");
  EXPECT_EQ(complex.bits, "0 01111 0000000000, 1 10000 0000000000");
}

TEST(ElementText, FieldsFillTheCode) {
  for (int d = 0; d <= static_cast<int>(DType::bits16); ++d) {
    const auto dtype = static_cast<DType>(d);
    const BitFields fields = bit_fields(dtype);
    const DTypeKind kind = dtype_info(dtype).kind;
    const bool real = kind == DTypeKind::real || kind == DTypeKind::complex;
    EXPECT_EQ(fields.exponent > 0, real) << dtype_name(dtype);
    EXPECT_TRUE(!real || (fields.sign + fields.exponent + fields.mantissa) * (kind == DTypeKind::complex ? 2 : 1) == dtype_bits(dtype))
        << dtype_name(dtype);
  }
}

TEST(ElementText, QuantisedShowsNumberAndCode) {
  CheckpointBuilder builder;
  const std::int8_t codes[] = {1, -2};
  builder.add_raw("q", DType::qi8, {1, 2}, codes, sizeof codes);
  Quantizer quantizer;
  quantizer.scale = 0.5;
  quantizer.zero_point = 3;
  builder.made.quantizers.push_back(quantizer);
  builder.made.tensors[0].quantizer = 0;
  const Tensor& tensor = builder.made.tensors[0];
  const auto view = analysis::MatrixView::make(builder.made, tensor, *analysis::parse_slice("[:, ::-1]", tensor.shape));
  ASSERT_TRUE(view.has_value());
  EXPECT_EQ(*element_text(*view, 0, 0, ElementForm::exact), "-2.5");
  EXPECT_EQ(*element_text(*view, 0, 0, ElementForm::hex), "fe");
  EXPECT_EQ(*element_text(*view, 0, 1, ElementForm::exact), "-1");
  Writer out;
  ASSERT_TRUE(write_elements_json(out, *view, [] { return false; }).has_value());
  EXPECT_EQ(out.text(), "-2.5, -1");
}

}  // namespace
}  // namespace assay::report
