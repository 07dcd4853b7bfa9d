// What `diagnose` tells: a diagnosis, the catalogue of mistakes, and one mistake beside the right answer.
#pragma once

#include <string>

#include "lab/report.hpp"
#include "operations/discrimination.hpp"

namespace attnlab {

Report diagnosis_report(const Diagnosis& found);

/// Adds what was found to tell the explanations apart: the file of arrays and how to go on with it.
void tell_discrimination(Report& report, const Diagnosis& found, const Discrimination& told,
                         const std::string& file);

/// The known mistakes of an operation; all where its name is empty.
Report catalogue_report(const std::string& operation);

/// A mistake beside the right answer on small data, with the claim of `verify` that catches it.
Report exhibit_report(const Mistake& mistake);

}  // namespace attnlab
