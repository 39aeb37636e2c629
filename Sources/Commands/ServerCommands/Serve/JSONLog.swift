import Glibc
import IAMPASSProtocol
import IAMPASSServer
import Logging

/// A log with one JSON object on each line, on standard error: `time`, `level`, `message`, and the metadata's names.
struct JSONLog: LogHandler {
  var metadata: Logger.Metadata = [:]
  var logLevel: Logger.Level = .info

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {
    let own = metadata.merging(event.metadata ?? [:]) { _, newer in newer }
    let all = own.merging(RequestID.metadata.mapValues { Logger.MetadataValue.string($0) }) { _, request in request }
    let fixed = ["time", "level", "message"]
    let members: [JSON.Member] =
      [
        JSON.Member("time", .string(UnixTime.now().text)), JSON.Member("level", .string(event.level.rawValue)),
        JSON.Member("message", .string("\(event.message)")),
      ]
      + all.sorted { $0.key < $1.key }.map { key, value in
        JSON.Member(fixed.contains(key) ? "metadata_" + key : key, .string("\(value)"))
      }
    // There is one write for each line, so that lines of several threads do not mix.
    let line = JSON.object(members).encoded() + [UInt8(ascii: "\n")]
    _ = write(STDERR_FILENO, line, line.count)
  }
}
