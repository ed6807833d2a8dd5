// The steps of a group (SPEC.md 18.7 to 18.12) at three of its members, for spin. An epoch is in
// force, in which only the processes speak that it was drawn for: that it is so is join.pml's.
//
//     rank 0   GO, ALL_DONE down, of a step when READY, DONE of all have come
//       |      (-DFORK: both hang below rank 0)
//     rank 1   READY, DONE up, when all below have said it; slots to all
//       |
//     rank 2
//
// Inlines have the names of the functions of dataplane/collective/{group,adding_up}.cc that they
// do the work of. Three kinds of operations: step 0 is a Broadcast of rank 2, which so is open at
// others before they hear GO; step 1 an Allgather; step 2, in the place of step 0, has no bytes.
//
// Two acts, as in swap.pml. In the first, what has been said arrives at any time, in any order, any
// number of times, or never, and members fail. In the calm nothing more is lost, nobody fails but
// who waits for one that is silent, and all comes to rest: a member that is replaced by another
// process, which knows of no epoch, is silent. What has been said of a step stays said: a record is
// a bit by step.
//
// Always:
//  1. No member opens a step before all have posted it.
//  2. No step is done at a member before all have all that it brings.
//  3. What is said of a step moves no other.
//  4. A step opens when the one before is over at rank 0.
//  5. In the calm every step ends at every member: done, if nobody has failed.
//
// The calm comes with -DCALM, and begins with one member failed or replaced, or none; without it
// any of them fail, at any time.
//
// tests/model/search gives, with -D: FORK, CALM, STEPS; FLOW, that calms end; and SEED_STEP_...,
// and SEED_REST_... in the calm, a mistake that has to be found.

#define MEMBERS 3
#ifndef STEPS
#define STEPS 3
#endif
#define PLACES 2  // Group::operations_max

// Stages of an operation.
mtype = { Free, Posted, Open, Done, Failed };

#define one(n) (1 << (n))
#define has(set, n) (((set) & one(n)) != 0)
#define EVERYBODY (one(MEMBERS) - 1)

#ifdef FORK
#define parent(m) 0
#define children(m) ((m) == 0 -> one(1) | one(2) : 0)
#else
#define parent(m) ((m) - 1)
#define children(m) ((m) < MEMBERS - 1 -> one((m) + 1) : 0)
#endif

// Who brings what a step has.
#define sources(s) ((s) == 0 -> one(2) : ((s) == 1 -> EVERYBODY : 0))

typedef Operation {
  mtype stage;
  byte step;
  byte ready;      // children that have said so, with all below
  byte done;
  bool up;         // READY, then DONE, has begun to be said
  bool is_here;    // all that it brings
  byte early[MEMBERS];  // by child: the step of its READY that came before the step, and one
}

typedef Member {
  Operation op[PLACES];
  byte next;       // step to be posted
  bool failed;     // all of the group
  bool gone;       // another process has its rank
}
Member member[MEMBERS];

// What each has said to its parent, and what that has said to it, by step.
typedef Records {
  byte ready, done, go, all_done;
}
Records said[MEMBERS];
byte failures;           // by member: who is to hear of one
byte slots[STEPS];       // by step: sources that have sent

// What has happened, for the laws.
byte posted_by[STEPS], here_at[STEPS], done_at[STEPS];

bool calm, rested, moved, late;

// A verifier tells no more of what it found than this text, number included.
#define law(number, what) assert((what) || number == 0)

#define op_of(m, s) member[m].op[(s) % PLACES]
#ifdef SEED_STEP_BY_PLACE
#define is_found(m, s) (op_of(m, s).stage != Free)
#else
#define is_found(m, s) (op_of(m, s).stage != Free && op_of(m, s).step == (s))
#endif
#define is_released(m, s) (!is_found(m, s) && (s) < member[m].next)

#ifdef SEED_STEP_READY_ALONE
#define is_ready(m, s) (op_of(m, s).stage == Posted)
#else
#define is_ready(m, s) \
  (op_of(m, s).stage == Posted && (op_of(m, s).ready & children(m)) == children(m))
#endif
#ifdef SEED_STEP_DONE_ALONE
#define is_done(m, s) (op_of(m, s).stage == Open && op_of(m, s).is_here)
#else
#define is_done(m, s) \
  (op_of(m, s).stage == Open && op_of(m, s).is_here && \
   (op_of(m, s).done & children(m)) == children(m))
