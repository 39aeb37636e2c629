import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

/// A browser at the console, from the service's side.
struct ConsoleVisitor {
  let fixture: Fixture
  var cookie: String?
  var token: String?
  /// The listener that its requests come by.
  var listener = Listener.everything

  static func admitted(to fixture: Fixture, by listener: Listener = .everything) async throws -> ConsoleVisitor {
    let code = try await fixture.service.storage.createConsoleLink(at: fixture.clock.now)
    var visitor = ConsoleVisitor(fixture: fixture, listener: listener)
    let reply = await visitor.post("/enter", ["code": code.exposedValue])
    #expect(reply.status == 303)
    visitor.cookie = try #require(reply.header("Set-Cookie")?.split(separator: ";").first.map(String.init))
    let page = await visitor.get("").text
    visitor.token = page.firstMatch(of: /name="token" value="([0-9a-f]+)"/).map { String($0.1) }
    return visitor
  }

  func get(_ path: String, accept: String? = "text/html") async -> ServiceReply {
    await send("GET", path, [], origin: nil, accept: accept)
  }

  /// - Parameter origin: the origin of the page with the form; nil: the browser does not send it.
  func post(
    _ path: String, _ fields: [String: String], origin: String? = Fixture.origin, accept: String? = nil
  ) async -> ServiceReply {
    var all = fields
    if let token { all["token"] = all["token"] ?? token }
    let body = all.map { "\($0.key)=\(PercentEncoding.encode($0.value))" }.joined(separator: "&")
    return await send("POST", path, Array(body.utf8), origin: origin, accept: accept)
  }

  private func send(
    _ method: String, _ path: String, _ body: [UInt8], origin: String?, accept: String?
  ) async -> ServiceReply {
    let headers = [("Cookie", cookie), ("Origin", origin), ("Accept", accept)].compactMap { name, value in
      value.map { (name: name, value: $0) }
    }
    var request = ServiceRequest(
      method: method, target: "/console" + path, authority: Fixture.authority, headers: headers, body: body)
    request.listener = listener
    return await fixture.respond(request)
  }
}

extension ServiceReply {
  var text: String { String(decoding: body, as: UTF8.self) }
}
