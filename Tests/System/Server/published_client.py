"""Steps of a published Python client, one a line of standard input, for test_published_client.py.

usage: published_client.py PACKAGE APPLICATION SECRET

PACKAGE is IAMPASS or Activeconnect, whose modules have the same names. A step is JSON: {"call": name, "arguments": [...]}; its result is a line of JSON.
"""

import importlib
import json
import sys

package, application_id, application_secret = sys.argv[1:]
AuthenticationAPI = importlib.import_module(f"{package}.authentication_api").AuthenticationAPI
AuthenticationMethod = importlib.import_module(f"{package}.authentication_method").AuthenticationMethod
ManagementAPI = importlib.import_module(f"{package}.management_api").ManagementAPI


def told(value):
    """What JSON can say of a result: an enumeration's name, a session's members."""
    return getattr(value, "name", value)


class Steps:
    def __init__(self, application, secret):
        self.management = ManagementAPI(application, secret)
        self.authentication = AuthenticationAPI(application, secret)
        self.session = None

    def authenticate(self, user, methods=None, *duration):
        """Activeconnect's client takes no duration."""
        methods = methods and [AuthenticationMethod[name] for name in methods]
        self.session = self.authentication.authenticate_user(user, methods, *duration)
        return {"in_progress": self.session.in_progress, "reason": self.session.failure_reason}

    def status(self):
        return self.session.get_status()

    def destroy(self):
        return self.session.destroy()


steps = Steps(application_id, application_secret)
for line in sys.stdin:
    step = json.loads(line)
    call = getattr(steps, step["call"], None) or getattr(steps.management, step["call"])
    result = call(*step["arguments"])
    result = [told(part) for part in result] if isinstance(result, tuple) else told(result)
    print(json.dumps(result), flush=True)
