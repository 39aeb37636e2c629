import Foundation
import IAMPASSProtocol
import Testing

@testable import HostSystem
@testable import WorkerLink

/// Serialized, since some of them count the process's children and descriptors.
@Suite(.serialized)
struct WorkerTests {
  @Suite struct Exchanges {
    @Test func carryTheRequestAndItsReply() throws {
      let transport = services.transport()
      let request = HTTPRequest(
        method: .post, url: services.url("good") + "/fault/echo?a=1",
        headers: [(name: "X-One", value: "1"), (name: "X-Empty", value: "")], body: Array("{\"a\":1}".utf8))
      let reply = try transport.exchange(request, deadline: .now().advanced(milliseconds: 20_000))

      let seen = try JSONDecoder().decode(Recorded.self, from: Data(reply.body))
      #expect(reply.status == 200)
      #expect(seen.method == "POST" && seen.path == "/fault/echo?a=1" && seen.body == "{\"a\":1}")
      let names = seen.headers.map { $0[0].lowercased() }
      #expect(names.sorted() == ["content-length", "host", "user-agent", "x-empty", "x-one"])
    }

    @Test func useOneConnection() throws {
      let transport = services.transport()
      for round in 1...4 {
        let reply = try get(transport, services.url("good") + "/fault/echo")
        #expect(try JSONDecoder().decode(Recorded.self, from: Data(reply.body)).numberOnConnection == round)
      }
    }

    @Test func useNoEncryptionOnlyForLoopback() throws {
      #expect(try get(services.transport("plain"), services.url("plain") + "/fault/ok").status == 200)
      #expect(
        failure { () throws(TransportError) in
          try get(services.transport("plain"), services.url("plain").replacing("http:", with: "https:") + "/fault/ok")
        } == .workerFailed)
    }

    @Test func stayWithTheirOrigin() throws {
      let transport = services.transport()
      for url in ["https://elsewhere.example/", services.url("plain") + "/", "file:///etc/passwd"] {
        #expect(failure { () throws(TransportError) in try get(transport, url) } == .workerFailed)
      }
      #expect(try get(transport, services.url("good") + "/fault/ok").status == 200)
    }

    @Test(arguments: [
      ("redirect_other", 302), ("redirect_http", 301), ("redirect_file", 307), ("redirect_loop", 308),
      ("server_error", 503), ("greatest_body", 200), ("interim", 200), ("trailers", 200),
    ])
    func replyAsTheServiceDid(fault: String, status: Int) throws {
      let reply = try get(services.transport(), services.url("good") + "/fault/" + fault)
      #expect(reply.status == status)
      #expect(reply.header("X-Early") == nil && reply.header("X-Late") == nil)
    }

    @Test func leaveCompressedBodiesAsTheyAre() throws {
      let reply = try get(services.transport(), services.url("good") + "/fault/gzip_bomb")
      #expect(reply.body.prefix(2) == [0x1F, 0x8B] && reply.header("content-encoding") == "gzip")
    }

    @Test func repeatOnlyWhatMayBeRepeated() throws {
      let transport = services.transport()
      let url = services.url("good") + "/fault/drop_if_reused?\(UInt64.random(in: 0...UInt64.max))"
      let post = HTTPRequest(method: .post, url: url, headers: [])
      _ = try get(transport, url)
      #expect(
        failure { () throws(TransportError) in
          try transport.exchange(post, deadline: .now().advanced(milliseconds: 20_000))
        } == .connectionLost)
      #expect(try get(transport, url).status == 200)
      #expect(try get(transport, url).status == 200)

