// How two sites agree on keys and renew them (SPEC.md 19), for spin.
//
//     End 0   -- first (ephemeral key, offer) -->      End 1     and the other way round, also
//             <-- second (ephemeral key, offer) --               both at once
//             -- sealed packets, either way --
//
// Inlines have the names of the functions of dataplane/seal/handshake/exchange.cc that they do the
// work of. A site's keyring and its workers are one End; a worker uses what it opens by at once.
//
// The wire is the attacker's. What has been said by any life of either site may arrive at any time,
// in any order, any number of times or never, at either end. Nobody makes a message who has not the
// secrets for it.
//
// A session is the answer to a first message. It has a name as long as somebody has its keys or may
// still come to have them; then the name is another one's. So lives, attempts, sessions and replays
// have no bound here, but sessions at once, and what can be told apart is told apart:
//  - One of a site's first messages can be of its attempt, if it has one: what answers it is
//    *live*. All others are alike, and the attacker has as many as he likes, of earlier lives too:
//    whoever answers one makes a session that nobody takes. To answer none is to know it already.
//  - Of a second message nothing matters but which session is said by it. Live sessions that their
//    answerer has lost are alike: one of each asker's stands for all.
//  - Of a key's packets in one direction nothing matters but whether there are any: any opens where
//    another does. So who may seal by a session has sealed by it at once; that a number is not used
//    twice is that nobody begins at the first again.
//  - Of the numbers of sessions their order at an end: a table is a row, the oldest first.
//  - Places are alike. The index in a packet only finds the session, and who has another key in
//    that place refuses it, so here a key is found by itself.
// Time is what may be over: any attempt, any session, at any time.
//
// Always:
//  1. Nobody has a session's keys twice in one role, so that no two sessions share a key; nobody
//     seals two packets by one key and number.
//  2. What is opened by a session was sealed by the other site, which has made this very session
//     with this one, in the other role.
//  3. Who has lost a session, with its life or by time, never has it again. Who was asked uses a
//     session only when who asked has taken it: replays do not do.
//  4. In the calm both ends come to have sessions in use which the other can open, in three times
//     the silence that an end bears.
//  5. No first message ends what an end seals by. In the steady state what one end seals by can be
//     opened at the other, at each moment, or that has restarted.
//
// The calm comes with -DCALM, at any time: what is on the wire is lost and nothing is from then on,
// nobody restarts, sessions do not grow old, and the attacker has one replay left. The steady state
// comes with -DSTEADY: between two renewals of an end something of what either seals does arrive,
// and what nobody seals by is over (30 s of 120 s); what an end seals by is not; between restarts
// what the life before has left is over. Attempts still fail at any time.
//
// What spin cannot show is that secrets are secrets. What each message of Noise_IKpsk2 is worth is
// shown by N. Kobeissi, G. Nicolas and K. Bhargavan, "Noise Explorer" (2019), in ProVerif, for any
// number of sessions; J. Donenfeld and K. Milner, "Formal Verification of the WireGuard Protocol"
// (2018), show it of a cousin, in Tamarin. Neither has tables, retries, restarts and renewal, by
// which a site may yet use a good key badly: that is here. What they show stands here as guards: a
// first message is taken only by whom it is for and of whom it names, a second one only in the
// attempt that it answers, a packet only under its key and direction. Tickets are left out, as
// anybody can write them, and cookies, as who is refused is one whose message was lost; the rest of
// an offer, which the handshake's hash covers; shards, which differ in bits of the number. That
// a packet of a living session opens twice is allowed here: C-85 has who finds it. That randomness
// never repeats is assumed: what comes of it otherwise is two of the seeds.
//
// tests/model/search gives, with -D: STEADY, CALM, PLACES; LOOKS, that an exchange sees later what
// its worker has opened and seals by, and no session ends by time; and SEED_SEAL_..., with LOOKS
// SEED_LOOKS_..., in the steady state SEED_STEADY_..., in the calm SEED_CALM_..., a mistake that
// has to be found.

// sessions_max is 8; each end needs as many as these.
#ifdef SEED_STEADY_PLACES_3
#define PLACES 3
#endif
#ifndef PLACES
#ifdef STEADY
#define PLACES 4
#else
#define PLACES 3
#endif
#endif

