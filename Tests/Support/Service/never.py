"""What no test may see, not even once. Such a failure has no second try: a promise that holds four times of five does not
hold."""


class MustNeverHappen(AssertionError):
    """A sign-in that had to be refused, a secret that was found, or a session that was ended without a cause."""


class SignedIn(int):
    """PAM_SUCCESS of an authentication. Whoever compares it with a refusal expected one."""

    def __new__(cls):
        return super().__new__(cls, 0)

    def __eq__(self, other):
        if isinstance(other, int) and other != int(self):
            raise MustNeverHappen(f"signed in, where {other} was expected")
        return int.__eq__(self, other)

    __hash__ = int.__hash__


def code_of_login(code):
    """The PAM code of an authentication, which knows that it is one."""
    return SignedIn() if code == 0 else code


def assert_refused(status, about=""):
    """`status`: the exit status of a command that had to be refused."""
    if status == 0:
        raise MustNeverHappen(f"not refused: {about}")


def assert_nobody_signed_in(codes):
    """`codes`: those of PAM's authentications that had to be refused, all of them."""
    if 0 in codes:
        raise MustNeverHappen(f"signed in: {codes}")


def assert_hidden(secret, text, where=""):
    """Neither secret nor text is printed."""
    if secret in text:
        raise MustNeverHappen(f"a secret was found {where}".rstrip())


def assert_none_found(secrets):
    """`secrets`: what was found where none may be, by name."""
    if secrets:
        raise MustNeverHappen(f"found: {secrets}")


def assert_nobody_ended(orders):
    """`orders`: what logind was told, while no session had a cause to end."""
    if orders:
        raise MustNeverHappen(f"ended without a cause: {orders}")
