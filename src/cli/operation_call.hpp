// An operation on the command line: its options and files declared, its arrays read, its results as a report.
#pragma once

#include <deque>
#include <memory>
#include <string>

#include "cli/array_input.hpp"
#include "lab/report.hpp"
#include "operations/operation.hpp"

namespace attnlab {

/// What was said on the command line about an operation.
struct OperationCall {
  const Operation* operation = nullptr;
  std::unique_ptr<OperationSession> session;
  std::deque<std::string> files;  ///< one for each input of the operation; empty when not given
  ArrayInput reading;
};

/// A call with the defaults set.
std::shared_ptr<OperationCall> start_call(const Operation& operation);

/// Declares the operation's inputs as files, its parameters, and how files are read.
void declare_call(OptionSet& options, OperationCall& call);

/// The arrays from their files. Throws Error(usage) naming every required input that is missing, else as
/// read_array.
Inputs read_inputs(const OperationCall& call);

/// The results; an error of the math names the files it is about.
Results compute(const OperationCall& call, const Inputs& inputs);

/// The results as a report: arrays as grids, numbers as values with a table each.
Report report_of(const Results& results);

/// The results an operation gives, as lines of help.
std::string results_help(const Operation& operation);

}  // namespace attnlab
