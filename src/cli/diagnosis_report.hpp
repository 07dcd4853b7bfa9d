// What `diagnose` tells: a diagnosis, the catalogue of mistakes, and one mistake beside the right answer.
#pragma once

#include <string>

#include "lab/report.hpp"
#include "operations/diagnosis.hpp"

namespace attnlab {

Report diagnosis_report(const Diagnosis& found, const Array& yours);

/// The known mistakes of an operation; all where its name is empty.
Report catalogue_report(const std::string& operation);

/// A mistake beside the right answer on small data, with the claim of `verify` that catches it.
Report exhibit_report(const Mistake& mistake);

}  // namespace attnlab
