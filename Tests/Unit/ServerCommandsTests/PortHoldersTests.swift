import CommandSupport
import Glibc
import Testing

@testable import ServerCommands

struct PortHoldersTests {
  private static let service: uid_t = 998
  private static let other: uid_t = 0
  private static let port: UInt16 = 443

  private static let loopback = ListenPlace(isIPv6: false, host: "0100007F", port: port)
  private static let lan = ListenPlace(isIPv6: false, host: "634D0A0A", port: port)
  private static let everyIPv4 = ListenPlace(isIPv6: false, host: "00000000", port: port)
  private static let loopback6 = ListenPlace(isIPv6: true, host: "00000000000000000000000001000000", port: port)
  private static let everywhere = ListenPlace(isIPv6: true, host: String(repeating: "0", count: 32), port: port)

  /// As proc_net_tcp in the kernel's documentation has it.
  private static func line(_ place: ListenPlace, _ user: uid_t, state: String = "0A") -> String {
    let port = String(place.port, radix: 16, uppercase: true)
    return "   0: \(place.host):\(String(repeating: "0", count: 4 - port.count) + port) 00000000:0000 \(state)"
      + " 00000000:00000000 00:00000000 00000000 \(user)        0 2813 1 0000000000000000 100 0 0 10 0\n"
  }

  private func holders(_ places: [(ListenPlace, uid_t)]) -> PortHolders {
    let head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
    let texts = [false, true].map { isIPv6 in
      head + places.filter { $0.0.isIPv6 == isIPv6 }.map { Self.line($0.0, $0.1) }.joined()
    }
    return PortHolders(tcp: texts[0], tcp6: texts[1])
  }

  @Test(arguments: [loopback, everyIPv4, everywhere, loopback6])
  func theServiceMayTakeItsOwnPortAtAnotherAddress(wanted: ListenPlace) {
    #expect(holders([(Self.loopback, Self.service)]).areOnly(Self.service, at: wanted))
  }

  @Test(arguments: [lan, everyIPv4, everywhere])
  func itMayNotTakeWhatAnotherProgramHolds(wanted: ListenPlace) {
    let both = holders([(Self.loopback, Self.service), (Self.lan, Self.other)])
    #expect(!both.areOnly(Self.service, at: wanted))
  }

  @Test func anotherProgramAtAnotherAddressIsNotInTheWay() {
    let both = holders([(Self.loopback, Self.service), (Self.lan, Self.other)])
    #expect(both.areOnly(Self.service, at: Self.loopback))
    #expect(both.areOnly(Self.service, at: Self.loopback6))
  }

  @Test func withoutASocketOfTheServiceAnybodyIsInTheWay() {
    #expect(!holders([]).areOnly(Self.service, at: Self.loopback))
    #expect(!holders([(Self.loopback, Self.other)]).areOnly(Self.service, at: Self.lan))
    let elsewhere = ListenPlace(isIPv6: false, host: "0100007F", port: 8443)
    #expect(!holders([(elsewhere, Self.service)]).areOnly(Self.service, at: Self.loopback))
  }

  @Test func aConnectionIsNotAListener() {
    let text = Self.line(Self.loopback, Self.service, state: "01")
    #expect(!PortHolders(tcp: text, tcp6: "").areOnly(Self.service, at: Self.loopback))
  }

  @Test(arguments: [
    ("127.0.0.1:443", loopback), ("[::1]:443", loopback6), ("[::]:443", everywhere), ("0.0.0.0:443", everyIPv4),
  ])
  func anAddressIsSpelledAsTheKernelDoes(text: String, expected: ListenPlace) throws {
    let address = try ListenAddress(text)
    var wanted = addrinfo()
    wanted.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV
    var found: UnsafeMutablePointer<addrinfo>?
    #expect(getaddrinfo(address.host, "\(address.port)", &wanted, &found) == 0)
    defer { freeaddrinfo(found) }
    #expect(ListenPlace(try #require(found?.pointee)) == expected)
  }
}
