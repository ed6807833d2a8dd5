// How the members of a group come to one epoch (SPEC.md 18.5, 18.6, 18.13), three of them, for
// spin: JOIN, the proof by nonces, EPOCH. What they do in it is steps.pml's.
//
//     rank 1, 2   -- JOIN (own nonce, heard nonce), a word of the epoch -->   rank 0
//                 <-- JOIN, EPOCH (own nonce, heard nonce) --
//
// Inlines have the names of the functions of dataplane/datagram/membership.cc that they do the work
// of. A process is its nonce: the n-th of a rank has nonce n. What is said goes under a key that
// all processes of a rank have, until there is an epoch, whose id is the nonce of who draws it:
// each process of rank 0 draws one at most.
//
// Two acts, as in swap.pml. In the first, what has been said by any process, alive or not, arrives
// at any time, in any order, any number of times, or never, and any rank is taken by another
// process. In the calm nothing more is lost, nobody begins anew, and all comes to rest.
//
// Always:
//  1. Whoever is in an epoch, or is heard in it, is the very process that it was drawn for.
//  2. An epoch is drawn for processes which have all heard of the one that draws it.
//  3. A process is in one epoch at most, and for good.
//  4. An epoch is said to nobody but whom it was drawn for.
//  5. In the calm all come to be in one epoch, and rank 0 knows it; or it knows of one that is
//     another process; or it is itself another one than that of a member's epoch.
//
// tests/model/search gives, with -D: FLOW, that calms end; and SEED_JOIN_..., a mistake that has to
// be found.

#define MEMBERS 3
#define PROCESSES 2  // of a rank
#define RESTARTS 2   // of all ranks

#define one(n) (1 << (n))
#define has(set, n) (((set) & one(n)) != 0)

// A row of rank 0's.
typedef Row {
  byte nonce;    // 0: nobody is proven
  byte asked;    // who is to be answered; 0: nobody
  bool in_epoch;
}
Row row[MEMBERS];
byte nonce[MEMBERS];
bool in_force;   // at rank 0
bool is_anew;    // rank 0 knows of a member that is another process: the group is over
byte heard[MEMBERS];  // at a member: the nonce of rank 0; 0: not yet
byte epoch[MEMBERS];  // at a member; 0: none

// What has been said between a member and rank 0: a bit by both nonces.
typedef Records {
  byte join, word;              // to rank 0; an epoch's id is a nonce
  byte answer, epoch;           // to the member
}
Records said[MEMBERS];
#define pair(own, other) (((own) - 1) * (PROCESSES + 1) + (other))
#define own_of(bit) ((bit) / (PROCESSES + 1) + 1)
#define other_of(bit) ((bit) % (PROCESSES + 1))

// What has happened, for the laws.
typedef Drawn {
  byte with[MEMBERS];
}
Drawn drawn[PROCESSES + 1];
byte has_heard[MEMBERS];  // pairs of a member's nonce and one of rank 0

byte restarts;
bool calm, rested, moved;

// A verifier tells no more of what it found than this text, number included.
#define law(number, what) assert((what) || number == 0)

#define say(record, own, other) record = record | one(pair(own, other))

// What is said stays on the wire, save in the calm.
inline hear(record) {
  if
  :: has(record, 0) -> k = 0
  :: has(record, 1) -> k = 1
  :: has(record, 2) -> k = 2
  :: has(record, 3) -> k = 3
  :: has(record, 4) -> k = 4
  :: has(record, 5) -> k = 5
  fi;
  if
  :: calm -> record = record & ~one(k)
  :: else
  fi
}

// ---- rank 0 ----

inline want_answer(m, n) { row[m].asked = n }

inline draw_epoch() {
  in_force = true;
  for (i : 1 .. MEMBERS - 1) {
    law(2, has(has_heard[i], pair(row[i].nonce, nonce[0])));
    drawn[nonce[0]].with[i] = row[i].nonce
  }
  moved = calm
}

#define are_all_there (row[1].nonce != 0 && row[2].nonce != 0)

inline take_proven(m, n) {
  if
#ifndef SEED_JOIN_ANEW_UNSEEN
  :: in_force && row[m].nonce != n ->
    moved = moved || (calm && !is_anew);
    is_anew = true
#endif
  :: else ->
    moved = moved || (calm && row[m].nonce != n);
    row[m].nonce = n;
    if
    :: in_force || !are_all_there -> want_answer(m, n)
    :: else -> draw_epoch()
    fi
  fi
}

inline take_stranger(m) {
  hear(said[m].join);
  if
#ifdef SEED_JOIN_UNPROVEN
  :: true -> take_proven(m, own_of(k))
#else
  :: other_of(k) == nonce[0] -> take_proven(m, own_of(k))
  :: other_of(k) == 0 -> want_answer(m, own_of(k))
#endif
  :: else  // of another process of rank 0
  fi
}

inline take_of_epoch(m) {
  hear(said[m].word);
  if
  :: in_force && other_of(k) == nonce[0] && own_of(k) == row[m].nonce ->
    law(1, drawn[nonce[0]].with[m] == own_of(k));
    moved = moved || (calm && !row[m].in_epoch);
    row[m].in_epoch = true
  :: else
  fi
}

// add_join()
inline answers(m) {
  say(said[m].answer, nonce[0], row[m].asked);
  if
#ifdef SEED_JOIN_EPOCH_TO_STRANGERS
  :: in_force && !row[m].in_epoch ->
#else
  :: in_force && !row[m].in_epoch && row[m].asked == row[m].nonce ->
    law(4, drawn[nonce[0]].with[m] == row[m].asked);
#endif
    say(said[m].epoch, nonce[0], row[m].asked)
  :: else
  fi;
  row[m].asked = 0
}