// Names, of which so few are taken at once; in the steady state there is no bound but that replays
// take what places an end has beside four.
#define SESSIONS 12
#define NOBODY SESSIONS
#define REPLAYED (PLACES - 4)
#ifndef FEW
#ifdef STEADY
#define FEW SESSIONS
#else
#ifdef CALM
#define FEW 3
#else
#define FEW 4
#endif
#endif
#endif

// In the calm.
#define REPLAYS 1
#define ROUNDS 3

// Roles in a session.
#define ASKER 0
#define ANSWERER 1

// A set of sessions is a bit for each. An entry of a table is a session and a role; 0: none.
#define one(n) (1 << (n))
#define has(set, n) (((set) & one(n)) != 0)
#define entry(s, role) ((s) * 2 + (role) + 1)
#define name_of(it) (((it) - 1) / 2)
#define role_of(it) (((it) - 1) % 2)

typedef End {
  byte table[PLACES];  // the oldest first
  byte filled;
  byte current;        // what it seals by,
  byte passed;         // and how many are not newer than the newest that it ever sealed by
#ifdef LOOKS
  byte current_seen;   // the exchange's: as of its last look
  byte passed_seen;
#endif
  bool asks;           // it has an attempt,
  byte held;           // in whose place this still is; 0: none is
  bool heard;          // in the calm: something was opened since the last round
  bool says;           // in the calm: its first message is on the wire
}
End end[2];

byte sessions;     // names
short by_1;        // which end 1 asked for
short at_1;        // which end 1 answered
short live;        // who asked can still take them
// By role.
short here[2];     // in a table
short added[2];    // ever
short gone[2];     // lost with a life, in the steady state
short counted[2];  // as the table has it: the next number is not the first
short sealed[2];   // as it was: a packet is on the wire
short opened[2];   // something was
short proven[2];   // and the exchange has looked

bool calm;
byte rounds, replays;
short answers;     // in the calm, on the wire: second messages,
short packets[2];  // packets by role of who sealed
hidden byte i, s, it, best, role, look;
hidden byte to[SESSIONS];  // new names

// A verifier tells no more of what it found than this text, number included.
#define law(number, what) assert((what) || number == 0)

#define other(e) (1 - (e))
#define by(e) ((e) == 1 -> by_1 : ~by_1)
#define at(e) ((e) == 1 -> at_1 : ~at_1)
#define site(role, e) ((role) == ASKER -> by(e) : at(e))
#define site_of(n, role) ((role) == ASKER -> has(by_1, n) : has(at_1, n))

// ---- names ----

// A packet of a session that the other has lost is nothing to anybody; nor that who asked has had
// it, when nothing can tell.
inline forget_what_is_over() {
  sealed[ASKER] = sealed[ASKER] & here[ANSWERER];
  counted[ASKER] = counted[ASKER] & here[ANSWERER];
  sealed[ANSWERER] = sealed[ANSWERER] & (here[ASKER] | live);
  counted[ANSWERER] = counted[ANSWERER] & (here[ASKER] | live);
  added[ASKER] = added[ASKER] & (here[ASKER] | live | sealed[ASKER] | opened[ANSWERER])
}

#define moved(set, n) (((set >> (n)) & 1) << to[n])
#define shuffle(set) set = (one(sessions) - 1) & (moved(set, 0) | moved(set, 1) | moved(set, 2) | \
  moved(set, 3) | moved(set, 4) | moved(set, 5) | moved(set, 6) | moved(set, 7) | moved(set, 8) | \
  moved(set, 9) | moved(set, 10) | moved(set, 11))
#define shuffle_both(sets) shuffle(sets[0]); shuffle(sets[1])
#define rename(which) which = (which == 0 -> 0 : entry(to[name_of(which)], role_of(which)))

inline name_next(n) {
  to[n] = sessions;
  sessions++
}

