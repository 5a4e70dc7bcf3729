// SPDX-License-Identifier: Apache-2.0
// Logarithm and exponential to within 1e-15 and to the same bits on every machine, which no two C libraries promise; theirs are faster by
// way of 15 KB of tables, which the module that a page loads would carry for a few calls.
#pragma once

namespace assay {

/// Precondition: finite and above 0.
double natural_log(double x);
/// Precondition: |x| at most 700.
double exponential(double x);
/// Precondition: `base` is 0 or as for natural_log.
double power(double base, double exponent);

}  // namespace assay
