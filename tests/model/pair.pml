// One order for both directions of a QP (SPEC.md 6.6), for spin: what is between two directions;
// what is between the ends of one is swap.pml's.
//
//     Here                                                                There
//     the source of `out`  -- PREPARE, BOUNDARY, CANCEL -->           its sink
//                          <-- READY, ACKNOWLEDGE, REFUSED, CANCEL --
//     the sink of `in`     -- PREPARE, ACKNOWLEDGE, CANCEL -->        its source
//                          <-- BOUNDARY, REFUSED, CANCEL --
//
// Here knows that it is one order: either of its ends holds what would commit it until the other
// cannot fail. There knows nothing of that, and orders swaps of its own in either direction. All
// ends step by the rows of swap_transitions.def. There are neither messages nor epochs.
//
// Two acts: in the first, records are lost, come late and again, makers fail and clocks run out; in
// the calm nothing is lost, and all come to rest.
//
// Always:
//  1. `in` does not begin before `out` has been acknowledged.
//  2. Once one of the two has begun for good, the other is not given up at any end.
//  3. At rest both have been done at both of their ends, or neither at any.
//
// tests/model/search gives, with -D: SEED_PAIR_..., a mistake that has to be found.

mtype = { Idle, Preparing, Asking, Ready, Bound, Draining };
mtype = { Nothing, Order, Asked, Made, MadeForPeer, Failed, Accepted, Refused, Cancelled, TimeOver,
          Acknowledged, Drained, EpochOver };

// Directions.
#define OUT 0
#define IN 1
// Ids, of either direction: the order of both, which is Here's; and There's own.
#define BOTH 1
#define OWN 2
#define chosen_by_source(d, k) ((d == OUT && k == BOTH) || (d == IN && k == OWN))

#define one(n) (1 << (n))
#define has(set, n) (((set) & one(n)) != 0)

typedef End {
  mtype at;
  byte id;
  bool heard;  // what it waits for from the peer
  byte past;   // ids that have ended here
  byte done;   // those of them that were done
}
End source[2], sink[2];

typedef Records {
  byte to_sink_prepare, boundary, to_sink_cancel, to_sink_refused;
  byte to_source_prepare, ready, acknowledge, to_source_cancel, to_source_refused;
}
Records said[2];
byte orders;  // that have been given: one bit for BOTH, two for OWN by direction
bool calm, moved, rested;
bool late[2];  // a sink whose source has given up, of which it has not heard: its time is over

#define law(number, what) assert((what) || number == 0)
#define say(record, n) record = record | one(n)
#define has_begun(end, n) ((end.at == Draining && end.id == n) || has(end.done, n))

inline hear(record, n) {
  if
  :: has(record, 1) -> n = 1
  :: has(record, 2) -> n = 2
  fi;
  if
  :: calm -> record = record & ~one(n)
  :: else
  fi
}

// ---- what Here holds ----

#ifdef SEED_PAIR_BINDS_ALONE
#define may_bind(d) true
#else
#define may_bind(d) (d != OUT || source[OUT].id != BOTH || (sink[IN].id == BOTH && sink[IN].heard))
#endif
#define may_ask(d) \
  (d != IN || sink[IN].id != BOTH || (source[OUT].id == BOTH && source[OUT].heard) || \
   has(source[OUT].done, BOTH))
#ifdef SEED_PAIR_BEGINS_ALONE
#define may_begin(d) true
#else
#define may_begin(d) (d != IN || sink[IN].id != BOTH || has_begun(source[OUT], BOTH))
#endif
#define is_own_of_sink(d) (!chosen_by_source(d, sink[d].id))
#ifdef SEED_PAIR_HELD_ENDS_BY_TIME
#define holds(d) false
#else
#define holds(d) (sink[d].at == Ready && is_own_of_sink(d) && (sink[d].heard || !may_ask(d)))
#endif
#ifdef SEED_PAIR_HELD_YIELDS
#define keeps(d) false
#else
#define keeps(d) (sink[d].at == Ready && is_own_of_sink(d) && sink[d].heard)
#endif