#endif

// ---- what is said ----

inline say(record, s) { record = record | one(s) }

// What is said stays on the wire, save in the calm, where it is heard in order.
inline hear(record, s) {
  if
  :: has(record, 0) -> s = 0
  :: has(record, 1) && !(calm && has(record, 0)) -> s = 1
  :: has(record, 2) && !(calm && (record & 3) != 0) -> s = 2
  fi;
  if
  :: calm -> record = record & ~one(s)
  :: else
  fi
}

#define say_to_children(record, s) \
  for (c : 1 .. MEMBERS - 1) { \
    if \
    :: has(children(me), c) -> say(said[c].record, s) \
    :: else \
    fi \
  }

// ---- group.cc ----

inline open(s) {
  law(1, posted_by[s] == EVERYBODY);
  law(3, op_of(me, s).step == s);
  law(4, s == 0 || has(done_at[s - 1], 0));
  op_of(me, s).stage = Open;
  op_of(me, s).up = false;
  if
  :: has(sources(s), me) -> say(slots[s], me)
  :: else
  fi;
  say_to_children(go, s);
  moved = calm
}

inline is_placed(s) {
  op_of(me, s).is_here = true;
  say(here_at[s], me);
  moved = calm
}

inline end(s) {
  law(2, here_at[s] == EVERYBODY);
  law(3, op_of(me, s).step == s);
  op_of(me, s).stage = Done;
  say(done_at[s], me);
  say_to_children(all_done, s);
  moved = calm
}

// A READY of another step may have come to the same place before.
inline take_early(s) {
  for (c : 1 .. MEMBERS - 1) {
    if
#ifdef SEED_STEP_EARLY_OF_ANOTHER
    :: op_of(me, s).early[c] != 0 -> say(op_of(me, s).ready, c)
#else
    :: op_of(me, s).early[c] == s + 1 -> say(op_of(me, s).ready, c)
#endif
    :: else
    fi
  }
}

inline begin(s) {
  op_of(me, s).stage = Posted;
  op_of(me, s).step = s;
  op_of(me, s).ready = 0;
  op_of(me, s).done = 0;
  op_of(me, s).up = false;
  op_of(me, s).is_here = false;
  say(posted_by[s], me);
  take_early(s);
  member[me].next++;
  moved = calm
}

#define may_be_released(p) (member[me].op[p].stage == Done || member[me].op[p].stage == Failed)

inline try_release(p) {
  member[me].op[p].stage = Free;
  member[me].op[p].step = 0;
  member[me].op[p].ready = 0;
  member[me].op[p].done = 0;
  member[me].op[p].up = false;
  member[me].op[p].is_here = false;
  moved = calm
}

#define is_waiting(p) (member[me].op[p].stage == Posted || member[me].op[p].stage == Open)

inline fail() {
  member[me].failed = true;
  for (k : 0 .. PLACES - 1) {
    if
    :: is_waiting(k) -> member[me].op[k].stage = Failed
    :: else
    fi
  }
  for (c : 0 .. MEMBERS - 1) {
    if
    :: calm && (has(children(me), c) || (me != 0 && c == parent(me))) -> say(failures, c)
    :: else
    fi
  }
  moved = calm
}

// ---- adding_up.cc ----

#ifdef SEED_STEP_TWO_AT_ONCE
#define may_go(s) true
#else
#define may_go(s) ((s) == 0 || !is_found(me, (s) - 1) || op_of(me, (s) - 1).stage == Done)
#endif

// Of all steps, the oldest first, since the end of one lets the next begin.
inline add_up() {
  for (k : 0 .. STEPS - 1) {
    if
    :: is_found(me, k) ->
      if
      :: me == 0 && is_ready(me, k) && may_go(k) -> open(k)
      :: me != 0 && is_ready(me, k) && !op_of(me, k).up ->
        op_of(me, k).up = true;
        say(said[me].ready, k)
      :: else
      fi;
      if
      :: op_of(me, k).stage == Open && !op_of(me, k).is_here && (sources(k) & ~one(me)) == 0 ->
        is_placed(k)
      :: else
      fi;
      if
      :: me == 0 && is_done(me, k) -> end(k)
      :: me != 0 && is_done(me, k) && !op_of(me, k).up ->
        op_of(me, k).up = true;
        say(said[me].done, k)
      :: else
      fi
    :: else
    fi
  }
}

