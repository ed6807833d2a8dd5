// The swap of a policy while traffic flows (SPEC.md 6.6), of one direction of a QP, for spin.
//
//     Source          -- PREPARE, BOUNDARY, CANCEL, REFUSED, messages -->              Sink
//     opens messages  <-- PREPARE, READY, ACKNOWLEDGE, CANCEL, REFUSED, CLEAR_TO_SEND --
//
// An end steps by the rows of swap_transitions.def, as the gateway does, and by nothing else. What
// goes with a step (what is said, made, bound, destroyed) stands here beside it. REFUSED is a READY
// whose status is not 0.
//
// Two acts. In the first, what has been said since the link's epoch began arrives at any time, in
// any order, any number of times, or never; operators order, makers fail, clocks run out, an end
// restarts or takes its link for dead. The second, the calm, may begin at any moment: what is on
// the wire is lost, nothing is from then on, nobody orders or writes, and all must come to rest.
//
// An id is the number of its order, so that it rises for either chooser, and it names the policy
// too; policy 0 is the file's. Places, messages and swaps are few; time is only what may be over.
//
// Always:
//  1. Both ends read a message by one policy.
//  2. No message at or above S opens before the sink has acknowledged S.
//  3. A message ends once, and its place is free once.
//  4. No instance dies twice, or before its last message at that end.
//  5. An end at rest has one instance. Both ends have the same policy, but for the time between an
//     acknowledgement and its arrival.
//  6. A failure before the acknowledgement changes nothing.
//  7. Once nothing is lost, swaps end and messages flow.
//
// tests/model/search gives, with -D: FLOW, for 7; and SEED_..., a mistake that has to be found.

#define MESSAGES 4
#define PLACES 2
#define ORDERS 2

// States. Who is Gone has left the epoch, and the next has not begun.
mtype = { Gone, Idle, Preparing, Asking, Ready, Bound, Draining };
// Events. Bound is one too: the boundary has come to the sink.
mtype = { Nothing, Order, Asked, Made, MadeForPeer, Failed, Accepted, Refused, Cancelled, TimeOver,
          Acknowledged, Drained, EpochOver };
// Outcomes of an id.
mtype = { Unknown, UnderWay, TurnedDown, Dead, Done };
// What a place of the sink's holds.
mtype = { Free, Begun, Over };

#define SOURCE 0
#define SINK 1

// A set of ids, policies, messages or places is a byte with a bit for each.
#define one(n) (1 << (n))
#define has(set, n) (((set) & one(n)) != 0)

typedef End {
  mtype at;
  byte id;           // of the swap under way; 0: none
  byte boundary;
  byte current;      // the policy of what is new
  byte before;       // Draining: the policy of messages below the boundary
  byte alive;        // instances
  byte making;       // what the control thread is asked for
  byte highest[2];   // id that this end knows of each chooser
  mtype outcome[2];  // and what came of it
  byte retired;      // all messages below are over, as far as this end knows
}
End source, sink;
byte taken;  // the sink's: the id of the last boundary that it has acknowledged

// What has been said in this epoch, by ids.
typedef Records {
  byte prepare, ready, refused, boundary, acknowledge, cancel;
}
Records to_sink, to_source;
byte proposed;             // S of the last BOUNDARY
byte opened;               // messages that have begun to leave
byte opened_by[MESSAGES];  // whose each is
byte cleared;              // the highest retired_seq of a CLEAR_TO_SEND

mtype place[PLACES];  // message m has place m % PLACES
byte read_by[PLACES];
byte lent, ended;     // places that the source has taken; messages that have ended at the sink

byte orders;
byte chosen_by[ORDERS + 1];
bool source_left, sink_left;
bool calm, rested;
bool moved, sink_waits;  // in the calm
hidden byte i;

// A verifier tells no more of what it found than this text, number included.
#define law(number, what) assert((what) || number == 0)

// ---- records ----

inline say(record, n) { record = record | one(n) }

// What is said stays on the wire, save in the calm.
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

inline fall_silent(records) {
  records.prepare = 0;
  records.ready = 0;
  records.refused = 0;
  records.boundary = 0;
  records.acknowledge = 0;
  records.cancel = 0
}

inline remember(end, chooser, n, what) {
  end.highest[chooser] = n;
  end.outcome[chooser] = what
}

