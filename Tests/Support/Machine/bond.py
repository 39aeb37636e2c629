"""Pairs the adapter hci0 with hci1, which plays the phone: somebody compares digits on both and agrees."""

import sys

import dbus
import dbus.mainloop.glib
import dbus.service
from gi.repository import GLib

#: The longest time to pair, in seconds.
PATIENCE = 60
BLUEZ, ADAPTER, DEVICE = "org.bluez", "org.bluez.Adapter1", "org.bluez.Device1"


class Agent(dbus.service.Object):
    """Whoever sits in front of both. Without an answer here the pairing fails."""

    @dbus.service.method("org.bluez.Agent1", in_signature="ou", out_signature="")
    def RequestConfirmation(self, device, digits):
        print(f"{device} shows {digits:06}")

    @dbus.service.method("org.bluez.Agent1", in_signature="o", out_signature="")
    def RequestAuthorization(self, device):
        print(f"{device} is let in")

    @dbus.service.method("org.bluez.Agent1", in_signature="", out_signature="")
    def Cancel(self):
        print("cancelled")


def interface(bus, path, name):
    return dbus.Interface(bus.get_object(BLUEZ, path), name)


def main():
    dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
    bus, loop = dbus.SystemBus(), GLib.MainLoop()
    Agent(bus, "/tests/agent")
    agents = interface(bus, "/org/bluez", "org.bluez.AgentManager1")
    agents.RegisterAgent("/tests/agent", "DisplayYesNo")
    agents.RequestDefaultAgent("/tests/agent")
    for name in ("hci0", "hci1"):
        settings = interface(bus, f"/org/bluez/{name}", "org.freedesktop.DBus.Properties")
        settings.Set(ADAPTER, "Pairable", True)
        settings.Set(ADAPTER, "Discoverable", name == "hci1")
    address = interface(bus, "/org/bluez/hci1", "org.freedesktop.DBus.Properties").Get(ADAPTER, "Address")
    phone = "/org/bluez/hci0/dev_" + str(address).replace(":", "_")
    adapter = interface(bus, "/org/bluez/hci0", ADAPTER)
    adapter.SetDiscoveryFilter({"Transport": "bredr"})
    adapter.StartDiscovery()
    outcome = []

    def end(word):
        outcome.append(word)
        # BlueZ then writes the bond.
        GLib.timeout_add(1500, loop.quit)

    def pair_once_found():
        known = interface(bus, "/", "org.freedesktop.DBus.ObjectManager").GetManagedObjects()
        if DEVICE not in known.get(phone, {}):
            return True
        adapter.StopDiscovery()
        interface(bus, phone, DEVICE).Pair(
            reply_handler=lambda: end("paired"), error_handler=lambda error: end(str(error)), timeout=PATIENCE)
        return False

    GLib.timeout_add(300, pair_once_found)
    GLib.timeout_add_seconds(PATIENCE, loop.quit)
    loop.run()
    print(*outcome)
    return 0 if outcome == ["paired"] else 1


if __name__ == "__main__":
    sys.exit(main())
