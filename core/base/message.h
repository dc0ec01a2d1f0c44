/// Messages about cells, plans and designs that accompany their values: a sentence for readers, with kind and subject
/// for programs. No program parses the sentence. Plain values.
#pragma once

#include <string>
#include <vector>

#include "core/base/enum_names.h"

namespace nanobench::core {

/// The text of Message::subject follows from the kind.
enum class MessageKind {
  kNote,           ///< anything else; no subject
  kAlreadySet,     ///< a setting equals the record's value: the feature, or the cell
  kSetToo,         ///< a feature was set because another feature needs it: the feature, or the cell
  kNoEffect,       ///< part of a patch has no effect here: the pointer, or the cell
  kScale,          ///< what the scale keeps, shrinks or cannot keep: the scale
  kLeftOut,        ///< something is not measured: the cell, feature or factor; no subject for several at once
  kSameRun,        ///< two cells are the same run: the second cell
  kNotEstimable,   ///< effects that cannot be separated from others; no subject
  kDesign,         ///< how labels are read, which fraction was chosen; no subject
  kData,           ///< how the cells were fitted to the data: the data set
  kNotMeasurable,  ///< a claim that no cell here can decide: the claim
};

NB_ENUM_NAMES(MessageKind, {MessageKind::kNote, "note"}, {MessageKind::kAlreadySet, "already_set"},
              {MessageKind::kSetToo, "set_too"}, {MessageKind::kNoEffect, "no_effect"}, {MessageKind::kScale, "scale"},
              {MessageKind::kLeftOut, "left_out"}, {MessageKind::kSameRun, "same_run"},
              {MessageKind::kNotEstimable, "not_estimable"}, {MessageKind::kDesign, "design"},
              {MessageKind::kData, "data"}, {MessageKind::kNotMeasurable, "not_measurable"});

struct Message {
  MessageKind kind = MessageKind::kNote;
  std::string subject;
  std::string text;  ///< a whole sentence, with its subject

  friend bool operator==(const Message&, const Message&) = default;
};

inline std::vector<std::string> texts_of(const std::vector<Message>& messages) {
  std::vector<std::string> texts;
  for (const Message& message : messages) texts.push_back(message.text);
  return texts;
}

}  // namespace nanobench::core