// Its order is over for it, and for its partner, of which nothing can have begun.
inline ends(end) {
  end.past = end.past | one(end.id);
  end.id = 0;
  end.heard = false;
  end.at = Idle
}

inline call_off_in() {
  if
  :: sink[IN].id == BOTH && (sink[IN].at == Preparing || sink[IN].at == Ready) ->
    say(said[IN].to_source_cancel, BOTH);
    ends(sink[IN])
  :: else
  fi
}

inline call_off_out() {
  if
  :: source[OUT].id == BOTH && (source[OUT].at == Preparing || source[OUT].at == Asking) ->
    say(said[OUT].to_sink_cancel, BOTH);
    ends(source[OUT])
  :: else
  fi
}

// ---- a source ----

inline source_gives_up(d) {
  law(2, source[d].id != BOTH ||
         !(d == OUT -> has_begun(sink[IN], BOTH) : has_begun(source[OUT], BOTH)));
  k = source[d].id;
  ends(source[d]);
  if
  :: d == OUT && k == BOTH -> call_off_in()
  :: else
  fi
}

inline source_hears_prepare(d) {
  hear(said[d].to_source_prepare, k);
  if
  :: k == source[d].id
  :: k != source[d].id && has(source[d].past, k) && !has(source[d].done, k) ->
    say(said[d].to_sink_refused, k)
  :: k != source[d].id && !has(source[d].past, k) && source[d].at != Idle ->
    source[d].past = source[d].past | one(k);
    say(said[d].to_sink_refused, k)
  :: k != source[d].id && !has(source[d].past, k) && source[d].at == Idle -> event = Asked
  :: else
  fi
}

inline source_hears_ready(d) {
  hear(said[d].ready, k);
  if
  :: k == source[d].id && source[d].at == Asking ->
    moved = moved || (calm && !source[d].heard);
    source[d].heard = true
  :: k != source[d].id && has(source[d].past, k) && !has(source[d].done, k) ->
    say(said[d].to_sink_cancel, k)
  :: else
  fi
}

inline source_hears_cancel(d) {
  hear(said[d].to_source_cancel, k);
  if
  :: k == source[d].id -> event = Cancelled
  :: k != source[d].id && !chosen_by_source(d, k) -> source[d].past = source[d].past | one(k)
  :: else
  fi
}

inline source_acts(d) {
  if
  :: event == Order || event == Asked -> source[d].id = k
  :: event == Made -> say(said[d].to_sink_prepare, source[d].id)
  :: event == MadeForPeer || event == Accepted -> say(said[d].boundary, source[d].id)
  :: event == Failed || event == Refused || event == Cancelled ->
    if
    :: event == Failed && !chosen_by_source(d, source[d].id) ->
      say(said[d].to_sink_refused, source[d].id)
    :: else
    fi;
    source_gives_up(d)
  :: event == TimeOver ->
    say(said[d].to_sink_cancel, source[d].id);
    source_gives_up(d)
  :: event == Drained ->
    source[d].done = source[d].done | one(source[d].id);
    ends(source[d])
  :: else
  fi
}

proctype SourceEnd(byte d) {
  mtype event = Nothing;
  byte k;
end_idle:
  do
  :: atomic {
    if
    :: !calm && d == OUT && source[OUT].at == Idle && sink[IN].at == Idle && !has(orders, 0) ->
      orders = orders | one(0);
      sink[IN].at = Preparing;
      sink[IN].id = BOTH;
      k = BOTH;
      event = Order
    :: !calm && d == IN && source[IN].at == Idle && !has(orders, 1) ->
      orders = orders | one(1);
      k = OWN;
      event = Order
    :: source[d].at == Preparing ->
      event = (chosen_by_source(d, source[d].id) -> Made : MadeForPeer)
    :: source[d].at == Preparing && !calm -> event = Failed
    :: source[d].at == Asking && source[d].heard && may_bind(d) -> event = Accepted
    :: source[d].at == Asking && !calm -> event = TimeOver
    :: source[d].at == Draining -> event = Drained
    :: said[d].to_source_prepare != 0 -> source_hears_prepare(d)
    :: said[d].ready != 0 -> source_hears_ready(d)
    :: said[d].to_source_refused != 0 ->
      hear(said[d].to_source_refused, k);
      event = (k == source[d].id -> Refused : Nothing)
    :: said[d].acknowledge != 0 ->
      hear(said[d].acknowledge, k);
      event = (k == source[d].id -> Acknowledged : Nothing)
    :: said[d].to_source_cancel != 0 -> source_hears_cancel(d)
    fi;

    if
#define CW_SWAP(end, state, happens, next) CW_AT_##end(state, happens, next)
#define CW_AT_Source(state, happens, next) \
    :: source[d].at == state && event == happens -> source[d].at = next; moved = calm
#define CW_AT_Sink(state, happens, next)
#include "dataplane/sdr/swap/swap_transitions.def"
    :: else -> event = Nothing
    fi;
#undef CW_AT_Source
#undef CW_AT_Sink

    source_acts(d);
    event = Nothing;
    k = 0
  }
  od
}

