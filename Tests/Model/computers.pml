/*
 * The digits of approvals = verified, at two computers, with two sign-ins of Mallory's. Tests/Model/approvals.pml has what a
 * phone signs and what a computer holds against it. Here all of that is as it should be, and only the digits can be wrong.
 *
 * Alice signs in at both computers, at one time if she likes. Mallory begins two sign-ins as Alice, each at the computer of
 * their choice. The service is the attacker: it holds its reply to a start back, refuses digits so that others are drawn,
 * and shows any request that was begun on Alice's phone. She approves what looks like a request of hers: one of a computer
 * where a sign-in of hers goes on, whoever began it. She types the digits that her terminal there shows.
 *
 * A computer draws digits three times at most for a sign-in, and none that an open sign-in there has or had.
 *
 * What must hold:
 *   intention: only a sign-in of hers succeeds, without any chance in it;
 *   bounded chance: if she does not read the computer's name (-DNO_NAME), it takes chance. With -DCOUNT the model counts how
 *     often digits of hers and of Mallory's meet that may be the same: five times for each sign-in of Mallory's.
 *
 * Digits matter only by being the same as others: digits that nothing has are one, and so are sign-ins of Mallory's at one
 * computer or the other.
 *
 * Tests/check-model has spin look at every state. Then it takes out each rule (-DNO_…) and expects a counterexample.
 */

#define SIGN_INS 4
/* Alice's are 0, at the first computer, and 1, at the second one. */
#define is_hers(i) ((i) < 2)

/* The state of a sign-in. */
#define IDLE 0
#define DRAWN 1 /* The service has read its digits, and has not replied. */
#define WAITS 2
#define OVER 3
#define is_open(i) (state[i] == DRAWN || state[i] == WAITS)

/* A computer's own limit is 3. */
#ifndef DRAWS
#define DRAWS 3
#endif
#define MAY_DRAW(i) (draws[i] < DRAWS)
#ifdef NO_REGISTRY
#define IS_TAKEN(i) false
#else
#define IS_TAKEN(i) (has(0, place[i]) || has(1, place[i]) || has(2, place[i]) || has(3, place[i]))
#endif
#ifdef NO_NAME
#define LOOKS_ALIKE(i, j) true
#else
#define LOOKS_ALIKE(i, j) (place[i] == place[j])
#endif

bit place[SIGN_INS];
byte state[SIGN_INS];
byte draws[SIGN_INS];

#ifdef COUNT

/* How often a draw may have hit the digits of the other side. */
byte chances;
#ifndef CHANCES
#define CHANCES 10
#endif
#define may_meet(i, other) (is_hers(i) != is_hers(other) && is_open(other) && place[i] != place[other])

inline draw(i) {
  draws[i]++;
  state[i] = DRAWN;
  chances = chances + may_meet(i, 0) + may_meet(i, 1) + may_meet(i, 2) + may_meet(i, 3);
  assert(chances <= CHANCES) /* bounded chance */
}

inline end(i) { state[i] = OVER; draws[i] = 0 }

#else

/* More than all sign-ins can draw and one statement can have. */
#define DIGITS 14

byte code[SIGN_INS];
/* The digits of an open sign-in, those too that the service refused. */
short held[SIGN_INS];
#define has(i, at) (place[i] == (at) && (held[i] & (1 << digits)))
#define is_alive ((held[0] | held[1] | held[2] | held[3]) & (1 << digits) || is_kept && typed == digits)

/* The statement that the attacker keeps: which sign-in of Mallory's she approved, and what she
 * typed. It keeps the last. One for a sign-in of hers ends that, as its time does. */
bit is_kept;
byte request, typed;
hidden byte digits;

inline forget() { is_kept = false; request = 0; typed = 0 }

inline draw(i) {
  draws[i]++;
  assert(draws[i] <= DRAWS); /* bounded chance */
#ifdef NO_NEW_CHALLENGE
#else
  /* Each start has a challenge of its own. */
  if :: is_kept && request == i -> forget() :: else fi;
#endif
  /* Some that are in use elsewhere, or the first that nothing has. */
  digits = 0;
  do
  :: is_alive && digits < DIGITS - 1 -> digits++
  :: is_alive && !IS_TAKEN(i) -> break
  :: !is_alive -> break
  od;
  code[i] = digits;
  held[i] = held[i] | (1 << digits);
  state[i] = DRAWN;
  digits = 0
}

inline end(i) {
  state[i] = OVER; draws[i] = 0; code[i] = 0; held[i] = 0;
  if :: is_kept && request == i -> forget() :: else fi
}

#endif

inline next(i) {
  if
  :: state[i] == IDLE || state[i] == DRAWN && MAY_DRAW(i) -> draw(i)
  :: state[i] == DRAWN -> state[i] = WAITS; draws[i] = 0
  :: is_open(i) -> end(i) /* Its time is over. */
#ifndef COUNT
  /* Alice types the digits of whichever of her sign-ins she takes the request for. */
  :: is_open(i) && !is_hers(i) ->
     if
     :: state[0] == WAITS && LOOKS_ALIKE(i, 0) -> request = i; typed = code[0]; is_kept = true
     :: state[1] == WAITS && LOOKS_ALIKE(i, 1) -> request = i; typed = code[1]; is_kept = true
     :: else
     fi
  :: state[i] == WAITS && is_kept && request == i && typed == code[i] ->
     assert(false) /* intention */
#endif
  fi
}

active proctype all() {
  atomic {
    place[1] = 1;
    if :: place[3] = 0 :: place[3] = 1 fi
  }
  do
  :: atomic { next(0) }
  :: atomic { next(1) }
  :: atomic { next(2) }
  :: atomic { next(3) }
  od
}
