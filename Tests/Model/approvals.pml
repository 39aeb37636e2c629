/*
 * Verified approvals, with everybody but this computer, its user and the user's phone on the attacker's side.
 *
 * Alice signs in at this computer twice, one time after the other, and Mallory tries to sign in as Alice. Alice also signs in
 * at another computer, and uses her phone for another service that she does not care about. A thief may tap on her phone
 * and cannot unlock it. The service, its worker and everything on the way are one attacker: it shows any request to her
 * phone, names sessions as it likes, keeps whatever a phone signed, and hands it on to any sign-in, before or after that
 * sign-in's time. It has a phone of its own. It cannot sign with the key of Alice's phone.
 *
 * Alice approves what looks like a request of hers, and types the digits that she sees where she began it. She does not
 * compare details in which two requests of one computer may differ, such as the terminal's number. The computer draws the digits of
 * each sign-in. The attacker sees them and may refuse them, so that others are drawn, and the digits of two sign-ins may
 * turn out to be the same.
 *
 * What must hold:
 *   intention: a sign-in succeeds only if Alice began it; or if chance gave it the digits of a sign-in of hers that goes on,
 *     and she typed them for a request that looks like hers: then nothing that she sees could tell her;
 *   bounded chance: a sign-in draws digits three times at most;
 *   freshness: one approval opens one sign-in, and only while its computer waits;
 *   agreement: the session that the computer goes on to watch is the one that her phone approved.
 *
 * Tests/check-model has spin look at every state. Then it takes out each check (-DNO_…) and expects a counterexample.
 */

#define FIRST 0
#define MALLORYS 1
#define SECOND 2
#define SIGN_INS 3

/* Contexts, and how they look to a person. Those of Alice's sign-ins are the same; Mallory's has another terminal. */
#define looks_like_hers(context) ((context) <= MALLORYS)
#define ELSEWHERE 2
#define context_of(i) ((i) == MALLORYS -> MALLORYS : FIRST)

/* The other computer's challenge is any that is not of a sign-in here. */
#define challenge_of(i) (i)
#define ANOTHER 3

#define ALICES_PHONE 0
#define STRANGERS_PHONE 1

#ifdef NO_KEY
#define KEY_IS_RIGHT true
#else
#define KEY_IS_RIGHT (key == ALICES_PHONE)
#endif
#ifdef NO_ORIGIN
#define ORIGIN_IS_RIGHT true
#else
#define ORIGIN_IS_RIGHT (is_here)
#endif
#ifdef NO_SESSION
#define SESSION_IS_RIGHT true
#else
#define SESSION_IS_RIGHT (session == name[i])
#endif
#ifdef NO_CONTEXT
#define CONTEXT_IS_RIGHT true
#else
#define CONTEXT_IS_RIGHT (context == context_of(i))
#endif
#ifdef NO_CHALLENGE
#define CHALLENGE_IS_RIGHT true
#else
#define CHALLENGE_IS_RIGHT (challenge == challenge_of(i))
#endif
#ifdef NO_CODE
#define CODE_IS_RIGHT true
#else
#define CODE_IS_RIGHT (typed == code[i])
#endif
#ifdef NO_METHOD
#define METHOD_IS_RIGHT true
#else
#define METHOD_IS_RIGHT (is_unlocked)
#endif
#ifdef NO_ANSWER
#define ANSWER_IS_RIGHT true
#else
#define ANSWER_IS_RIGHT (is_approved)
#endif
#ifdef NO_WAIT
#define WAITS true
#else
#define WAITS (waits[i])
#endif

#ifdef NO_LIMIT
#define MAY_DRAW true
#else
#define MAY_DRAW (draws < 3)
#endif
/* Without this, what chance does to Alice counts as an attack: it shows that equal digits do sign in Mallory. */
#ifdef NO_CHANCE
#define IS_MISTAKEN false
#else
#define IS_MISTAKEN (is_mistaken)
#endif

/* The digits on the terminals, of which there are two here; and what the service calls each session. */
bit code[SIGN_INS];
bit code_elsewhere;
bit name[SIGN_INS];
bit waits[SIGN_INS];
byte successes;
/* Sign-ins that the kept statement has opened. */
byte opened;