// Of the highest id only: lower ones are dropped.
#define came_to(end, chooser, n, what) \
  ((n) == end.highest[chooser] && end.outcome[chooser] == what)

// ---- instances ----

inline is_born(end, policy) {
  law(4, !has(end.alive, policy));
  end.alive = end.alive | one(policy)
}

inline dies(end, policy) {
  law(4, has(end.alive, policy));
  end.alive = end.alive & ~one(policy)
}

inline old_dies_at_source() {
  dies(source, source.before);
  for (i : source.retired .. opened - 1) { law(4, opened_by[i] != source.before) }
}

inline old_dies_at_sink() {
  dies(sink, sink.before);
  law(4, place[0] == Free || read_by[0] != sink.before);
  law(4, place[1] == Free || read_by[1] != sink.before)
}

// ---- what happens to either end ----

inline is_ordered(end, self) {
  orders++;
  k = orders;
  chosen_by[k] = self;
  remember(end, self, k, UnderWay);
  event = Order
}

// The swap that it was made for may be over: then it is freed where it was made.
inline is_made(end, self) {
  if
  :: has(end.making, 1) -> k = 1
  :: has(end.making, 2) -> k = 2
  fi;
  end.making = end.making & ~one(k);
  if
  :: k == end.id && end.at == Preparing && chosen_by[k] == self -> event = Made
  :: k == end.id && end.at == Preparing && chosen_by[k] != self -> event = MadeForPeer
  :: k == end.id && end.at == Preparing && !calm -> event = Failed
  :: k != end.id || end.at != Preparing
  fi
}

// A higher id of the same chooser may have been turned down meanwhile: its outcome stays.
inline concludes(end, what) {
  if
#ifndef SEED_OUTCOME_OF_ANOTHER
  :: end.id != end.highest[chosen_by[end.id]]
#endif
  :: else -> end.outcome[chosen_by[end.id]] = what
  fi;
  end.id = 0
}

// Of the peer's choice it may be, and have overtaken its PREPARE.
inline is_cancelled(end, peer) {
  if
  :: k == end.id -> event = Cancelled
  :: k != end.id && chosen_by[k] == peer && k > end.highest[peer] -> remember(end, peer, k, Dead)
  :: else
  fi
}

// New dies and the id is dead; all else is as it was.
inline gives_up(end, what) {
  if
  :: has(end.alive, end.id) -> dies(end, end.id)
  :: else
  fi;
  law(6, end.alive == one(end.current));
  concludes(end, what)
}

inline comes_to_its_end(end) {
  concludes(end, Done);
  end.before = 0;
  end.boundary = 0
}

inline forgets(end, next) {
  end.at = next;
  end.id = 0;
  end.before = 0;
  end.boundary = 0;
  end.alive = 0;
  remember(end, SOURCE, 0, Unknown);
  remember(end, SINK, 0, Unknown);
  end.retired = 0
}

// Its process is gone with all that it knew, or it has not heard of the peer for too long.
inline leaves(end, left) {
  left = true;
  forgets(end, Gone);
  if
  :: end.current = 0; end.making = 0
  :: true
  fi
}

// At both ends at once: what either does in the new epoch before the other has come is not heard,
// and what the other still does in the old one ends with it. The sink sits down to what the source
// offers: from Draining on that is New.
inline begins_epoch() {
  forgets(source, Idle);
  forgets(sink, Idle);
  sink.current = source.current;
  is_born(source, source.current);
  is_born(sink, sink.current);
  fall_silent(to_source);
  fall_silent(to_sink);
  taken = 0;
  proposed = 0;
  opened = 0;
  cleared = 0;
  lent = 0;
  ended = 0;
  for (i : 0 .. MESSAGES - 1) { opened_by[i] = 0 }
  for (i : 0 .. PLACES - 1) { place[i] = Free; read_by[i] = 0 }
}

inline check() {
  law(5, source.at != Idle || source.alive == one(source.current));
  law(5, sink.at != Idle || sink.alive == one(sink.current));
  law(5, source.at == Gone || sink.at == Gone || source.current == sink.current ||
         (source.at == Bound && source.id == taken))
}

// ---- messages ----

#define owner(end, m) (end.at == Draining && (m) < end.boundary -> end.before : end.current)

#define may_open \
  (source.at != Gone && opened < MESSAGES && opened < source.retired + PLACES && \
   (source.at != Bound || opened < source.boundary))
