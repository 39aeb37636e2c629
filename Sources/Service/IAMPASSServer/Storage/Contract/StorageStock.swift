/// The amount of data in the storage.
struct StorageStock: Sendable {
  var applications: Int64 = 0
  var users: Int64 = 0
  var phones: Int64 = 0
  var hostCredentials: Int64 = 0
  var unanswered: Int64 = 0
  var live: Int64 = 0
  var bytes: Int64 = 0
}