// By the tables, so that what is alike is the same. What has no name then means nothing any more.
inline name_anew() {
  forget_what_is_over();
  for (i : 0 .. SESSIONS - 1) { to[i] = NOBODY }
  sessions = 0;
  for (s : 0 .. 2 * PLACES - 1) {
    it = end[s / PLACES].table[s % PLACES];
    if
    :: it != 0 && to[name_of(it)] == NOBODY -> name_next(name_of(it))
    :: else
    fi
  }
  best = 0;  // who has a session that is live, and lost: one for each
  for (s : 0 .. SESSIONS - 1) {
    if
    :: to[s] == NOBODY && has(live, s) && !has(best, has(by_1, s)) ->
      best = best | one(has(by_1, s));
      name_next(s)
    :: else
    fi
  }
  shuffle(by_1);
  shuffle(at_1);
  shuffle(live);
  shuffle(answers);
  shuffle_both(here);
  shuffle_both(added);
  shuffle_both(gone);
  shuffle_both(counted);
  shuffle_both(sealed);
  shuffle_both(opened);
  shuffle_both(proven);
  shuffle_both(packets);
  for (i : 0 .. PLACES - 1) {
    rename(end[0].table[i]);
    rename(end[1].table[i])
  }
  rename(end[0].current);
  rename(end[1].current);
  rename(end[0].held);
  rename(end[1].held);
#ifdef LOOKS
  rename(end[0].current_seen);
  rename(end[1].current_seen);
#endif
  i = 0;
  s = 0;
  it = 0;
  best = 0;
  role = 0
}

// ---- tables ----

#define clear(set, n) set = set & ~one(n)

// `i` becomes its row.
inline find(e, which) {
  i = 0;
  do
  :: end[e].table[i] == which -> break
  :: else -> i++
  od
}

inline drop(e, which) {
  find(e, which);
  end[e].passed = end[e].passed - (i < end[e].passed);
#ifdef LOOKS
  end[e].passed_seen = end[e].passed_seen - (i < end[e].passed_seen);
  if
  :: end[e].current_seen == which -> end[e].current_seen = 0
  :: else
  fi;
#endif
  do
  :: i == PLACES - 1 -> break
  :: else ->
    end[e].table[i] = end[e].table[i + 1];
    i++
  od;
  end[e].table[PLACES - 1] = 0;
  end[e].filled--;
  role = role_of(which);
  clear(here[role], name_of(which));
  clear(counted[role], name_of(which));
  clear(opened[role], name_of(which));
  clear(proven[role], name_of(which));
  if
  :: end[e].current == which -> end[e].current = 0
  :: else
  fi;
  if
  :: end[e].held == which -> end[e].held = 0
  :: else
  fi
}

inline add(e, n, r) {
  law(1, !has(here[r], n));
  law(3, !has(added[r], n));
  end[e].table[end[e].filled] = entry(n, r);
  end[e].filled++;
  here[r] = here[r] | one(n);
  added[r] = added[r] | one(n)
}

// Whatever it seals later is one more packet that opens as this one does.
inline seal(e) {
  s = name_of(end[e].current);
  role = role_of(end[e].current);
  law(1, has(counted[role], s) || !has(sealed[role], s));
  counted[role] = counted[role] | one(s);
  sealed[role] = sealed[role] | one(s);
  packets[role] = packets[role] | (calm -> one(s) : 0)
}

// Newer than any that was.
#ifdef SEED_STEADY_OLDER_USED
#define is_newer(e) true
#else
#define is_newer(e) (i >= end[e].passed)
#endif

inline use(e, which) {
  law(3, has(added[ASKER], name_of(which)));
  find(e, which);
  if
  :: is_newer(e) ->
    end[e].current = which;
    end[e].passed = i + 1;
    seal(e)
  :: else
  fi
}

#ifdef LOOKS
inline use_seen(e, which) {
  find(e, which);
  if
  :: i >= end[e].passed_seen ->
    end[e].current_seen = which;
    end[e].passed_seen = i + 1
  :: else
  fi
}
#endif

#ifdef SEED_SEAL_USED_TAKEN
#define is_used(e, which) false
#else
#ifdef LOOKS
#define is_used(e, which) (which == end[e].current_seen)
#else
#define is_used(e, which) (which == end[e].current)
#endif
#endif
#ifdef SEED_STEADY_HELD_TAKEN
#define is_held(e, which) false
#else
#define is_held(e, which) (end[e].asks && which == end[e].held)
#endif
#ifdef SEED_STEADY_PROVEN_TAKEN
#define goes_first(which) has(proven[role_of(which)], name_of(which))
#else
#define goes_first(which) (!has(proven[role_of(which)], name_of(which)))
#endif
#ifdef SEED_STEADY_HELD_TAKEN
#define are_all_taken(e) (end[e].filled == PLACES)
#else
#define are_all_taken(e) (end[e].filled + (end[e].asks && end[e].held == 0) == PLACES)
#endif

