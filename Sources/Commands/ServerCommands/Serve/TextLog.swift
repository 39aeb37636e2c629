import IAMPASSServer
import Logging

/// A log for people on standard error, like Swift's own. But a value cannot add fields.
struct TextLog: LogHandler {
  var metadata: Logger.Metadata = [:]
  var logLevel: Logger.Level = .info
  private let lines: StreamLogHandler

  init(label: String) { lines = .standardError(label: label) }

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {
    var all = metadata.merging(event.metadata ?? [:]) { _, newer in newer }
    for (name, value) in RequestID.metadata { all[name] = .string(value) }
    if let error = event.error { all["error"] = "\(error)" }
    var quoted = event
    quoted.error = nil
    // The value is not cut, because a hint may be long.
    quoted.metadata = all.mapValues { Logger.MetadataValue.string(FieldText.quoted("\($0)", limit: .max)) }
    lines.log(event: quoted)
  }
}
