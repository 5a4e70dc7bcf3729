// SPDX-License-Identifier: Apache-2.0
// Passing an Error up: `ASSAY_TRY(const auto header, source.fetch(0, 8));` declares header or returns the error.
#pragma once

#include <expected>
#include <utility>

#define ASSAY_JOIN_(a, b) a##b
#define ASSAY_JOIN(a, b) ASSAY_JOIN_(a, b)

#define ASSAY_TRY(declaration, expression) ASSAY_TRY_(declaration, expression, ASSAY_JOIN(assay_result_, __LINE__))
#define ASSAY_TRY_(declaration, expression, result)               \
  auto result = (expression);                                     \
  if (!result) return std::unexpected(std::move(result).error()); \
  declaration = *std::move(result)

/// The same for Result<void>.
#define ASSAY_CHECK(expression) \
  if (auto assay_checked = (expression); !assay_checked) return std::unexpected(std::move(assay_checked).error())
