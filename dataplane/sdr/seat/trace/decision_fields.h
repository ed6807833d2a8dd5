// The fields of decisions, as trace_fields.h has those of facts.
#pragma once

#include "dataplane/policy.h"
#include "dataplane/sdr/seat/trace/trace_fields.h"

namespace cw::sdr {

void fields_of(Of<cw_send> auto& send, auto&& visit) {
  visit("message", send.message);
  visit("first", send.first);
  visit("count", send.count);
  visit("stride", send.stride);
  visit("kind", send.kind);
  visit("path_choice", send.path_choice);
  visit("path", send.path);
  visit("not_before_ns", send.not_before_ns);
  visit("drop_after_ns", send.drop_after_ns);
}

void fields_of(Of<cw_code> auto& code, auto&& visit) {
  visit("message", code.message);
  visit("block", code.block);
  visit("slots", code.slots);
  visit("rows", code.rows);
  visit("k", code.k);
  visit("m", code.m);
  visit("slot_first", code.slot_first);
  visit("repair_first", code.repair_first);
  visit("codec", code.codec);
  visit("row_first", code.row_first);
  visit("row_count", code.row_count);
}

/// Its bytes follow; where they lay says nothing.
void fields_of(Of<cw_note> auto& note, auto&& visit) {
  visit("count", note.count);
  visit("repeat", note.repeat);
}

void fields_of(Of<cw_timer> auto& timer, auto&& visit) {
  visit("cookie", timer.cookie);
  visit("at_ns", timer.at_ns);
}

void fields_of(Of<cw_release> auto& release, auto&& visit) {
  visit("message", release.message);
  visit("up_to", release.up_to);
}

void fields_of(Of<cw_finish> auto& finish, auto&& visit) {
  visit("message", finish.message);
  visit("first", finish.first);
  visit("count", finish.count);
  visit("status", finish.status);
}

void fields_of(Of<cw_layout> auto& layout, auto&& visit) {
  visit("codec", layout.codec);
  visit("rows", layout.rows);
  visit("k", layout.k);
  visit("m", layout.m);
}

void fields_of(Of<cw_ask> auto& ask, auto&& visit) {
  visit("message", ask.message);
  visit("peer", ask.peer);
  visit("first", ask.first);
  visit("count", ask.count);
}

void fields_of(Of<UnknownDecision> auto& decision, auto&& visit) { visit("kind", decision.kind); }

/// act(what it says), of its kind.
void with_decision(const cw_decision& decision, auto&& act) {
  switch (decision.kind) {
    case CW_DECIDE_SEND:
      return act(decision.u.send);
    case CW_DECIDE_CODE:
      return act(decision.u.code);
    case CW_DECIDE_NOTE:
      return act(decision.u.note);
    case CW_DECIDE_TIMER:
      return act(decision.u.timer);
    case CW_DECIDE_RELEASE:
      return act(decision.u.release);
    case CW_DECIDE_FINISH:
      return act(decision.u.finish);
    case CW_DECIDE_LAYOUT:
      return act(decision.u.layout);
    case CW_DECIDE_ASK:
      return act(decision.u.ask);
    default:
      return act(UnknownDecision{decision.kind});
  }
}

}  // namespace cw::sdr