// Whose group has failed says nothing of what has been released: it may have failed.
#ifdef SEED_STEP_FAILED_SAYS_ALL_DONE
#define is_over(s) is_released(me, s)
#else
#define is_over(s) (is_released(me, s) && !member[me].failed)
#endif

inline on_ready(from) {
  hear(said[from].ready, k);
  if
  :: is_over(k) -> say(said[from].all_done, k)
  :: !is_found(me, k) && !is_released(me, k) -> op_of(me, k).early[from] = k + 1
  :: is_found(me, k) && op_of(me, k).stage == Open -> say(said[from].go, k)
  :: is_found(me, k) && op_of(me, k).stage == Posted && !has(op_of(me, k).ready, from) ->
    law(3, op_of(me, k).step == k);
    say(op_of(me, k).ready, from);
    moved = calm
  :: else
  fi
}

inline on_done(from) {
  hear(said[from].done, k);
  if
#ifndef SEED_REST_DONE_UNANSWERED
  :: is_over(k) || (is_found(me, k) && op_of(me, k).stage == Done) ->
    say(said[from].all_done, k)
#endif
  :: is_found(me, k) && op_of(me, k).stage == Open && !has(op_of(me, k).done, from) ->
    law(3, op_of(me, k).step == k);
    say(op_of(me, k).done, from);
    moved = calm
  :: else
  fi
}

inline on_go() {
  hear(said[me].go, k);
  if
  :: is_found(me, k) && op_of(me, k).stage == Posted -> open(k)
  :: is_found(me, k) && op_of(me, k).stage == Open && op_of(me, k).up -> say(said[me].done, k)
  :: else
  fi
}

inline on_all_done() {
  hear(said[me].all_done, k);
  if
  :: is_found(me, k) && op_of(me, k).stage == Open && op_of(me, k).is_here -> end(k)
  :: else
  fi
}

// The first slot of another opens a step, the last one fills it.
#define may_be_placed(s) \
  (is_found(me, s) && (slots[s] & ~one(me)) != 0 && \
   (op_of(me, s).stage == Posted || \
    (op_of(me, s).stage == Open && !op_of(me, s).is_here && \
     ((slots[s] | one(me)) & sources(s)) == sources(s))))

inline on_placed(s) {
  if
  :: op_of(me, s).stage == Posted -> open(s)
  :: else -> is_placed(s)
  fi
}

// ---- a member ----

#define may_post \
  (!member[me].failed && member[me].next < STEPS && op_of(me, member[me].next).stage == Free)

proctype Rank(byte me) provided (!calm) {
  byte k, c;
end_over:
  do
  :: atomic {
    if
    :: may_post -> begin(member[me].next)
    :: may_be_released(0) -> try_release(0)
    :: may_be_released(1) -> try_release(1)
    :: has(children(me), 1) && said[1].ready != 0 -> on_ready(1)
    :: has(children(me), 2) && said[2].ready != 0 -> on_ready(2)
    :: has(children(me), 1) && said[1].done != 0 -> on_done(1)
    :: has(children(me), 2) && said[2].done != 0 -> on_done(2)
    :: me != 0 && said[me].go != 0 -> on_go()
    :: me != 0 && said[me].all_done != 0 -> on_all_done()
    :: may_be_placed(0) -> on_placed(0)
    :: may_be_placed(1) -> on_placed(1)
#ifndef CALM
    // Somebody is silent, a deadline is over, or another has failed.
    :: !member[me].failed && (is_waiting(0) || is_waiting(1)) -> fail()
#endif
    fi;
    d_step {
      add_up();
      k = 0;
      c = 0
    }
  }
  od
}

#ifdef CALM
// ---- the calm ----

// One event after the other, of those that there are; what they add up to, once.
#define when(is_there, what) \
  if \
  :: is_there -> what \
  :: else \
  fi