      let asked = try Recorded.requests(of: "good", path: String(url.dropFirst(services.url("good").count)))
      #expect(asked.count { $0.method == "POST" } == 1)
    }
  }

  @Suite struct Faults {
    @Test(
      arguments: [
        ("close", .connectionLost), ("reset", .connectionLost), ("cut", .connectionLost),
        ("no_length", .connectionLost),
        ("truncated", .connectionLost), ("huge_body", .replyTooLarge), ("huge_unannounced", .replyTooLarge),
        ("endless_chunked", .replyTooLarge), ("too_great_body", .replyTooLarge), ("huge_header", .replyTooLarge),
        ("many_headers", .replyTooLarge), ("endless_interim", .replyTooLarge), ("not_http", .notHTTP),
        ("http_0_9", .notHTTP),
      ] as [(String, TransportError.Code)])
    func errorsOfRepliesAreNamed(fault: String, code: TransportError.Code) {
      let url = services.url("good") + "/fault/" + fault
      #expect(failure { () throws(TransportError) in try get(services.transport(), url) } == code)
    }

    @Test(arguments: ["silent", "slow_header", "slow_body"]) func aReplyThatDoesNotEndIsSilence(fault: String) {
      let began = MonotonicInstant.now()
      let url = services.url("good") + "/fault/" + fault
      #expect(
        failure { () throws(TransportError) in try get(services.transport(), url, milliseconds: 4_000) } == .silent)
      // The service goes on for a minute.
      #expect(MonotonicInstant.now().milliseconds(since: began) < 30_000)
    }

    @Test(
      arguments: [
        ("two_lengths", .notHTTP), ("same_length_twice", .notHTTP), ("lengths_in_one_line", .notHTTP),
        ("length_with_a_sign", .notHTTP), ("length_and_chunks", .notHTTP), ("chunked_twice", .notHTTP),
        ("identity", .notHTTP), ("empty_without_length", .connectionLost), ("chunks_without_end", .connectionLost),
      ] as [(String, TransportError.Code)])
    func aReplyWithAFramingErrorIsNotTaken(fault: String, code: TransportError.Code) {
      let url = services.url("good") + "/fault/" + fault
      let found = failure { () throws(TransportError) in try get(services.transport(), url) }
      // libcurl may refuse it before our own check.
      #expect(found == code || found == .notHTTP || found == .connectionLost)
    }

    @Test func aFramingFaultLeavesARefusalItsStatusAndNoWords() throws {
      let reply = try get(services.transport(), services.url("good") + "/fault/refusal_without_length")
      #expect(reply.status == 502 && reply.body.isEmpty)
    }

    @Test func streamsThatAreCutShortAreNotReplies() {
      let url = services.url("cut_stream") + "/"
      let found = failure { () throws(TransportError) in try get(services.transport("cut_stream"), url) }
      #expect(found == .connectionLost)
    }

    @Test(
      arguments: [
        ("expired", .certificateExpired), ("not_yet_valid", .certificateNotYetValid),
        ("wrong_host", .certificateForAnotherHost), ("cn_only", .certificateForAnotherHost),
        ("self_signed", .certificateUntrusted), ("tls1_0", .tlsTooOld), ("tls1_1", .tlsTooOld),
        ("weak_ciphers", .tlsTooOld), ("close_at_accept", .tlsRefused),
        ("reset_after_hello", .tlsRefused), ("http_on_tls_port", .tlsRefused), ("garbage_hello", .tlsRefused),
      ] as [(String, TransportError.Code)])
    func errorsOfConnectionsAreNamed(service: String, code: TransportError.Code) {
      let url = services.url(service) + "/fault/ok"
      #expect(failure { () throws(TransportError) in try get(services.transport(service), url) } == code)
    }

    /// The reset may arrive before the connection counts as made.
    @Test func aResetBeforeTheConnectionStandsIsARefusal() {
      let url = services.url("reset_at_accept") + "/fault/ok"
      let code = failure { () throws(TransportError) in try get(services.transport("reset_at_accept"), url) }
      #expect(code == .tlsRefused || code == .connectionRefused)
    }

    @Test func handshakesHaveATimeLimitOfTheirOwn() {
      let began = MonotonicInstant.now()
      let url = services.url("silent_at_accept") + "/"
      #expect(
        failure { () throws(TransportError) in
          try get(services.transport("silent_at_accept"), url, milliseconds: 60_000)
        } == .tlsTimedOut)
      #expect(MonotonicInstant.now().milliseconds(since: began) < 30_000)
    }

    @Test func errorsOfAddressesAreNamed() throws {
      let address = services.url("no_address").replacing("localhost", with: "127.0.0.1")
      let transport = services.transport("no_address", host: "127.0.0.1")
      #expect(failure { () throws(TransportError) in try get(transport, address) } == .certificateForAnotherHost)
      let good = services.url("good").replacing("localhost", with: "127.0.0.1")
      #expect(try get(services.transport(host: "127.0.0.1"), good + "/fault/ok").status == 200)
    }

    @Test(
      arguments: [
        ("https://localhost:1", .connectionRefused), ("https://no-such-host.invalid", .nameNotFound),
      ] as [(String, TransportError.Code)])
    func errorsOfTheNetworkAreNamed(address: String, code: TransportError.Code) throws {
      let settings = WorkerSettings(
        server: try ServerURL(address), worker: workerPath, workerUser: geteuid() == 0 ? "nobody" : nil)
      let transport = WorkerTransport(settings: settings)
      #expect(failure { () throws(TransportError) in try get(transport, address + "/") } == code)
    }

    @Test func faultsOfTrustAreNotForgivenWithoutOwnCertificates() throws {
      let own = services.settings()
      let transport = WorkerTransport(
        settings: WorkerSettings(server: own.server, worker: own.worker, workerUser: own.workerUser))
      let url = services.url("good") + "/fault/ok"
      #expect(failure { () throws(TransportError) in try get(transport, url) } == .certificateUntrusted)
    }
  }
}

private let services = HostileServices.shared
