/// Whether what is done now is done by the server that keeps house for all on its database. While it is set, each change
/// that the storage makes is refused if another server has taken over: a process may have been stopped in between.
enum HouseDuty {
  @TaskLocal static var isOn = false
}

/// Another server keeps house now. Nothing was changed.
struct HouseTaken: Error {}