inline turn() {
  when(has(failures, me) && !member[me].failed, fail());
  // on_anew()
  when(me == 0 && !member[0].failed && (member[1].gone || member[2].gone), fail());
  when(late && !member[me].failed && (is_waiting(0) || is_waiting(1)), fail());
  when(may_be_released(0), try_release(0));
  when(may_be_released(1), try_release(1));
  when(may_post, begin(member[me].next));
  when(may_be_placed(0), on_placed(0));
  when(may_be_placed(1), on_placed(1));
  when(me != 0 && said[me].go != 0, on_go());
  when(me != 0 && said[me].all_done != 0, on_all_done());
  when(has(children(me), 1) && said[1].ready != 0, on_ready(1));
  when(has(children(me), 2) && said[2].ready != 0, on_ready(2));
  when(has(children(me), 1) && said[1].done != 0, on_done(1));
  when(has(children(me), 2) && said[2].done != 0, on_done(2));
  add_up()
}

// Who waits for an answer repeats what it has said: say_again(). (What probe() asks of a child is
// only whether it is there.)
inline repeats() {
  for (me : 1 .. MEMBERS - 1) {
    for (k : 0 .. STEPS - 1) {
      if
#ifndef SEED_REST_READY_ONCE
      :: is_found(me, k) && op_of(me, k).stage == Posted && op_of(me, k).up ->
        say(said[me].ready, k)
#endif
#ifndef SEED_REST_DONE_ONCE
      :: is_found(me, k) && op_of(me, k).stage == Open && op_of(me, k).up ->
        say(said[me].done, k)
#endif
      :: else
      fi
    }
  }
}

inline fall_silent() {
  for (me : 0 .. MEMBERS - 1) {
    said[me].ready = 0;
    said[me].done = 0;
    said[me].go = 0;
    said[me].all_done = 0
  }
}
#define is_quiet(m) \
  (said[m].ready == 0 && said[m].done == 0 && said[m].go == 0 && said[m].all_done == 0)
#define are_quiet (is_quiet(0) && is_quiet(1) && is_quiet(2))

// Another process has its rank, which neither says nor does anything in this epoch.
inline leaves() {
  member[me].gone = true;
  member[me].failed = true;
  member[me].op[0].stage = Free;
  member[me].op[1].stage = Free
}

#define is_at_rest(m) \
  (member[m].op[0].stage == Free && member[m].op[1].stage == Free && \
   (member[m].failed || member[m].next == STEPS))
#define are_at_rest (is_at_rest(0) && is_at_rest(1) && is_at_rest(2))
#define are_whole (!member[0].failed && !member[1].failed && !member[2].failed)

// Members take turns. Once nothing moves in a round, whoever waits repeats what it said; and when
// that moves nobody, it waits for one who is not there, until its time is over.
proctype Calm() {
  byte me, k, c, n;
  bool has_repeated, is_upward;
  atomic {
    calm = true;
    fall_silent();
    if
    :: me = 0
    :: me = 1
    :: me = 2
    fi;
    if
    :: leaves()
    :: fail()
    :: true
    fi
  }
  do
  :: atomic {
    moved = false;
    if
    :: is_upward = true
    :: is_upward = false
    fi;
    for (n : 0 .. MEMBERS - 1) {
      me = (is_upward -> MEMBERS - 1 - n : n);
      turn()
    }
    if
    :: are_at_rest -> break
    :: !are_at_rest && moved -> has_repeated = false
    :: !are_at_rest && !moved && !are_quiet
    :: !are_at_rest && !moved && are_quiet && !has_repeated ->
      repeats();
      has_repeated = true
    :: !are_at_rest && !moved && are_quiet && has_repeated ->
      law(5, !are_whole);
      late = true;
      has_repeated = false
    fi;
    is_upward = false;
    me = 0;
    k = 0;
    c = 0;
    n = 0
  }
  od;
  law(5, !are_whole || done_at[STEPS - 1] == EVERYBODY);
  rested = true
}
#endif

#ifdef FLOW
ltl flow { [] (calm -> <> rested) }
#endif

init {
  atomic {
    byte m;
    for (m : 0 .. MEMBERS - 1) {
      member[m].op[0].stage = Free;
      member[m].op[1].stage = Free
    }
    run Rank(0);
    run Rank(1);
    run Rank(2);
#ifdef CALM
    run Calm();
#endif
    m = 0
  }
}
