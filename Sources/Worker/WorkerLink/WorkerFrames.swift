import HostSystem

// What the module and its worker say to each other, over one AF_UNIX stream; both sides use this file.
//
//   frame     = length:u32 type:u8 payload        length counts type and payload; numbers are big-endian
//   settings  = 1 origin:text agent:text proxy:text ca:bytes lifetime:u32      empty: none; lifetime in s, 0: none
//   request   = 2 id:u32 deadline:i64 method:u8 url:text headers body:bytes    deadline: CLOCK_MONOTONIC, ns
//   cancel    = 3 id:u32
//   reply     = 4 id:u32 status:u16 streams:u8 headers body:bytes               streams: HTTPReply.streams
//   failure   = 5 id:u32 code:u8 detail:text                                   code: TransportError.Code
//   greeting  = 6 device:u64 inode:u64 network:u64 user:text now:i64           WorkerGreeting, before any other frame
//   headers   = count:u16 (name:text value:text)*
//   text      = bytes (UTF-8);  bytes = length:u32 octets
//
// The deadline is a point in time, not a span. All processes share the clock, and a slow start must not extend it.

/// What a worker must know before its first request.
package struct WorkerOrigin: Sendable, Equatable {
  /// `scheme://host[:port]`. The worker refuses requests to any other origin.
  package var origin: String
  package var userAgent: String
  /// Empty for no proxy.
  package var proxy: String
  /// PEM; empty for the system's authorities.
  package var authorities: [UInt8]
  /// Seconds until the worker leaves by itself; 0: it leaves with its starter.
  package var lifetime: UInt32

  package init(origin: String, userAgent: String, proxy: String, authorities: [UInt8], lifetime: UInt32) {
    self.origin = origin
    self.userAgent = userAgent
    self.proxy = proxy
    self.authorities = authorities
    self.lifetime = lifetime
  }
}

package enum WorkerFrame: Sendable {
  case settings(WorkerOrigin)
  case request(id: UInt32, deadline: MonotonicInstant, HTTPRequest)
  case cancel(id: UInt32)
  case reply(id: UInt32, HTTPReply)
  case failure(id: UInt32, TransportError)
  /// The greeting of a waiting worker, by which a login checks it.
  case greeting(WorkerGreeting)

  package func encoded() -> [UInt8] {
    var writer = FrameWriter()
    switch self {
    case .settings(let origin):
      writer.number(UInt8(1))
      for text in [origin.origin, origin.userAgent, origin.proxy] { writer.text(text) }
      writer.bytes(origin.authorities)
      writer.number(origin.lifetime)
    case .request(let id, let deadline, let request):
      writer.number(UInt8(2))
      writer.number(id)
      writer.number(deadline.nanoseconds)
      writer.number(UInt8(request.method == .get ? 0 : 1))
      writer.text(request.url)
      writer.headers(request.headers)
      writer.bytes(request.body)
    case .cancel(let id):
      writer.number(UInt8(3))
      writer.number(id)
    case .reply(let id, let reply):
      writer.number(UInt8(4))
      writer.number(id)
      writer.number(UInt16(clamping: reply.status))
      writer.number(UInt8(clamping: reply.streams))
      writer.headers(reply.headers)
      writer.bytes(reply.body)
    case .failure(let id, let error):
      writer.number(UInt8(5))
      writer.number(id)
      writer.number(error.code.rawValue)
      writer.text(error.detail)
    case .greeting(let greeting):
      writer.number(UInt8(6))
      writer.number(greeting.place.program.device)
      writer.number(greeting.place.program.inode)
      writer.number(greeting.place.network)
      writer.text(greeting.place.user)
      writer.number(greeting.now.nanoseconds)
    }
    return writer.finished()
  }

  /// `payload` is a frame without its length.
  fileprivate init(payload: ArraySlice<UInt8>) throws(MalformedFrame) {
    var reader = FrameReader(payload)
    switch try reader.number(UInt8.self) {
    case 1:
      self = .settings(
        WorkerOrigin(
          origin: try reader.text(), userAgent: try reader.text(), proxy: try reader.text(),
          authorities: try reader.bytes(), lifetime: try reader.number(UInt32.self)))
    case 2: self = try reader.request()
    case 3: self = .cancel(id: try reader.number(UInt32.self))
    case 4:
      let id = try reader.number(UInt32.self)
      let status = Int(try reader.number(UInt16.self))
      let streams = Int(try reader.number(UInt8.self))
      guard (100...999).contains(status) else { throw MalformedFrame() }
      self = .reply(
        id: id,
        HTTPReply(status: status, headers: try reader.headers(), body: try reader.bytes(), streams: streams))
    case 5:
      let id = try reader.number(UInt32.self)
      guard let code = TransportError.Code(rawValue: try reader.number(UInt8.self)) else { throw MalformedFrame() }
      self = .failure(id: id, TransportError(code, detail: try reader.text()))
    case 6:
      let program = FileIdentity(device: try reader.number(UInt64.self), inode: try reader.number(UInt64.self))
      let place = WorkerPlace(program: program, network: try reader.number(UInt64.self), user: try reader.text())
      self = .greeting(
        WorkerGreeting(place: place, now: MonotonicInstant(nanoseconds: try reader.number(Int64.self))))
    default: throw MalformedFrame()
    }
    guard reader.isAtEnd else { throw MalformedFrame() }
  }
}