// Whose place it is to be, in `best`; 0: a free one.
inline take_index(e) {
  best = 0;
  if
  :: !are_all_taken(e)
  :: else ->
    for (i : 0 .. PLACES - 1) {
      if
      :: end[e].table[i] == 0 || is_used(e, end[e].table[i]) || is_held(e, end[e].table[i])
      :: else ->
        if
        :: best == 0 || (goes_first(end[e].table[i]) && !goes_first(best)) ->
          best = end[e].table[i]
        :: else
        fi
      fi
    }
    assert(best != 0)
  fi
}

inline look_at_use(e) {
  look = 0;
  do
  :: look == end[e].filled -> break
  :: else ->
    it = end[e].table[look];
    if
    :: has(opened[role_of(it)] & ~proven[role_of(it)], name_of(it)) ->
      proven[role_of(it)] = proven[role_of(it)] | one(name_of(it));
#ifdef LOOKS
      if
      :: role_of(it) == ANSWERER -> use_seen(e, it)
      :: else
      fi
#endif
    :: else
    fi;
    look++
  od;
  look = 0
}

// ---- asking ----

inline begin_attempt(e) {
#ifdef LOOKS
  look_at_use(e);
#endif
  take_index(e);
  end[e].held = best;
  end[e].asks = true
}

inline forget_live(e) {
  live = live & by(other(e));
  answers = answers & live
}

inline end_attempt(e) {
  end[e].asks = false;
  end[e].held = 0;
  end[e].says = false;
  forget_live(e)
}

inline on_second(e, n) {
  it = end[e].held;
#ifndef SEED_SEAL_SECOND_AGAIN
  end_attempt(e);
#endif
  if
  :: it != 0 -> drop(e, it)
  :: else
  fi;
  add(e, n, ASKER);
  use(e, entry(n, ASKER));
#ifdef LOOKS
  use_seen(e, entry(n, ASKER))
#endif
}

// ---- answering ----

inline new_session(asker, e) {
  n = sessions;
  sessions++;
  assert(sessions <= SESSIONS);
  if
  :: asker == 1 -> by_1 = by_1 | one(n)
  :: else
  fi;
  if
  :: e == 1 -> at_1 = at_1 | one(n)
  :: else
  fi
}

inline answer(asker, e, is_live) {
#ifdef LOOKS
#ifndef SEED_LOOKS_LATE
  look_at_use(e);
#endif
#endif
  take_index(e);
  law(5, best == 0 || best != end[e].current);
  if
  :: best != 0 -> drop(e, best)
  :: else
  fi;
  new_session(asker, e);
#ifdef SEED_STEADY_SAID_FIRST
  if
  :: is_live
  :: else -> add(e, n, ANSWERER)
  fi;
#else
  add(e, n, ANSWERER);
#endif
#ifdef SEED_STEADY_HELD_TAKEN
  if
  :: end[e].asks && end[e].held == 0 && end[e].filled == PLACES ->
    end[e].held = entry(n, ANSWERER)
  :: else
  fi;
#endif
  if
  :: is_live -> live = live | one(n)
  :: else
  fi;
#ifdef SEED_SEAL_UNPROVEN_USED
  use(e, entry(n, ANSWERER))
#endif
}

// ---- sealed packets ----

// The worker seals by it at once.
inline open(e, n, r) {
  law(2, site_of(n, 1 - r) == other(e) && has(added[1 - r], n));
  opened[r] = opened[r] | one(n);
  end[e].heard = calm;
  if
  :: r == ANSWERER -> use(e, entry(n, ANSWERER))
  :: else
  fi;
#ifndef LOOKS
  look_at_use(e)
#endif
}

// ---- an end ----

#define every(set) ((set) & (one(sessions) - 1))
#define answered(e) every(live & by(other(e)) & at(e) & here[ANSWERER])
#define lost(e) every(live & by(other(e)) & at(e) & ~here[ANSWERER])
#define to_take(e) every(live & by(e) & (calm -> answers : ~0))
#define to_open(e, r) every(here[r] & site(r, e) & sealed[1 - (r)] & \
                            (calm -> packets[1 - (r)] : ~opened[r]))
#define to_replay(e, r) every(here[r] & site(r, e) & sealed[1 - (r)])
#define to_look(e) every((here[0] & site(0, e) & opened[0] & ~proven[0]) | \
                         (here[1] & site(1, e) & opened[1] & ~proven[1]))
#define replayed(e) every(here[ANSWERER] & at(e) & ~live & ~proven[ANSWERER])

