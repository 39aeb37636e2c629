/// Marks changes of housekeeping, which one server does for all servers on its database. While it is set, the storage
/// refuses each change if another server has taken over: this process may have been stopped meanwhile.
enum HousekeeperDuty {
  @TaskLocal static var isOn = false
}

/// Another server does the housekeeping now. Nothing was changed.
struct HousekeeperLeaseLost: Error {}