// ---- a sink ----

inline sink_gives_up(d) {
  law(2, sink[d].id != BOTH ||
         !(d == IN -> has_begun(source[OUT], BOTH) : has_begun(sink[IN], BOTH)));
  k = sink[d].id;
  ends(sink[d]);
  if
  :: d == IN && k == BOTH -> call_off_out()
  :: else
  fi
}

inline sink_hears_prepare(d) {
  hear(said[d].to_sink_prepare, k);
  if
  :: k == sink[d].id && sink[d].at == Ready -> say(said[d].ready, k)
  :: k != sink[d].id && has(sink[d].past, k) && !has(sink[d].done, k) ->
    say(said[d].to_source_refused, k)
  :: k != sink[d].id && !has(sink[d].past, k) && sink[d].at == Idle -> event = Asked
  // Its own order gives way; this comes again.
  :: k != sink[d].id && !has(sink[d].past, k) && !keeps(d) &&
     (sink[d].at == Preparing || sink[d].at == Ready) ->
    say(said[d].to_sink_prepare, k);
    event = Cancelled
  :: else
  fi
}

inline sink_hears_boundary(d) {
  hear(said[d].boundary, k);
  if
  :: has_begun(sink[d], k) -> say(said[d].acknowledge, k)
  :: !has_begun(sink[d], k) && k == sink[d].id && sink[d].at == Ready ->
    moved = moved || (calm && !sink[d].heard);
    sink[d].heard = true
  :: k != sink[d].id && !has(sink[d].done, k) -> say(said[d].to_source_cancel, k)
  :: else
  fi
}

inline sink_hears_cancel(d) {
  hear(said[d].to_sink_cancel, k);
  if
  :: k == sink[d].id -> event = Cancelled
  :: k != sink[d].id && chosen_by_source(d, k) -> sink[d].past = sink[d].past | one(k)
  :: else
  fi
}

inline sink_acts(d) {
  if
  :: event == Order || event == Asked -> sink[d].id = k
  :: event == Made ->
    if
    :: may_ask(d) -> say(said[d].to_source_prepare, sink[d].id)
    :: else
    fi
  :: event == MadeForPeer -> say(said[d].ready, sink[d].id)
  :: event == Failed || event == Refused || event == Cancelled ->
    if
    :: event == Failed && chosen_by_source(d, sink[d].id) ->
      say(said[d].to_source_refused, sink[d].id)
    :: else
    fi;
    sink_gives_up(d)
  :: event == TimeOver ->
    say(said[d].to_source_cancel, sink[d].id);
    sink_gives_up(d)
  :: event == Bound ->
    law(1, d != IN || sink[IN].id != BOTH || has_begun(source[OUT], BOTH));
    say(said[d].acknowledge, sink[d].id)
  :: event == Drained ->
    sink[d].done = sink[d].done | one(sink[d].id);
    ends(sink[d])
  :: else
  fi
}