// The other can open what this end seals.
#define is_openable(e) \
  (end[e].current != 0 && has(here[1 - role_of(end[e].current)], name_of(end[e].current)))
// The other has restarted.
#define is_lost(e) \
  (end[e].current != 0 && has(gone[1 - role_of(end[e].current)], name_of(end[e].current)))
#define is_known(e) \
  (end[e].current != 0 && has(proven[1 - role_of(end[e].current)], name_of(end[e].current)))

#ifdef STEADY
// Between two renewals something of what leaves does arrive, and what is no longer used is over.
#define may_ask(e) (is_known_or_lost(0) && is_known_or_lost(1) && superseded(e) == 0)
#define is_known_or_lost(e) (end[e].current == 0 || is_known(e) || is_lost(e))
#define superseded(e) every(by(e) & added[ASKER] & (here[ASKER] | here[ANSWERER]) & \
                            ~used(0) & ~used(1))
#define used(e) (end[e].current == 0 -> 0 : one(name_of(end[e].current)))
#define may_replay(e) (count_of(replayed(e)) < REPLAYED)
// Neither end seals by it, nor will.
#define may_end(e, which) (which != end[e].current && \
  !(end[other(e)].current != 0 && name_of(end[other(e)].current) == name_of(which)) && \
  !(role_of(which) == ANSWERER && has(live, name_of(which))))
#define may_restart(e) (every((here[0] & gone[1]) | (here[1] & gone[0])) == 0)
inline check_use() {
  law(5, end[0].current == 0 || is_openable(0) || is_lost(0));
  law(5, end[1].current == 0 || is_openable(1) || is_lost(1))
}
#else
#define may_ask(e) (!calm)
#define may_replay(e) (!calm && sessions < FEW)
#ifdef LOOKS
#define may_end(e, which) false
#else
#define may_end(e, which) (!calm)
#endif
#define may_restart(e) (!calm)
#define check_use()
#endif
#define bit_of(set, n) (((set) >> (n)) & 1)
#define count_of(set) (bit_of(set, 0) + bit_of(set, 1) + bit_of(set, 2) + bit_of(set, 3) + \
  bit_of(set, 4) + bit_of(set, 5) + bit_of(set, 6) + bit_of(set, 7) + bit_of(set, 8))

// One of a set that is not empty.
inline pick() {
  n = 0;
  do
  :: has(choice, n) -> break
  :: (choice >> (n + 1)) != 0 -> n++
  od;
  choice = 0
}

inline opens(e, r) {
  d_step {
    packets[1 - r] = packets[1 - r] & ~one(n);
    open(e, n, r)
  }
}

inline on_first(e) {
  if
#ifdef SEED_SEAL_ANSWER_AGAIN
  :: answered(e) == 0 && lost(e) != 0 ->
    n = 0;
    do
    :: has(lost(e), n) -> break
    :: else -> n++
    od;
    add(e, n, ANSWERER)
  :: answered(e) == 0 && lost(e) == 0 -> answer(other(e), e, true)
#else
  :: answered(e) == 0 -> answer(other(e), e, true)
#endif
#ifdef SEED_CALM_ANSWERED_ONCE
  :: else -> n = NOBODY
#else
  :: else
#endif
  fi;
  if
  :: calm ->
    end[other(e)].says = false;
#ifdef SEED_CALM_ANSWERED_ONCE
    answers = answers | (one(n) & answered(e))
#else
    answers = answers | answered(e)
#endif
  :: else
  fi
}

#ifdef SEED_STEADY_SAID_FIRST
inline is_added(e) {
  take_index(e);
  if
  :: best != 0 -> drop(e, best)
  :: else
  fi;
  add(e, n, ANSWERER)
}
#endif

inline restart(e) {
#ifdef SEED_SEAL_KEYS_KEPT
  counted[ASKER] = counted[ASKER] & site(ASKER, other(e));
  counted[ANSWERER] = counted[ANSWERER] & site(ANSWERER, other(e));
  if
  :: end[e].current != 0 -> seal(e)
  :: else
  fi;
#else
  do
  :: end[e].filled == 0 -> break
  :: else ->
    it = end[e].table[0];
#ifdef STEADY
    gone[role_of(it)] = gone[role_of(it)] | one(name_of(it));
#endif
    drop(e, it)
  od;
#endif
  if
  :: end[e].asks -> end_attempt(e)
  :: else
  fi;
#ifdef SEED_SEAL_EPHEMERAL_AGAIN
  end[e].asks = true;
  live = every(live | by(e))
#endif
}