/* The statement that the attacker keeps. */
bit is_kept, key, is_here, session, is_unlocked, is_approved, typed;
byte context, challenge;
/* Whether Alice typed the digits of a sign-in of hers, and Mallory's has the same. */
bit is_mistaken;
/* How often the sign-in that begins has drawn digits. */
byte draws;

/* A computer draws until the service takes what it drew, or no more: then the sign-in ends before it rings anybody. */
inline draw(i) {
  draws = 0;
  do
  :: MAY_DRAW ->
     draws++;
     assert(draws <= 3); /* bounded chance */
     if :: code[i] = 0 :: code[i] = 1 fi;
     if :: waits[i] = true; break :: skip fi
  :: !MAY_DRAW -> break
  od;
  draws = 0
}

/* What the phone is asked to sign: the attacker's choice, whoever signs. */
inline choose_request() {
  if :: session = 0 :: session = 1 fi;
  if :: challenge = FIRST :: challenge = MALLORYS :: challenge = SECOND :: challenge = ANOTHER fi;
  if :: context = FIRST :: context = MALLORYS :: context = ELSEWHERE fi;
  is_kept = true;
  is_mistaken = false;
  opened = 0
}

/* Somebody signs a request. */
proctype signers() {
  do
  :: atomic { !is_kept -> /* Alice, at her phone. */
       choose_request(); key = ALICES_PHONE; is_here = true;
       if :: is_unlocked = true :: is_unlocked = false fi;
       if
       :: looks_like_hers(context) ->
          is_approved = true;
          /* Whichever of her own sign-ins goes on. */
          if
          :: waits[FIRST] -> typed = code[FIRST]; is_mistaken = (typed == code[MALLORYS])
          :: waits[SECOND] -> typed = code[SECOND]; is_mistaken = (typed == code[MALLORYS])
          :: !waits[FIRST] && !waits[SECOND] -> is_approved = false; typed = 0
          fi
       :: context == ELSEWHERE -> is_approved = true; typed = code_elsewhere
       fi }
  :: atomic { !is_kept -> /* Alice denies, with digits or without. */
       choose_request(); key = ALICES_PHONE; is_here = true; is_unlocked = true; is_approved = false;
       if :: typed = 0 :: typed = 1 fi }
  :: atomic { !is_kept -> /* Alice, at a service that she does not care about: she types what it tells her. */
       choose_request(); key = ALICES_PHONE; is_here = false; is_unlocked = true; is_approved = true;
       if :: typed = 0 :: typed = 1 fi }
  :: atomic { !is_kept -> /* A thief, who sees Mallory's terminal. */
       choose_request(); key = ALICES_PHONE; is_here = true; is_unlocked = false; is_approved = true;
       typed = code[MALLORYS] }
  :: atomic { !is_kept -> /* The attacker's own phone. */
       choose_request(); key = STRANGERS_PHONE; is_here = true; is_unlocked = true; is_approved = true;
       if :: typed = 0 :: typed = 1 fi }
  :: atomic { is_kept -> is_kept = false } /* The attacker throws it away. */
  od
}

/* A computer's wait for the approval of one sign-in. */
proctype computer(byte i) {
  do
  :: atomic { (is_kept && WAITS && KEY_IS_RIGHT && ORIGIN_IS_RIGHT && SESSION_IS_RIGHT && CONTEXT_IS_RIGHT
       && CHALLENGE_IS_RIGHT && CODE_IS_RIGHT && METHOD_IS_RIGHT && ANSWER_IS_RIGHT) ->
       if :: IS_MISTAKEN -> skip :: else -> assert(i != MALLORYS) fi; /* intention */
       assert(waits[i]); /* freshness */
       assert(session == name[i]); /* agreement */
       opened++;
       assert(opened <= 1); /* freshness */
       waits[i] = false }
  :: atomic { waits[i] -> waits[i] = false } /* Its time is over. */
#ifdef NO_WAIT
#else
  :: !waits[i] -> break
#endif
  od
}

init {
  atomic {
    draw(FIRST); draw(MALLORYS);
    /* Digits, and names, matter only by being the same as others: one of each stays 0. */
    if :: name[MALLORYS] = 0 :: name[MALLORYS] = 1 fi;
    if :: name[SECOND] = 0 :: name[SECOND] = 1 fi;
    run signers(); run computer(FIRST); run computer(MALLORYS);
  }
  /* Alice's second sign-in begins after her first. */
  !waits[FIRST];
  atomic { draw(SECOND); run computer(SECOND) }
}