#ifdef SEED_NOT_FILLED
#define must_open false
#else
#define must_open (source.at == Draining && opened < source.boundary)  // empty, if need be
#endif

inline opens() {
  law(2, opened < proposed || taken == source.id ||
         (source.at != Bound && source.at != Draining));
  law(3, !has(lent, opened % PLACES) && opened < cleared + PLACES);
  law(4, has(source.alive, owner(source, opened)));
  opened_by[opened] = owner(source, opened);
  lent = lent | one(opened % PLACES);
  opened++;
  moved = calm
}

// A CLEAR_TO_SEND of two more is as good as two of one more; a lower one is nothing.
inline retires() {
  law(3, has(lent, source.retired % PLACES));
  lent = lent & ~one(source.retired % PLACES);
  source.retired++;
  moved = calm
}

#define is_fresh(m) (sink.at != Gone && (m) < opened && place[(m) % PLACES] == Free)

inline begins(m) {
  law(1, opened_by[m] == owner(sink, m));
  law(3, !has(ended, m));
  law(4, has(sink.alive, owner(sink, m)));
  place[(m) % PLACES] = Begun;
  read_by[(m) % PLACES] = owner(sink, m);
  moved = calm;
#ifdef SEED_OLD_DIES_EARLY
  if
  :: sink.at == Draining && m >= sink.boundary -> event = Drained
  :: else
  fi
#endif
}

inline ends(m) {
  place[(m) % PLACES] = Over;
  ended = ended | one(m);
  moved = calm
}

inline frees_place() {
  place[sink.retired % PLACES] = Free;
  read_by[sink.retired % PLACES] = 0;
  sink.retired++;
  cleared = sink.retired;
  moved = calm
}

// ---- the source ----

inline source_hears_prepare() {
  hear(to_source.prepare, k);
  if
  :: k > source.highest[SINK] && source.at == Idle ->
    remember(source, SINK, k, UnderWay);
    event = Asked
  :: k > source.highest[SINK] && source.at != Idle ->  // busy
    remember(source, SINK, k, TurnedDown);
    say(to_sink.refused, k)
  :: came_to(source, SINK, k, TurnedDown) -> say(to_sink.refused, k)
  :: came_to(source, SINK, k, Dead) -> say(to_sink.cancel, k)
  :: else
  fi
}

inline source_hears_ready() {
  hear(to_source.ready, k);
  if
  :: k == source.id -> event = Accepted
  :: k != source.id && came_to(source, SOURCE, k, Dead) -> say(to_sink.cancel, k)
  :: else
  fi
}

inline source_hears_acknowledge() {
  hear(to_source.acknowledge, k);
  if
#ifdef SEED_ACK_WITHOUT_ID
  :: true -> event = Acknowledged
#else
  :: k == source.id -> event = Acknowledged
  :: else
#endif
  fi
}

// Above all that is open, and then it never moves.
inline binds() {
  if
  :: proposed = opened
  :: opened + 1 <= MESSAGES -> proposed = opened + 1
  :: opened + 2 <= MESSAGES -> proposed = opened + 2
  fi;
  source.boundary = proposed;
  say(to_sink.boundary, source.id)
}

inline source_acts() {
  if
  :: event == Order || event == Asked ->
    source.id = k;
    source.making = source.making | one(k)
  :: event == Made ->
    is_born(source, k);
    say(to_sink.prepare, k)
  :: event == MadeForPeer ->
    is_born(source, k);
    binds()
  :: event == Accepted -> binds()
  :: event == Failed && chosen_by[k] == SINK ->
    say(to_sink.refused, k);
    gives_up(source, TurnedDown)
  :: event == Failed && chosen_by[k] == SOURCE -> gives_up(source, Dead)
  :: event == Refused || event == Cancelled -> gives_up(source, Dead)
  :: event == TimeOver ->
    say(to_sink.cancel, source.id);
    gives_up(source, Dead)
  :: event == Acknowledged ->
    source.before = source.current;
    source.current = source.id
  :: event == Drained ->
    old_dies_at_source();
    comes_to_its_end(source)
  :: event == EpochOver -> begins_epoch()
  :: else
  fi
}

