# One mistake in the real code for each checker of gateway_swarm, which that checker must find.

cw_swarm_mutant(pacer_hurries SWARM gateway_swarm FOUND_BY rate
  SOURCE dataplane/core/rate/pacer.cc
  FROM "static_cast<int64_t>(time.whole_ns)"
  TO "static_cast<int64_t>(time.whole_ns / 2)")

cw_swarm_mutant(overhead_is_free SWARM gateway_swarm FOUND_BY overhead
  SOURCE dataplane/core/rate/pacer.cc
  FROM "if (is_overhead(item.priority)) allowance_ -= item.bytes * million;"
  TO "")

cw_swarm_mutant(credit_is_granted_twice SWARM gateway_swarm FOUND_BY credit
  SOURCE dataplane/sdr/stream/recv/recv_stream.cc
  FROM "slot_limit_ += slots;"
  TO "slot_limit_ += 2 * slots;")

cw_swarm_mutant(nobody_waits_for_his_elder SWARM gateway_swarm FOUND_BY order
  SOURCE dataplane/gateway/order/order.cc
  FROM "if (ahead > 0) return hold(bucket, index, now);"
  TO "if (ahead > 0) return let_out(index);")

cw_swarm_mutant(nothing_is_too_old SWARM gateway_swarm FOUND_BY age
  SOURCE dataplane/sdr/stream/send/send_slots.cc
  FROM "slot, now) + options_.hold;"
  TO "slot, now) + options_.hold * 10;")

cw_swarm_mutant(a_list_grows SWARM gateway_swarm FOUND_BY memory
  SOURCE dataplane/gateway/gateway.cc
  FROM "if (is_due) refresh_due_ = now + refresh_interval;"
  TO "refresh_due_ = now + refresh_interval;
  if (static std::vector<Instant> all; is_due) all.push_back(now);")

cw_swarm_mutant(a_refusal_is_not_counted SWARM gateway_swarm FOUND_BY conservation
  SOURCE dataplane/gateway/gateway.cc
  FROM "if (!is_taken) drops_.add(why);"
  TO "")

cw_swarm_mutant(what_is_given_up_is_not_counted SWARM gateway_swarm FOUND_BY conservation
  SOURCE dataplane/gateway/to_lan/slot_reader.cc
  FROM "given_up_ += message.said - std::min(message.said, message.whole);"
  TO "")

cw_swarm_mutant(an_envelope_is_too_long SWARM gateway_swarm FOUND_BY wire
  SOURCE dataplane/wire/control/envelope.cc
  FROM "(static_cast<uint16_t>(bytes));"
  TO "(static_cast<uint16_t>(bytes + 4));")

cw_swarm_mutant(strangers_get_no_answer SWARM gateway_swarm FOUND_BY recovery
  SOURCE dataplane/sdr/link/epoch/strangers.cc
  FROM "strangers_.on_hello({peek.header.sender_nonce, hears_at}, now);"
  TO "strangers_.on_hello({peek.header.sender_nonce, hears_at}, now + Duration::from_s(3600));")

cw_swarm_mutant(messages_never_end SWARM gateway_swarm FOUND_BY liveness
  SOURCE dataplane/gateway/to_wan/slot_writer.cc
  FROM "if (next_due() <= now) close(now);"
  TO "if (next_due() <= now) last_append_ = now;")

cw_swarm_mutant(what_is_on_its_way_is_sent_again SWARM gateway_swarm FOUND_BY resends
  SOURCE policies/parts/repeat/repeat_source.cc
  FROM "marks_.word(message.marks, Young, index) |"
  TO "")

cw_swarm_mutant(a_flow_goes_by_two_links SWARM gateway_swarm FOUND_BY order
  SOURCE dataplane/gateway/ingress/ingress.cc
  FROM "static_cast<FlowRoute&>(admitted) = *route;"
  TO "static_cast<FlowRoute&>(admitted) = *route;
  static uint16_t any = 0;
  if (admitted.peer < links_of_peer_.size()) admitted.peer = link_of(admitted.peer, any++);")
