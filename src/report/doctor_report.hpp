// SPDX-License-Identifier: Apache-2.0
// How a checkup looks: the keys of `doctor`, and its screen.
#pragma once

#include <string_view>

#include "analysis/doctor/doctor.hpp"
#include "assay/finding.hpp"
#include "report/json_writer.hpp"
#include "report/style.hpp"

namespace assay::report {

/// The own keys of `doctor`: healthy, checked, skipped, bytes, and the advice that goes with each code found.
void write_doctor_keys(JsonWriter& json, const analysis::Checkup& checkup, const Findings& findings);

/// What is known of the files themselves.
struct DoctorContext {
  std::string on_cuts = {};  ///< what to do about files that are cut
  bool check_sums = false;   ///< there are some, which a checkup does not compare
};
/// Findings by their kind, the worst first, each kind with what to do about it.
void write_doctor_screen(Writer& out, const Style& style, std::string_view title, const analysis::Checkup& checkup,
                         const Findings& findings, const DoctorContext& about = {});

}  // namespace assay::report