proctype SourceEnd() {
  mtype event = Nothing;
  byte k;
end_idle:
  do
  :: atomic {
    if
    :: !calm && source.at == Idle && orders < ORDERS -> is_ordered(source, SOURCE)
    :: source.making != 0 -> is_made(source, SOURCE)
    :: !calm && source.at != Idle && source.at != Gone -> event = TimeOver

    :: may_open && (!calm || must_open) -> opens()
    :: source.at != Gone && source.retired < cleared -> retires()
    :: source.at == Draining && source.retired >= source.boundary -> event = Drained
#ifdef SEED_LATER_S
    :: source.at == Bound && source.boundary < MESSAGES -> source.boundary++
#endif

    :: source.at != Gone && to_source.prepare != 0 -> source_hears_prepare()
    :: source.at != Gone && to_source.ready != 0 -> source_hears_ready()
    :: source.at != Gone && to_source.refused != 0 ->
      hear(to_source.refused, k);
      event = (k == source.id -> Refused : Nothing)
    :: source.at != Gone && to_source.acknowledge != 0 -> source_hears_acknowledge()
    :: source.at != Gone && to_source.cancel != 0 ->
      hear(to_source.cancel, k);
      is_cancelled(source, SINK)

    :: !calm && !source_left && source.at != Gone -> leaves(source, source_left)
    :: source.at != Gone && sink.at == Gone -> event = EpochOver
    :: source.at == Gone && sink.at == Gone -> begins_epoch()
    fi;

    if
#define CW_SWAP(end, state, happens, next) CW_AT_##end(state, happens, next)
#define CW_AT_Source(state, happens, next) \
    :: source.at == state && event == happens -> source.at = next; moved = calm
#define CW_AT_Sink(state, happens, next)
#include "dataplane/sdr/swap/swap_transitions.def"
#ifdef SEED_BOUND_ENDS_BY_TIME
    CW_SWAP(Source, Bound, TimeOver, Idle)
#endif
    :: source.at == Idle && event == EpochOver
    :: else -> event = Nothing
    fi;
#undef CW_AT_Source
#undef CW_AT_Sink

    source_acts();
    check();
    event = Nothing;
    k = 0
  }
  od
}

// ---- the sink ----

inline sink_hears_prepare() {
  hear(to_sink.prepare, k);
  if
  :: k > sink.highest[SOURCE] && sink.at == Idle ->
    remember(sink, SOURCE, k, UnderWay);
    event = Asked
  // What it has is its own, or one that the source has given up: it ends, and this comes again.
  :: k > sink.highest[SOURCE] && (sink.at == Preparing || sink.at == Ready) ->
    say(to_sink.prepare, k);
    say(to_source.cancel, sink.id);
    event = Cancelled
  :: k == sink.id && sink.at == Ready -> say(to_source.ready, k)
  :: came_to(sink, SOURCE, k, TurnedDown) -> say(to_source.refused, k)
  :: came_to(sink, SOURCE, k, Dead) -> say(to_source.cancel, k)
  :: else
  fi
}

// The last one taken is remembered beside the highest ids: this end may have chosen a higher one
// since, while the source has not heard of the acknowledgement. Whatever else is answered too,
// since a source that is Bound does not end by time.
#ifdef SEED_TAKEN_BY_HIGHEST
#define is_taken(n) ((n) == taken && (n) == sink.highest[chosen_by[n]])
#else
#define is_taken(n) ((n) == taken)
#endif
#ifdef SEED_LOWER_BOUNDARY_DROPPED
#define is_dropped(n) ((n) < sink.highest[chosen_by[n]])
#else
#define is_dropped(n) false
#endif

inline sink_hears_boundary() {
  hear(to_sink.boundary, k);
  if
  :: is_dropped(k)
  :: !is_dropped(k) && is_taken(k) -> say(to_source.acknowledge, k)
  :: !is_dropped(k) && !is_taken(k) && k == sink.id -> event = Bound
  :: !is_dropped(k) && !is_taken(k) && k != sink.id -> say(to_source.cancel, k)
  fi
}

inline takes_boundary() {
#ifdef SEED_LATER_S
  if
  :: sink.boundary = proposed
  :: sink.boundary = source.boundary
  fi;
#else
  sink.boundary = proposed;
#endif
  sink.before = sink.current;
  sink.current = k;
  taken = k;
  say(to_source.acknowledge, k)
}