/// The other side sent an invalid frame.
package struct MalformedFrame: Error {}

/// Bytes from the socket, returned as whole frames.
package struct FrameBuffer: Sendable {
  /// The size of a body of 64 KiB with 16 KiB of headers, and room for lengths.
  package static let greatestReply = 128 * 1024
  /// The longest frame to a worker carries a bundle of certificates.
  package static let greatestRequest = 1024 * 1024

  private var bytes: [UInt8] = []
  private let greatest: Int

  package init(greatest: Int) { self.greatest = greatest }

  package mutating func append(_ more: [UInt8]) { bytes.append(contentsOf: more) }

  /// Without a call for each byte, as the same for any sequence has it from another module.
  package mutating func append(_ more: UnsafeRawBufferPointer) { bytes.append(contentsOf: more) }

  /// The next complete frame; nil if none is complete.
  package mutating func next() throws(MalformedFrame) -> WorkerFrame? {
    guard bytes.count >= 4 else { return nil }
    let length = bytes[..<4].reduce(0) { $0 << 8 | Int($1) }
    guard (1...greatest).contains(length) else { throw MalformedFrame() }
    guard bytes.count >= 4 + length else { return nil }
    let frame = try WorkerFrame(payload: bytes[4..<4 + length])
    // A new array: the old one would keep the removed bytes behind its end, with a session's secret in them.
    bytes = Array(bytes[(4 + length)...])
    return frame
  }
}

private struct FrameWriter {
  private var buffer: [UInt8] = [0, 0, 0, 0]

  mutating func number(_ value: some FixedWidthInteger) {
    for shift in stride(from: value.bitWidth - 8, through: 0, by: -8) {
      buffer.append(UInt8(truncatingIfNeeded: value >> shift))
    }
  }

  mutating func bytes(_ value: some Collection<UInt8>) {
    number(UInt32(clamping: value.count))
    buffer.append(contentsOf: value)
  }

  mutating func text(_ value: String) { bytes(value.utf8) }

  mutating func headers(_ headers: [(name: String, value: String)]) {
    number(UInt16(clamping: headers.count))
    for header in headers.prefix(Int(UInt16.max)) {
      text(header.name)
      text(header.value)
    }
  }

  mutating func finished() -> [UInt8] {
    let length = UInt32(clamping: buffer.count - 4)
    for index in 0..<4 { buffer[index] = UInt8(truncatingIfNeeded: length >> (24 - 8 * index)) }
    return buffer
  }
}

private struct FrameReader {
  private var rest: ArraySlice<UInt8>

  init(_ payload: ArraySlice<UInt8>) { rest = payload }

  var isAtEnd: Bool { rest.isEmpty }

  mutating func number<Number: FixedWidthInteger>(_: Number.Type) throws(MalformedFrame) -> Number {
    try take(Number.bitWidth / 8).reduce(0) { $0 << 8 | Number(truncatingIfNeeded: $1) }
  }

  mutating func bytes() throws(MalformedFrame) -> [UInt8] {
    Array(try take(Int(try number(UInt32.self))))
  }

  mutating func text() throws(MalformedFrame) -> String {
    String(decoding: try take(Int(try number(UInt32.self))), as: UTF8.self)
  }

  mutating func headers() throws(MalformedFrame) -> [(name: String, value: String)] {
    var headers: [(name: String, value: String)] = []
    for _ in 0..<(try number(UInt16.self)) { headers.append((name: try text(), value: try text())) }
    return headers
  }

  mutating func request() throws(MalformedFrame) -> WorkerFrame {
    let id = try number(UInt32.self)
    let deadline = MonotonicInstant(nanoseconds: try number(Int64.self))
    let method: HTTPRequest.Method
    switch try number(UInt8.self) {
    case 0: method = .get
    case 1: method = .post
    default: throw MalformedFrame()
    }
    let request = HTTPRequest(method: method, url: try text(), headers: try headers(), body: try bytes())
    return .request(id: id, deadline: deadline, request)
  }

  private mutating func take(_ count: Int) throws(MalformedFrame) -> ArraySlice<UInt8> {
    guard count <= rest.count else { throw MalformedFrame() }
    defer { rest = rest.dropFirst(count) }
    return rest.prefix(count)
  }
}
