import Hummingbird
import HummingbirdCore
import NIOCore

/// The body of a request, read whole within bounds of size and time.
enum RequestBody {
  /// Bytes; requests to the service are far smaller.
  static let greatestLength = 65_536
  /// Seconds that a whole body may take.
  static let time: Int64 = 10

  /// The bytes of a request of HTTP/1.1, or why they are not read.
  static func read(from request: Request) async -> Result<[UInt8], Refusal> {
    // A request says in its headers whether it has a body (RFC 9112 §6.3).
    if request.headers[.contentLength] == nil, request.headers[.transferEncoding] == nil {
      return .success([])
    }
    if let length = request.headers[.contentLength].flatMap({ Int($0) }), length > greatestLength {
      return .failure(tooLarge)
    }
    return await withTaskGroup(of: Result<[UInt8], Refusal>.self) { group in
      group.addTask { await collect(request) }
      group.addTask {
        try? await Task.sleep(for: .seconds(time))
        return .failure(tooSlow)
      }
      defer { group.cancelAll() }
      return await group.next() ?? .failure(broken)
    }
  }

  private static func collect(_ request: Request) async -> Result<[UInt8], Refusal> {
    do {
      let buffer = try await request.body.collect(upTo: greatestLength)
      return .success(Array(buffer.readableBytesView))
    } catch is NIOTooManyBytesError {
      return .failure(tooLarge)
    } catch let error as HTTPError where error.status == .contentTooLarge {
      return .failure(tooLarge)
    } catch {
      return .failure(broken)
    }
  }

  static let tooLarge = Refusal(.bodyTooLarge)
  static let tooSlow = Refusal(.requestTooSlow)
  private static let broken = Refusal(.badRequest)
}