inline repeat_epoch(m) {
  if
  :: in_force && !row[m].in_epoch -> row[m].asked = row[m].nonce
  :: else
  fi
}

proctype RankZero() {
  byte k, i;
end_over:
  do
  :: atomic {
    if
    :: said[1].join != 0 -> take_stranger(1)
    :: said[2].join != 0 -> take_stranger(2)
    :: said[1].word != 0 -> take_of_epoch(1)
    :: said[2].word != 0 -> take_of_epoch(2)
    :: row[1].asked != 0 -> answers(1)
    :: row[2].asked != 0 -> answers(2)
    :: !calm && in_force && row[1].asked == 0 -> repeat_epoch(1)
    :: !calm && in_force && row[2].asked == 0 -> repeat_epoch(2)
    :: !calm && restarts < RESTARTS && nonce[0] < PROCESSES ->
      restarts++;
      nonce[0]++;
      in_force = false;
      is_anew = false;
      for (i : 1 .. MEMBERS - 1) {
        row[i].nonce = 0;
        row[i].asked = 0;
        row[i].in_epoch = false
      }
    fi;
    k = 0;
    i = 0
  }
  od
}

// ---- a member ----

#ifdef SEED_JOIN_ANSWER_TO_ANOTHER
#define is_answer(m) true
#else
#define is_answer(m) (other_of(k) == nonce[m])
#endif

inline take_join(m) {
  heard[m] = own_of(k);
  has_heard[m] = has_heard[m] | one(pair(nonce[m], own_of(k)))
}

inline try_begin(m) {
  law(1, drawn[own_of(k)].with[m] == nonce[m]);
  law(3, epoch[m] == 0);
  epoch[m] = own_of(k);
  say(said[m].word, nonce[m], epoch[m])
}

// take_answer(): JOIN alone. What has been heard before is said again in its time only.
inline take_heard(m) {
  hear(said[m].answer);
  if
  :: is_answer(m) && epoch[m] == 0 && heard[m] != own_of(k) ->
    take_join(m);
    say(said[m].join, nonce[m], heard[m]);
    moved = calm
  :: else
  fi
}

// take_answer(): with EPOCH.
inline take_epoch(m) {
  hear(said[m].epoch);
  if
#ifdef SEED_JOIN_SECOND_EPOCH
  :: is_answer(m) && epoch[m] != own_of(k) ->
#else
  :: is_answer(m) && epoch[m] == 0 ->
#endif
    take_join(m);
    try_begin(m);
    moved = calm
#ifndef SEED_JOIN_WORD_ONCE
  :: is_answer(m) && epoch[m] == own_of(k) -> say(said[m].word, nonce[m], epoch[m])
#endif
  :: else
  fi
}

// next_join(): asked in vain for long enough, rank 0 may be another than the one that was heard.
inline loses_patience(m) {
  heard[m] = 0;
  say(said[m].join, nonce[m], 0)
}

proctype Rank(byte me) {
  byte k;
end_over:
  do
  :: atomic {
    if
    :: !calm && epoch[me] == 0 && !has(said[me].join, pair(nonce[me], heard[me])) ->
      say(said[me].join, nonce[me], heard[me])
    :: !calm && epoch[me] == 0 && heard[me] != 0 -> loses_patience(me)
    :: said[me].answer != 0 -> take_heard(me)
    :: said[me].epoch != 0 -> take_epoch(me)
    :: !calm && restarts < RESTARTS && nonce[me] < PROCESSES ->
      restarts++;
      nonce[me]++;
      heard[me] = 0;
      epoch[me] = 0
    fi;
    k = 0
  }
  od
}

// ---- the calm ----

inline repeats(m) {
  if
  :: epoch[m] == 0 && heard[m] != 0 && heard[m] != nonce[0] ->
    loses_patience(m);
    moved = true
  :: epoch[m] == 0 && (heard[m] == 0 || heard[m] == nonce[0]) ->
    say(said[m].join, nonce[m], heard[m])
  :: else
  fi;
  repeat_epoch(m)
}

inline fall_silent(m) {
  said[m].join = 0;
  said[m].word = 0;
  said[m].answer = 0;
  said[m].epoch = 0
}

#define is_in(m) (epoch[m] == nonce[0] && row[m].in_epoch)
#define are_in (in_force && is_in(1) && is_in(2))
#define is_of_before(m) (epoch[m] != 0 && epoch[m] != nonce[0])

// Time passes when nothing else does: whoever waits repeats.
proctype Calm() {
  atomic {
    calm = true;
    moved = true;
    fall_silent(1);
    fall_silent(2)
  }
  do
  :: atomic {
    timeout;
    if
    :: are_in || is_anew -> break
    :: !(are_in || is_anew) && moved ->
      moved = false;
      repeats(1);
      repeats(2)
    :: !(are_in || is_anew) && !moved ->
      law(5, is_of_before(1) || is_of_before(2));
      break
    fi
  }
  od;
  law(5, restarts > 0 || are_in);
  rested = true
}

#ifdef FLOW
ltl flow { [] (calm -> <> rested) }
#endif

init {
  atomic {
    nonce[0] = 1;
    nonce[1] = 1;
    nonce[2] = 1;
    run RankZero();
    run Rank(1);
    run Rank(2);
    run Calm()
  }
}