inline sink_acts() {
  if
  :: event == Order || event == Asked ->
    sink.id = k;
    sink.making = sink.making | one(k)
  :: event == Made ->
    is_born(sink, k);
    say(to_source.prepare, k)
  :: event == MadeForPeer ->
    is_born(sink, k);
    say(to_source.ready, k)
  :: event == Failed && chosen_by[k] == SOURCE ->
    say(to_source.refused, k);
    gives_up(sink, TurnedDown)
  :: event == Failed && chosen_by[k] == SINK -> gives_up(sink, Dead)
  :: event == Refused || event == Cancelled -> gives_up(sink, Dead)
  :: event == TimeOver ->
    say(to_source.cancel, sink.id);
    gives_up(sink, Dead)
  :: event == Bound -> takes_boundary()
  :: event == Drained ->
    old_dies_at_sink();
    comes_to_its_end(sink)
  :: event == EpochOver -> begins_epoch()
  :: else
  fi
}

proctype SinkEnd() {
  mtype event = Nothing;
  byte k;
end_idle:
  do
  :: atomic {
    if
    :: !calm && sink.at == Idle && orders < ORDERS -> is_ordered(sink, SINK)
    :: sink.making != 0 -> is_made(sink, SINK)
    :: !calm && sink.at != Idle && sink.at != Gone -> event = TimeOver
    :: sink_waits -> sink_waits = false; event = TimeOver

    :: is_fresh(sink.retired) -> begins(sink.retired)
    :: is_fresh(sink.retired + 1) -> begins(sink.retired + 1)
    :: sink.at != Gone && place[sink.retired % PLACES] == Begun -> ends(sink.retired)
    :: sink.at != Gone && place[(sink.retired + 1) % PLACES] == Begun -> ends(sink.retired + 1)
    :: sink.at != Gone && place[sink.retired % PLACES] == Over -> frees_place()
    :: sink.at == Draining && sink.retired >= sink.boundary -> event = Drained

    :: sink.at != Gone && to_sink.prepare != 0 -> sink_hears_prepare()
    :: sink.at != Gone && to_sink.refused != 0 ->
      hear(to_sink.refused, k);
      event = (k == sink.id -> Refused : Nothing)
    :: sink.at != Gone && to_sink.boundary != 0 -> sink_hears_boundary()
    :: sink.at != Gone && to_sink.cancel != 0 ->
      hear(to_sink.cancel, k);
      is_cancelled(sink, SOURCE)

    :: !calm && !sink_left && sink.at != Gone -> leaves(sink, sink_left)
    :: sink.at != Gone && source.at == Gone -> event = EpochOver
    fi;

    if
#define CW_AT_Source(state, happens, next)
#define CW_AT_Sink(state, happens, next) \
    :: sink.at == state && event == happens -> sink.at = next; moved = calm
#include "dataplane/sdr/swap/swap_transitions.def"
    :: sink.at == Idle && event == EpochOver
    :: else -> event = Nothing
    fi;

    sink_acts();
    check();
    event = Nothing;
    k = 0
  }
  od
}

// ---- the calm ----

#define is_at_rest \
  (source.at == Idle && sink.at == Idle && source.making == 0 && sink.making == 0 && \
   source.retired == opened)

// Who waits for an answer repeats what he has said.
inline repeats() {
  if
  :: source.at == Asking -> say(to_sink.prepare, source.id)
  :: source.at == Bound -> say(to_sink.boundary, source.id)
  :: else
  fi;
  if
  :: sink.at == Ready && chosen_by[sink.id] == SINK -> say(to_source.prepare, sink.id)
  :: else
  fi
}

// Time passes when nothing else does: whoever waits repeats. That moves somebody, or nobody waits
// but a sink whose source has given up, of which it has not heard: its time is over.
proctype Calm() {
  atomic {
    calm = true;
    moved = true;
    fall_silent(to_source);
    fall_silent(to_sink)
  }
  do
  :: atomic {
    timeout;
    if
    :: is_at_rest -> break
    :: !is_at_rest && moved ->
      repeats();
      moved = false
    :: !is_at_rest && !moved ->
      law(7, source.at == Idle && sink.at == Ready && chosen_by[sink.id] == SOURCE);
      sink_waits = true
    fi
  }
  od;
  rested = true
}

#ifdef FLOW
ltl flow { [] (calm -> <> rested) }
#endif

init {
  atomic {
    begins_epoch();
    run SourceEnd();
    run SinkEnd();
    run Calm()
  }
}
