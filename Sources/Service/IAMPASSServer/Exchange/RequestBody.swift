import Hummingbird
import HummingbirdCore
import NIOCore

/// Reads the whole body of a request, within bounds of size and time.
enum RequestBody {
  /// The greatest size in bytes. Requests to the service are far smaller.
  static let greatestLength = 65_536
  /// The longest time for a whole body, in seconds.
  static let time: Int64 = 10

  /// The body of an HTTP/1.1 request, or why it is not read.
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
