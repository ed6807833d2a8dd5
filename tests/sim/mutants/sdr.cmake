# What the SDR swarm must find; mutants.cmake tells the columns.
cw_swarm_mutant(keeps_silent_about_damage SWARM sdr_swarm
  SOURCE dataplane/port/sim/sim_port.cc
  FROM "++network_.counters_.rx_damaged;"
  TO ""
  FOUND_BY conservation)
cw_swarm_mutant(lets_stragglers_pass_each_other SWARM sdr_swarm
  SOURCE dataplane/port/sim/arrivals.cc
  FROM "if (key_of(b) < key_of(a)) std::swap(a, b);"
  TO "if (key_of(a) < key_of(b)) std::swap(a, b);"
  FOUND_BY "order of time")
cw_swarm_mutant(confuses_two_immediates SWARM sdr_swarm
  SOURCE dataplane/sdr/stream/recv/recv_stream.cc
  FROM "message->immediate = closed.immediate;"
  TO "message->immediate = closed.immediate & ~1u;"
  FOUND_BY "exactly once")
cw_swarm_mutant(believes_packets_of_old_lives SWARM sdr_swarm
  SOURCE dataplane/sdr/stream/recv/recv_slots.cc
  FROM "if (is_placed || arrival.slot.address == expected) return false;"
  TO "if (is_placed || arrival.slot.address - expected != 1) return false;"
  FOUND_BY "no wrong byte")
cw_swarm_mutant(has_receives_outlive_their_epoch SWARM sdr_swarm
  SOURCE dataplane/sdr/link/records.cc
  FROM "    if (qp.recv) qp.recv->reset(now);
  }
  port_.close_queues(peer_, qpn_base_);
  const auto room"
  TO "  }
  port_.close_queues(peer_, qpn_base_);
  const auto room"
  FOUND_BY "one epoch")
cw_swarm_mutant(ends_an_epoch_after_a_short_silence SWARM sdr_swarm
  SOURCE dataplane/sdr/link/control.cc
  FROM "if (dead_due_ > now) return;"
  TO "if (dead_due_ > now + Duration::from_ms(14'970)) return;"
  FOUND_BY "epochs last")
cw_swarm_mutant(writes_to_the_receive_before SWARM sdr_swarm
  SOURCE dataplane/sdr/stream/recv/recv_stream.cc
  FROM "  if (!message->is_lost) end_life(*message);
"
  TO "  if (!message->is_lost) end_life(*message);
  static uint8_t* before = nullptr;
  if (before != nullptr && message->seq.value() > 1) *before = 0;
  before = message->memory;
"
  FOUND_BY "memory given back")
cw_swarm_mutant(never_says_that_the_fourth_message_is_over SWARM sdr_swarm
  SOURCE dataplane/sdr/stream/send/send_stream.cc
  FROM "return is_unheard(*message) ?"
  TO "return is_unheard(*message) || message->seq.value() == 3 ?"
  FOUND_BY "nothing starves")
cw_swarm_mutant(loses_a_packet_of_a_long_burst SWARM sdr_swarm
  SOURCE dataplane/pass/raw_port.cc
  FROM "wire_.give_back({arrived_.data(), arrived_count_});"
  TO "wire_.give_back({arrived_.data(), arrived_count_ - (arrived_count_ > 2)});"
  FOUND_BY "bounded memory")
cw_swarm_mutant(forgets_who_lent_what_it_copied SWARM sdr_swarm
  SOURCE dataplane/pass/copied.cc
  FROM "cookies_[count_++] = send.cookie;"
  TO ""
  FOUND_BY "nothing starves")
cw_swarm_mutant(wants_turns_while_a_message_is_open SWARM sdr_swarm
  SOURCE dataplane/sdr/stream/send/send_stream.cc
  FROM "if (needs_telling_ || !codes_.is_idle() || is_swap_due()) return Instant();"
  TO "if (needs_telling_ || live_count_ > 0) return Instant();"
  FOUND_BY "few turns")
# World 26 may be written where no memory is any more, which ends the program before 30 is asked.
cw_swarm_mutant(leaves_windows_open SWARM sdr_swarm SEED 30
  SOURCE dataplane/sdr/stream/recv/recv_stream.cc
  FROM "  placing_.close(*message);"
  TO ""
  FOUND_BY "memory given back")
cw_swarm_mutant(sends_to_the_window_before SWARM sdr_swarm
  SOURCE dataplane/sdr/stream/send/send_stream.cc
  FROM "return placement.data_key.host() != 0 && placement.seq.host() == seq.value();"
  TO "return placement.data_key.host() != 0;"
  FOUND_BY "nothing starves")
