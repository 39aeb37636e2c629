"""Ends of sessions and of requests, of which the module tells the service.

It does so within small bounds of its own, so that no logout is slow, and gives up if they are over: a busy machine may need
longer to load a new worker. So a test asks for one of two things: the service was told, or the module gave up.
"""

import time

#: In the module's log, if the service has not taken the end of a session (HandleData.swift).
NOT_ENDED = "session not ended at the service: "
#: Seconds that a session's end, and a cancellation, take at least if they are given up: a worker that hears nothing says
#: so a tenth before their bounds of two seconds and one. A cancellation that is given up is not logged.
END, CANCELLATION = 1.9, 0.9
#: Seconds within which what was sent has arrived.
ARRIVAL = 10

#: (How many were asked for, how many were given up), for each look.
_looks = []


def misses():
    """(Ends that the module gave up, ends that tests asked for), in this process."""
    return sum(missed for _, missed in _looks), sum(asked for asked, _ in _looks)


def note(missed):
    """One end of which a test knows by another sign whether it was told."""
    _looks.append((1, int(missed)))


def assert_ended(told, given_up=0, asked=1):
    """The service was told of this many ends, of each once, or of fewer by `given_up`.

    `told()`: how often it has been told by now."""
    end = time.monotonic() + ARRIVAL
    while (count := told()) < asked and time.monotonic() < end:
        time.sleep(0.05)
    if not asked - given_up <= count <= asked:
        raise AssertionError(f"the service was told of {count} ends and not of {asked}; {given_up} of them were given up")
    _looks.append((asked, asked - count))


def given_up(result, waited=0):
    """How many ends the module gave up in a scene, by its log, and by the time of the calls that it refused.

    `waited`: seconds of such a call that have another reason."""
    refused = [call for call in result["calls"] if call["call"].startswith("authenticate") and call["code"] != 0]
    return len(result["not_ended"]) + sum(call["seconds"] >= waited + CANCELLATION for call in refused)
