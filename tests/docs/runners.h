// Tests that run what documents leave to them (`by=TEST`), and how a document's words are held
// against what they run.
#pragma once

#include <string>
#include <vector>

#include "tests/docs/document.h"

namespace cw::docs {

/// The documents whose every command is run: paths in the project, those there are.
std::vector<std::string> documents_of(const std::string& tree);

/// What is wrong with the blocks of a document that other tests run, each with path and line: a
/// test that is not known or not there, a line that it does not have.
std::vector<std::string> wrong_runners(const std::string& tree, const Document& document);

/// For such a test: the blocks that a document leaves to it, in their order.
std::vector<Block> blocks_by(const std::string& test, const Document& document);

/// The lines of a block without comments behind them, and without empty ones.
std::vector<std::string> commands_of(const Block& block);

}  // namespace cw::docs