// The n-th of the table.
inline ends(e) {
  d_step {
    it = end[e].table[n];
    drop(e, it)
  }
}

#define may_end_at(e, at) (end[e].filled > at && may_end(e, end[e].table[at]))
#define may_replay_now (calm && replays < REPLAYS)

proctype Site(bit me) {
  byte n;
  short choice;
end_over:
  do
  :: atomic {
    if
    :: !calm && !end[me].asks && may_ask(me) -> d_step { begin_attempt(me) }
    :: !calm && end[me].asks -> d_step { end_attempt(me) }
    :: end[other(me)].asks &&
       (calm -> end[other(me)].says : answered(me) == 0 && sessions < FEW) ->
      d_step { on_first(me) }
    :: may_replay(me) -> d_step { answer(other(me), me, false) }
    :: to_take(me) != 0 -> choice = to_take(me); pick(); d_step { on_second(me, n) }
    :: to_open(me, ASKER) != 0 -> choice = to_open(me, ASKER); pick(); opens(me, ASKER)
    :: to_open(me, ANSWERER) != 0 -> choice = to_open(me, ANSWERER); pick(); opens(me, ANSWERER)
#ifdef LOOKS
    :: to_look(me) != 0 -> d_step { look_at_use(me) }
#endif
    :: may_end_at(me, 0) -> n = 0; ends(me)
    :: may_end_at(me, 1) -> n = 1; ends(me)
    :: may_end_at(me, 2) -> n = 2; ends(me)
#if PLACES > 3
    :: may_end_at(me, 3) -> n = 3; ends(me)
#endif
#if PLACES > 4
    :: may_end_at(me, 4) -> n = 4; ends(me)
#endif
    :: may_restart(me) -> d_step { restart(me) }
#ifdef CALM
    :: may_replay_now -> d_step { replays++; answer(other(me), me, false) }
    :: may_replay_now && to_replay(me, ASKER) != 0 ->
      choice = to_replay(me, ASKER); pick(); replays++; opens(me, ASKER)
    :: may_replay_now && to_replay(me, ANSWERER) != 0 ->
      choice = to_replay(me, ANSWERER); pick(); replays++; opens(me, ANSWERER)
#endif
#ifdef SEED_SEAL_STRANGER
    :: may_replay(me) ->
      d_step { answer(other(me), me, false); sealed[ASKER] = sealed[ASKER] | one(n) }
#endif
#ifdef SEED_SEAL_REFLECTED
    :: end[me].asks && may_replay(me) -> d_step { answer(me, me, true) }
#endif
#ifdef SEED_STEADY_SAID_FIRST
    :: (lost(me) & ~added[ANSWERER]) != 0 ->
      choice = lost(me) & ~added[ANSWERER]; pick(); d_step { is_added(me) }
#endif
    fi;
    d_step {
      n = 0;
      check_use();
      name_anew()
    }
  }
  od
}

// ---- the calm ----

#define is_at_rest (is_openable(0) && is_openable(1) && !end[0].asks && !end[1].asks)

// What has not arrived by now was of a session that the other has not.
inline round_of(e) {
  if
  :: end[e].current != 0 -> seal(e)
  :: else
  fi;
  if
#ifdef SEED_CALM_SILENCE_BORNE
  :: !end[e].asks && end[e].current == 0 -> begin_attempt(e)
#else
  :: !end[e].asks && (end[e].current == 0 || !end[e].heard) -> begin_attempt(e)
#endif
  :: else
  fi;
  end[e].says = end[e].asks;
  end[e].heard = false
}

// A round is the silence after which an end asks, and as long as between two first messages.
proctype Calm() {
  atomic {
    calm = true;
    end[0].heard = true;
    end[1].heard = true
  }
  do
  :: atomic {
    timeout;
    if
    :: is_at_rest -> break
    :: else ->
      law(4, rounds < ROUNDS);
      d_step {
        rounds++;
        packets[ASKER] = 0;
        packets[ANSWERER] = 0;
        round_of(0);
        round_of(1);
        name_anew()
      }
    fi
  }
  od
}

init {
  atomic {
    run Site(0);
    run Site(1);
#ifdef CALM
    run Calm()
#endif
  }
}