proctype SinkEnd(byte d) {
  mtype event = Nothing;
  byte k;
end_idle:
  do
  :: atomic {
    if
    :: !calm && d == OUT && sink[OUT].at == Idle && !has(orders, 2) ->
      orders = orders | one(2);
      k = OWN;
      event = Order
    :: sink[d].at == Preparing -> event = (is_own_of_sink(d) -> Made : MadeForPeer)
    :: sink[d].at == Preparing && !calm -> event = Failed
    :: sink[d].at == Ready && sink[d].heard && may_begin(d) -> event = Bound
    :: sink[d].at == Ready && !calm && !holds(d) -> event = TimeOver
    :: sink[d].at == Preparing && !calm && !is_own_of_sink(d) -> event = TimeOver
    :: late[d] ->
      late[d] = false;
      event = TimeOver
    :: sink[d].at == Draining -> event = Drained
    :: said[d].to_sink_prepare != 0 -> sink_hears_prepare(d)
    :: said[d].boundary != 0 -> sink_hears_boundary(d)
    :: said[d].to_sink_refused != 0 ->
      hear(said[d].to_sink_refused, k);
      event = (k == sink[d].id -> Refused : Nothing)
    :: said[d].to_sink_cancel != 0 -> sink_hears_cancel(d)
    // It asks as soon as its partner has been heard.
    :: sink[d].at == Ready && is_own_of_sink(d) && may_ask(d) &&
       !has(said[d].to_source_prepare, sink[d].id) && !calm ->
      say(said[d].to_source_prepare, sink[d].id)
    fi;

    if
#define CW_AT_Source(state, happens, next)
#define CW_AT_Sink(state, happens, next) \
    :: sink[d].at == state && event == happens -> sink[d].at = next; moved = calm
#include "dataplane/sdr/swap/swap_transitions.def"
    :: else -> event = Nothing
    fi;
#undef CW_AT_Source
#undef CW_AT_Sink

    sink_acts(d);
    event = Nothing;
    k = 0
  }
  od
}

// ---- the calm ----

inline fall_silent(d) {
  said[d].to_sink_prepare = 0;
  said[d].boundary = 0;
  said[d].to_sink_cancel = 0;
  said[d].to_sink_refused = 0;
  said[d].to_source_prepare = 0;
  said[d].ready = 0;
  said[d].acknowledge = 0;
  said[d].to_source_cancel = 0;
  said[d].to_source_refused = 0
}

inline repeats(d) {
  if
  :: source[d].at == Asking -> say(said[d].to_sink_prepare, source[d].id)
  :: source[d].at == Bound -> say(said[d].boundary, source[d].id)
  :: else
  fi;
  if
  :: sink[d].at == Ready && is_own_of_sink(d) && may_ask(d) ->
    say(said[d].to_source_prepare, sink[d].id)
  :: else
  fi
}

#define is_at_rest(d) (source[d].at == Idle && sink[d].at == Idle)
#define is_forgotten(d) \
  (sink[d].at == Ready && !is_own_of_sink(d) && source[d].id != sink[d].id)
#define is_done(end) has(end.done, BOTH)

// Time passes when nothing else does: whoever waits repeats.
proctype Calm() {
  atomic {
    calm = true;
    moved = true;
    fall_silent(OUT);
    fall_silent(IN)
  }
  do
  :: atomic {
    timeout;
    if
    :: is_at_rest(OUT) && is_at_rest(IN) -> break
    :: !(is_at_rest(OUT) && is_at_rest(IN)) && moved ->
      repeats(OUT);
      repeats(IN);
      moved = false
    :: !(is_at_rest(OUT) && is_at_rest(IN)) && !moved ->
      law(3, is_forgotten(OUT) || is_forgotten(IN));
      late[OUT] = is_forgotten(OUT);
      late[IN] = is_forgotten(IN)
    fi
  }
  od;
  law(3, is_done(source[OUT]) == is_done(sink[OUT]) && is_done(sink[OUT]) == is_done(source[IN]) &&
         is_done(source[IN]) == is_done(sink[IN]));
  rested = true
}

init {
  atomic {
    source[OUT].at = Idle;
    source[IN].at = Idle;
    sink[OUT].at = Idle;
    sink[IN].at = Idle;
    run SourceEnd(OUT);
    run SourceEnd(IN);
    run SinkEnd(OUT);
    run SinkEnd(IN);
    run Calm()
  }
}
